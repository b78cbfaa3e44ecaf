// spgemm_chunks: the values of long rows of C = A B for plans of many runs, for compressed rows and a C whose pattern is
// known, in order and without repetitions, where rows of B have no column twice. A plan cuts rows of C into chunks of
// about as many products each, and keeps the products of a chunk as neighbours, in the order of A's entries, as segments:
// up to 32 neighbours in a row of B. So a run reads rows of B in parts, and looks for nothing.
// Rows are those at places `first` up to `end` of an order. Their entries of A (`lefts`), their entries of C (`entries`)
// and their products have numbers that run on from row to row.
// spgemm_chunks_rows: lefts[i] and entries[i] <- those of the row at place first + i.
// spgemm_chunks_lefts: owners[j] <- the row of entry j of A, from 0 on; products[j] <- its products.
// spgemm_chunks_find: a warp has an entry of A: found[p] <- the entry of C of product p, or `entries` where C has no such
// column; counts[e] <- the products of entry e, from zeros.
// spgemm_chunks_cut: firsts[e] <- 1 if a chunk begins with entry e, else 0. A chunk has entries of one row, at most
// `most_entries` of them, and ends with the first that reaches a multiple of `most_products`; an entry of more than
// `alone` products is a chunk. `starts` are the products before each entry.
// spgemm_chunks_begin: chunk_entries[c] <- the first entry of chunk c, and of the end; chunk_places[c] <- its place in C.
// `chunks_before` are the chunks that begin before each entry.
// spgemm_chunks_segments: a warp has an entry of A: counts[j] <- its segments or, where there is memory for `segments`,
// these, with their chunks and lengths.
// spgemm_chunks_place: a warp has one of the segments, which are in the order of their chunks: writes the places of its
// products among the entries of the chunk, what says which products are of a segment (`groups`, from zeros), and
// `sources`, by which a run finds their factors.
// spgemm_chunks_turns: a warp has a chunk: adds to each place the number of products before in its group that have it, too.
// spgemm_chunks_sum: a warp has a chunk, whose sums are in shared memory: its lanes have the products of a group. Those
// that meet at one sum are added in turns, in their order; those of a chunk of one entry are added by lanes, then over
// the lanes. Reads places, groups, sources and factors once; writes C once.
// Macros: SCALAR, IDX, OFF, EACH = 32, 16 or 8 (sums per lane, in 128 bytes), AHEAD = 4 (groups that are loaded at once),
// TURN_SHIFT = 11 (the bits of a place below its turn), LEAST_BLOCKS = 4.   Launch: any number of blocks, of a multiple of
// 32 threads; of 32 for sum. A chunk has up to EACH * 32 entries.
#ifndef LEAST_BLOCKS
#define LEAST_BLOCKS 4
#endif
#include "grid.cuh"
#include "apart.cuh"
#include "scalar.cuh"
#include "warp_scalar.cuh"
#include "index.cuh"
#include "search.cuh"
#include "find.cuh"
#ifndef EACH
#define EACH (128 / sizeof(ACC))
#endif
#ifndef AHEAD
#define AHEAD 4
#endif
#ifndef TURN_SHIFT
#define TURN_SHIFT 11
#endif

// A row of B.
struct __align__(2 * sizeof(Off)) Part
{
    Off begin;
    Off end;
};

// Neighbours in a row of B: the entries of A and of B that make the first product, its number and how many there are.
struct __align__(16) Segment
{
    unsigned int left;
    unsigned int right;
    int product;
    int length;
};

// Products 32 g up to 32 (g + 1) of all chunks: bit l says that a segment begins with product l > 0; `segment` is that of
// product 0.
struct __align__(8) Group
{
    unsigned int bits;
    int segment;
};

// The factors of the products of a segment: an entry of A, and what makes the number of a product that of an entry of B.
struct __align__(8) Source
{
    unsigned int left;
    unsigned int right;
};

// The products of a chunk: the first is the first of a group.
struct Stream
{
    long long first;
    int count;
};

