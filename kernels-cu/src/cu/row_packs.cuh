// The rows of a dense matrix, by words of 16 bytes. Needs pack.cuh and warp_scalar.cuh before.

// The address of global memory.
static __device__ unsigned long long address_of(const T *memory)
{
    return __cvta_generic_to_global(memory);
}

// Words of a row at `first` + row * `row_bytes`.
struct RowPacks
{
    unsigned long long first;
    unsigned int row_bytes;

    // One instruction, where the compiler would make five of it.
    __device__ const Pack *of(unsigned int row) const
    {
        unsigned long long address;
        asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(address) : "r"(row), "r"(row_bytes), "l"(first));
        return (const Pack *)__cvta_global_to_generic(address);
    }

    __device__ const Pack *of(long long row) const
    {
        return (const Pack *)__cvta_global_to_generic(first + (unsigned long long)row * row_bytes);
    }
};

static __device__ ACC add_products(ACC sum, Pack a, Pack b)
{
#pragma unroll
    for (int m = 0; m < VECTOR; m++)
        sum += mul(to_acc(a.part[m]), to_acc(b.part[m]));
    return sum;
}

// The value of lane `from` of the team.
template <int TEAM_LANES, typename V> static __device__ V shuffle_team(V value, int from)
{
    return __shfl_sync(ALL_LANES, value, from, TEAM_LANES);
}
