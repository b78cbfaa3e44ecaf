// The products of neighbouring entries of a row of A with the rows of B that they name, numbered in the order of these
// entries: the lanes of a team share them evenly, whatever the lengths of the rows. Needs team.cuh and search.cuh before.
struct Products {
    long long count;
    const long long *ends;   // one past the last product of the entry of each lane
    const long long *origins; // where B would have product 0 if all were of this entry
};

// The products of the entries of all lanes: each brings `length` elements of B from `begin` on. They last until the team
// calls this again.
static __device__ Products products_of(int lanes, long long begin, long long length)
{
    __shared__ long long ends[BLOCK];
    __shared__ long long origins[BLOCK];
    int first = threadIdx.x / lanes * lanes;
    Products products = {0, ends + first, origins + first};
    sync_team(lanes);
    long long before = scan_team(lanes, length, &products.count);
    ends[threadIdx.x] = before + length;
    origins[threadIdx.x] = begin - before;
    sync_team(lanes);
    return products;
}

// The lane whose entry has product p.
static __device__ int owner_of(const Products &products, int lanes, long long p)
{
    return count_below(products.ends, lanes, p + 1);
}

// A row of A that a team has: its number and its entries.
struct TeamRow
{
    bool is_there;
    long long number;
    long long begin;
    long long end;
};

// The row at place i of `order`, or row i without an order, before place `end`; behind it one without entries.
static __device__ TeamRow row_at(long long i, long long end, const long long *__restrict__ order,
                                 const Off *__restrict__ offsets)
{
    if (i >= end)
        return {false, 0, 0, 0};
    long long row = order ? order[i] : i;
    return {true, row, offsets[row], offsets[row + 1]};
}