// The row, counted from 0 on, that has an element; `before` are those before each row, and of all.
static __device__ int row_of(const long long *__restrict__ before, long long rows, long long element)
{
    return (int)count_below(before, rows + 1, element + 1) - 1;
}

// Groups have room for the chunks before, each of which leaves less than one unused.
static __device__ Stream stream_of(long long chunk, const int *__restrict__ starts, const int *__restrict__ chunk_entries)
{
    int start = starts[chunk_entries[chunk]];
    return {(start / WARP + chunk) * WARP, starts[chunk_entries[chunk + 1]] - start};
}

KERNEL spgemm_chunks_rows(long long first, long long end, const long long *__restrict__ order,
                          const Off *__restrict__ a_offsets, const Off *__restrict__ c_offsets,
                          long long *__restrict__ lefts, long long *__restrict__ entries)
{
    for (long long i = thread_index(); i < end - first; i += thread_count()) {
        long long row = order[first + i];
        lefts[i] = a_offsets[row + 1] - a_offsets[row];
        entries[i] = c_offsets[row + 1] - c_offsets[row];
    }
}

// The position in A of entry j, which is of row `owner`.
static __device__ long long left_at(long long j, long long first, int owner, const long long *__restrict__ order,
                                    const Off *__restrict__ a_offsets, const long long *__restrict__ lefts_before)
{
    return a_offsets[order[first + owner]] + j - lefts_before[owner];
}

KERNEL spgemm_chunks_lefts(long long first, long long end, long long lefts, const long long *__restrict__ order,
                           const Off *__restrict__ a_offsets, const long long *__restrict__ lefts_before,
                           const Part *__restrict__ parts, int *__restrict__ owners, long long *__restrict__ products)
{
    for (long long j = thread_index(); j < lefts; j += thread_count()) {
        int owner = row_of(lefts_before, end - first, j);
        Part part = parts[left_at(j, first, owner, order, a_offsets, lefts_before)];
        owners[j] = owner;
        products[j] = part.end - part.begin;
    }
}

KERNEL spgemm_chunks_find(long long first, long long lefts, long long entries, const long long *__restrict__ order,
                          const Off *__restrict__ a_offsets, const Part *__restrict__ parts,
                          const Idx *__restrict__ b_indices, const Off *__restrict__ c_offsets,
                          const Idx *__restrict__ c_indices, const long long *__restrict__ lefts_before,
                          const long long *__restrict__ entries_before, const int *__restrict__ owners,
                          const long long *__restrict__ products_before, int *__restrict__ found,
                          int *__restrict__ counts)
{
    for (long long j = warp_index(); j < lefts; j += warp_count()) {
        int owner = owners[j];
        Part part = parts[left_at(j, first, owner, order, a_offsets, lefts_before)];
        long long row = order[first + owner];
        const Idx *columns = c_indices + c_offsets[row];
        int n = (int)(c_offsets[row + 1] - c_offsets[row]);
        int entry = (int)entries_before[owner];
        for (long long p = lane_index(); p < part.end - part.begin; p += WARP) {
            int at = find_sorted(columns, n, b_indices[part.begin + p]);
            found[products_before[j] + p] = at >= 0 ? entry + at : (int)entries;
            if (at >= 0)
                atomicAdd(counts + entry + at, 1);
        }
    }
}

KERNEL spgemm_chunks_cut(long long rows, long long entries, long long most_entries, long long most_products,
                         long long alone, const long long *__restrict__ entries_before, const int *__restrict__ starts,
                         int *__restrict__ firsts)
{
    for (long long e = thread_index(); e < entries; e += thread_count()) {
        long long at = e - entries_before[row_of(entries_before, rows, e)];
        int start = starts[e];
        int start_before = e > 0 ? starts[e - 1] : 0;
        bool is_full = at % most_entries == 0 || start / most_products != start_before / most_products;
        firsts[e] = is_full || starts[e + 1] - start > alone || start - start_before > alone;
    }
}

