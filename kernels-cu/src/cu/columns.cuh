// The columns of the products of a row of C, taken and written by whole warps. Needs index.cuh, warp.cuh before.

// Calls `take` with the column of every product of the entries of A from `begin` up to `end`, in no order: a warp of the
// team goes through the row of B that an entry names.
template <typename Take>
static __device__ void for_each_column(int lanes, long long begin, long long end, const Idx *__restrict__ a_indices,
                                       const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices, Take take)
{
    int warps = lanes / WARP;
    for (long long k = begin + threadIdx.x / WARP % warps; k < end; k += warps * WARP) {
        long long own = k + lane_index() * warps;
        long long b_begin = own < end ? b_offsets[a_indices[own]] : 0;
        long long b_end = own < end ? b_offsets[a_indices[own] + 1] : 0;
        int entries = (int)min((long long)WARP, (end - k + warps - 1) / warps);
        for (int entry = 0; entry < entries; entry++) {
            long long last = shuffle(b_end, entry);
            for (long long place = shuffle(b_begin, entry) + lane_index(); place < last; place += WARP)
                take(b_indices[place]);
        }
    }
}

// Writes the columns whose bits are set in the words of all lanes of a warp, each from `to` on: a lane for each bit of a
// word after the other, so that neighbours write neighbours.
static __device__ void write_together(unsigned int word, long long origin, Idx *to)
{
    for (unsigned int filled = __ballot_sync(ALL_LANES, word != 0); filled; filled &= filled - 1) {
        int from = __ffs(filled) - 1;
        unsigned int its = shuffle(word, from);
        long long its_origin = shuffle(origin, from);
        Idx *its_to = (Idx *)shuffle((unsigned long long)to, from);
        unsigned int bit = 1u << lane_index();
        if (its & bit)
            its_to[__popc(its & (bit - 1))] = (Idx)(its_origin + lane_index());
    }
}
