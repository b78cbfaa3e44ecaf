// Merges of the rows of B that the entries of a row of A name, by one thread: the least of the first columns that are
// left is the next column of C. Takes WAYS, the most entries of such a row of A. Rows of B are in order and have no
// column twice. Needs grid.cuh and index.cuh before.
#ifndef WAYS
#error "WAYS is missing: 8, 16 or 32"
#endif
#ifndef STAGED
#define STAGED 16384
#endif

// After the last column of a row of B: no column, since columns are below the largest number of their type.
#define NO_COLUMN ((Idx)((1ull << (8 * sizeof(Idx) - 1)) - 1))

// What is left of the rows of B: their first columns, and where these and the ends of the rows are.
struct Heads
{
    Idx columns[WAYS];
    UnsignedOff at[WAYS];
    UnsignedOff ends[WAYS];

    // The rows that the n entries of A from `begin` on name.
    __device__ Heads(UnsignedOff begin, int n, const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                     const Idx *__restrict__ b_indices)
    {
        Idx rows[WAYS];
#pragma unroll
        for (int way = 0; way < WAYS; way++)
            rows[way] = way < n ? a_indices[begin + way] : 0;
#pragma unroll
        for (int way = 0; way < WAYS; way++) {
            at[way] = way < n ? (UnsignedOff)b_offsets[rows[way]] : 0;
            ends[way] = way < n ? (UnsignedOff)b_offsets[rows[way] + 1] : 0;
        }
#pragma unroll
        for (int way = 0; way < WAYS; way++)
            columns[way] = first_of(way, b_indices);
    }

    // The first column that is left of a row of B.
    __device__ Idx first_of(int way, const Idx *__restrict__ b_indices) const
    {
        return at[way] < ends[way] ? b_indices[at[way]] : NO_COLUMN;
    }

    // The next column of C, or NO_COLUMN.
    __device__ Idx least() const
    {
        Idx least = columns[0];
#pragma unroll
        for (int way = 1; way < WAYS; way++)
            least = min(least, columns[way]);
        return least;
    }

    // Leaves the first column of a row of B behind.
    __device__ void step(int way, const Idx *__restrict__ b_indices)
    {
        at[way]++;
        columns[way] = first_of(way, b_indices);
    }

    // Leaves a column of C behind.
    __device__ void step_past(Idx column, const Idx *__restrict__ b_indices)
    {
#pragma unroll
        for (int way = 0; way < WAYS; way++)
            if (columns[way] == column)
                step(way, b_indices);
    }
};

// The elements of C that a block writes, those of neighbouring rows: collected in shared memory and written together;
// those beyond STAGED bytes are written at once. Elements are padded by one in 32, so that rows of 2, 4, 8 … entries do
// not meet in one bank.
#define STAGED_ELEMENTS(V) (STAGED / sizeof(V))
#define STAGED_PLACES(V) (STAGED_ELEMENTS(V) + STAGED_ELEMENTS(V) / WARP)

template <typename V> struct Staged
{
    V *places;
    V *out;

    static __device__ int place(int at) { return at + at / WARP; }

    __device__ void put(int at, V value)
    {
        if (at < STAGED_ELEMENTS(V))
            places[place(at)] = value;
        else
            out[at] = value;
    }

    // Writes the first `count`. All threads of the block call it.
    __device__ void write(int count)
    {
        __syncthreads();
        for (int at = threadIdx.x; at < min(count, (int)STAGED_ELEMENTS(V)); at += blockDim.x)
            out[at] = places[place(at)];
        __syncthreads();
    }
};