KERNEL spgemm_chunks_begin(long long first, long long rows, long long entries, const long long *__restrict__ order,
                           const Off *__restrict__ c_offsets, const long long *__restrict__ entries_before,
                           const int *__restrict__ chunks_before, int *__restrict__ chunk_entries,
                           long long *__restrict__ chunk_places)
{
    for (long long e = thread_index(); e <= entries; e += thread_count()) {
        int chunk = chunks_before[e];
        if (e == entries) {
            chunk_entries[chunk] = (int)e;
        } else if (chunks_before[e + 1] > chunk) {
            int row = row_of(entries_before, rows, e);
            chunk_entries[chunk] = (int)e;
            chunk_places[chunk] = c_offsets[order[first + row]] + e - entries_before[row];
        }
    }
}

KERNEL spgemm_chunks_segments(long long first, long long lefts, long long entries, const long long *__restrict__ order,
                              const Off *__restrict__ a_offsets, const Part *__restrict__ parts,
                              const long long *__restrict__ lefts_before, const int *__restrict__ owners,
                              const long long *__restrict__ products_before, const int *__restrict__ found,
                              const int *__restrict__ chunks_before, long long *__restrict__ counts,
                              Segment *__restrict__ segments, int *__restrict__ chunks, int *__restrict__ lengths)
{
    int lane = lane_index();
    unsigned int above = lane < WARP - 1 ? ALL_LANES << (lane + 1) : 0;
    for (long long j = warp_index(); j < lefts; j += warp_count()) {
        long long begin = products_before[j];
        long long end = products_before[j + 1];
        long long left = left_at(j, first, owners[j], order, a_offsets, lefts_before);
        int count = 0;
        for (long long base = begin; base < end; base += WARP) {
            long long p = base + lane;
            int entry = p < end ? found[p] : (int)entries;
            int chunk = entry < entries ? chunks_before[entry + 1] - 1 : -1;
            int chunk_before = __shfl_up_sync(ALL_LANES, chunk, 1);
            bool differs = lane == 0 || chunk != chunk_before;
            unsigned int ends = __ballot_sync(ALL_LANES, differs) & above;
            unsigned int begins = __ballot_sync(ALL_LANES, differs && chunk >= 0);
            if (segments && differs && chunk >= 0) {
                long long s = counts[j] + count + __popc(begins & ~above & ~(1u << lane));
                int length = (ends ? __ffs(ends) - 1 : WARP) - lane;
                unsigned int right = (unsigned int)(parts[left].begin + p - begin);
                segments[s] = {(unsigned int)left, right, (int)p, length};
                chunks[s] = chunk;
                lengths[s] = length;
            }
            count += __popc(begins);
        }
        if (!segments && lane == 0)
            counts[j] = count;
    }
}

KERNEL spgemm_chunks_place(long long count, const Segment *__restrict__ segments, const int *__restrict__ chunks,
                           const int *__restrict__ lengths_before, const int *__restrict__ starts,
                           const int *__restrict__ chunk_entries, const int *__restrict__ found,
                           unsigned short *__restrict__ places, Group *__restrict__ groups,
                           Source *__restrict__ sources)
{
    int lane = lane_index();
    for (long long s = warp_index(); s < count; s += warp_count()) {
        Segment segment = segments[s];
        int chunk = chunks[s];
        int entry = chunk_entries[chunk];
        long long begin = stream_of(chunk, starts, chunk_entries).first + lengths_before[s] - starts[entry];
        if (lane < segment.length)
            places[begin + lane] = (unsigned short)(found[segment.product + lane] - entry);
        if (lane == 0) {
            if (begin % WARP != 0)
                atomicOr(&groups[begin / WARP].bits, 1u << begin % WARP);
            long long group = (begin + WARP - 1) / WARP;
            if (group * WARP < begin + segment.length)
                groups[group].segment = (int)s;
            sources[s] = {segment.left, segment.right - (unsigned int)begin};
        }
    }
}

KERNEL spgemm_chunks_turns(long long chunks, const int *__restrict__ starts, const int *__restrict__ chunk_entries,
                           unsigned short *__restrict__ places)
{
    unsigned int before = (1u << lane_index()) - 1;
    for (long long c = warp_index(); c < chunks; c += warp_count()) {
        Stream stream = stream_of(c, starts, chunk_entries);
        if (chunk_entries[c + 1] - chunk_entries[c] == 1)
            continue;
        for (int base = 0; base < stream.count; base += WARP) {
            long long p = stream.first + base + lane_index();
            bool is_there = base + lane_index() < stream.count;
            int place = is_there ? places[p] : -1;
            int turn = __popc(__match_any_sync(ALL_LANES, place) & before);
            if (is_there)
                places[p] = (unsigned short)(turn << TURN_SHIFT | place);
        }
    }
}

// Adds the product of each lane to the sum at its place, those of one place turn after turn; nothing where there is none.
static __device__ void add_in_turns(ACC *sums, int place, ACC product)
{
    int own_turn = place >> TURN_SHIFT;
    for (int turn = 0; __any_sync(ALL_LANES, own_turn >= turn); turn++) {
        if (own_turn == turn)
            sums[place & ((1 << TURN_SHIFT) - 1)] += product;
        __syncwarp();
    }
}

KERNEL spgemm_chunks_sum(long long chunks, const int *__restrict__ starts, const int *__restrict__ chunk_entries,
                         const long long *__restrict__ chunk_places, const unsigned short *__restrict__ places,
                         const Group *__restrict__ groups, const Source *__restrict__ sources,
                         const T *__restrict__ a_values, const T *__restrict__ b_values, T *__restrict__ c_values)
{
    __shared__ ACC sums[EACH * WARP];
    // At the end it would take 8 registers more, and 8 % of the time.
    end_after_last();
    int lane = lane_index();
    unsigned int up_to_lane = ALL_LANES >> (WARP - 1 - lane);
    for (long long c = warp_index(); c < chunks; c += warp_count()) {
        Stream stream = stream_of(c, starts, chunk_entries);
        int n = chunk_entries[c + 1] - chunk_entries[c];
        bool is_single = n == 1;
        for (int at = lane; at < max(n, WARP); at += WARP)
            sums[at] = ACC(0);
        __syncwarp();
        Group own = {0, 0};
        for (int base = 0; base < stream.count; base += AHEAD * WARP) {
            // Each lane has one of the next groups.
            if (base % (WARP * WARP) == 0 && base + lane * WARP < stream.count)
                own = groups[(stream.first + base) / WARP + lane];
            int at[AHEAD];
            ACC products[AHEAD];
#pragma unroll
            for (int ahead = 0; ahead < AHEAD; ahead++) {
                int offset = base + ahead * WARP + lane;
                int number = base / WARP + ahead;
                unsigned int bits = __shfl_sync(ALL_LANES, own.bits, number);
                int segment = __shfl_sync(ALL_LANES, own.segment, number);
                at[ahead] = -1;
                products[ahead] = ACC(0);
                if (offset < stream.count) {
                    long long p = stream.first + offset;
                    Source source = sources[segment + __popc(bits & up_to_lane)];
                    at[ahead] = is_single ? lane : places[p];
                    products[ahead] = mul(load(a_values, source.left), load(b_values, source.right + (unsigned int)p));
                }
            }
#pragma unroll
            for (int ahead = 0; ahead < AHEAD; ahead++)
                add_in_turns(sums, at[ahead], products[ahead]);
        }
        if (is_single) {
            ACC sum = sum_lanes(sums[lane]);
            if (lane == 0)
                store(c_values, chunk_places[c], sum);
        } else {
            for (int at = lane; at < n; at += WARP)
                store(c_values, chunk_places[c] + at, sums[at]);
        }
        __syncwarp();
    }
}
