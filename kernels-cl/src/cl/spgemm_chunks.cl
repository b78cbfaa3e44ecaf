// spgemm_chunks: the values of long rows of C = A B for plans of many runs, for compressed rows and a C whose pattern is
// known, in order and without repetitions, where rows of B have no column twice. A plan cuts rows of C into chunks of
// about as many products each, and keeps the products of a chunk as neighbours, in the order of A's entries, as segments:
// up to 32 neighbours in a row of B. So a run reads rows of B in parts, and looks for nothing.
// Rows are those at places `first` up to `end` of an order. Their entries of A (`lefts`), their entries of C (`entries`)
// and their products have numbers that run on from row to row.
// spgemm_chunks_rows: lefts[i] and entries[i] <- those of the row at place first + i.
// spgemm_chunks_lefts: owners[j] <- the row of entry j of A, from 0 on; products[j] <- its products.
// spgemm_chunks_find: a team has an entry of A: found[p] <- the entry of C of product p, or `entries` where C has no such
// column; counts[e] <- the products of entry e, from zeros.
// spgemm_chunks_cut: firsts[e] <- 1 if a chunk begins with entry e, else 0. A chunk has entries of one row, at most
// `most_entries` of them, and ends with the first that reaches a multiple of `most_products`; an entry of more than
// `alone` products is a chunk. `starts` are the products before each entry.
// spgemm_chunks_begin: chunk_entries[c] <- the first entry of chunk c, and of the end; chunk_places[c] <- its place in C.
// `chunks_before` are the chunks that begin before each entry.
// spgemm_chunks_segments: a team has an entry of A: counts[j] <- its segments or, where there is memory for `segments`,
// these, with their chunks and lengths.
// spgemm_chunks_place: a team has one of the segments, which are in the order of their chunks: writes the places of its
// products among the entries of the chunk, what says which products are of a segment (`groups`, from zeros), and
// `sources`, by which a run finds their factors.
// spgemm_chunks_turns: a team has a chunk: adds to each place the number of products before in its group that have it, too.
// spgemm_chunks_sum: a team has a chunk, whose sums are in local memory: its lanes have the products of a group. Those
// that meet at one sum are added in turns, in their order; those of a chunk of one entry are added by lanes, then over
// the lanes. Reads places, groups, sources and factors once; writes C once.
// Macros: SCALAR, IDX, OFF, EACH = 32, 16 or 8 (sums per lane, in 128 bytes), TURN_SHIFT = 11 (the bits of a place below
// its turn).   Launch: any number of work-groups of 32, which are teams; of any size for rows, lefts, cut and begin. A
// chunk has up to EACH * 32 entries.
#include "scalar.clh"
#include "index.clh"
#define SORTED IDX
#include "search.clh"
#ifndef EACH
#define EACH (128 / sizeof(ACC))
#endif
#ifndef TURN_SHIFT
#define TURN_SHIFT 11
#endif
#define LANES 32

// Neighbours in a row of B: the entries of A and of B that make the first product, its number and how many there are.
typedef struct
{
    uint left;
    uint right;
    int product;
    int length;
} Segment;

// Products 32 g up to 32 (g + 1) of all chunks: bit l says that a segment begins with product l > 0; `segment` is that of
// product 0.
typedef struct
{
    uint bits;
    int segment;
} Group;

// The factors of the products of a segment: an entry of A, and what makes the number of a product that of an entry of B.
typedef struct
{
    uint left;
    uint right;
} Source;

// The row, counted from 0 on, that has an element; `before` are those before each row, and of all.
static int row_of(__global const long *before, long rows, long element)
{
    long low = 0;
    long high = rows;
    while (low < high) {
        long mid = low + (high - low) / 2;
        if (before[mid + 1] <= element)
            low = mid + 1;
        else
            high = mid;
    }
    return (int)low;
}

// The first product of a chunk, which is the first of a group. Groups have room for the chunks before, each of which
// leaves less than one unused.
static long first_of(long chunk, __global const int *starts, __global const int *chunk_entries)
{
    return (starts[chunk_entries[chunk]] / LANES + chunk) * LANES;
}

// The products of a chunk.
static int count_of(long chunk, __global const int *starts, __global const int *chunk_entries)
{
    return starts[chunk_entries[chunk + 1]] - starts[chunk_entries[chunk]];
}

__kernel void spgemm_chunks_rows(long first, long end, __global const long *order, __global const OFF *a_offsets,
                                 __global const OFF *c_offsets, __global long *lefts, __global long *entries)
{
    for (long i = get_global_id(0); i < end - first; i += get_global_size(0)) {
        long row = order[first + i];
        lefts[i] = a_offsets[row + 1] - a_offsets[row];
        entries[i] = c_offsets[row + 1] - c_offsets[row];
    }
}

// The position in A of entry j, which is of row `owner`.
static long left_at(long j, long first, int owner, __global const long *order, __global const OFF *a_offsets,
                    __global const long *lefts_before)
{
    return a_offsets[order[first + owner]] + j - lefts_before[owner];
}

__kernel void spgemm_chunks_lefts(long first, long end, long lefts, __global const long *order,
                                  __global const OFF *a_offsets, __global const long *lefts_before,
                                  __global const OFF *parts, __global int *owners, __global long *products)
{
    for (long j = get_global_id(0); j < lefts; j += get_global_size(0)) {
        int owner = row_of(lefts_before, end - first, j);
        long left = left_at(j, first, owner, order, a_offsets, lefts_before);
        owners[j] = owner;
        products[j] = parts[2 * left + 1] - parts[2 * left];
    }
}

__kernel void spgemm_chunks_find(long first, long lefts, long entries, __global const long *order,
                                 __global const OFF *a_offsets, __global const OFF *parts,
                                 __global const IDX *b_indices, __global const OFF *c_offsets,
                                 __global const IDX *c_indices, __global const long *lefts_before,
                                 __global const long *entries_before, __global const int *owners,
                                 __global const long *products_before, __global int *found, __global int *counts)
{
    int lid = (int)get_local_id(0);
    for (long j = get_group_id(0); j < lefts; j += get_num_groups(0)) {
        long left = left_at(j, first, owners[j], order, a_offsets, lefts_before);
        long row = order[first + owners[j]];
        long n = c_offsets[row + 1] - c_offsets[row];
        int entry = (int)entries_before[owners[j]];
        for (long p = lid; p < parts[2 * left + 1] - parts[2 * left]; p += LANES) {
            int at = (int)find_sorted(c_indices + c_offsets[row], n, b_indices[parts[2 * left] + p]);
            found[products_before[j] + p] = at >= 0 ? entry + at : (int)entries;
            if (at >= 0)
                atomic_add(counts + entry + at, 1);
        }
    }
}

__kernel void spgemm_chunks_cut(long rows, long entries, long most_entries, long most_products, long alone,
                                __global const long *entries_before, __global const int *starts, __global int *firsts)
{
    for (long e = get_global_id(0); e < entries; e += get_global_size(0)) {
        long at = e - entries_before[row_of(entries_before, rows, e)];
        int start = starts[e];
        int start_before = e > 0 ? starts[e - 1] : 0;
        bool is_full = at % most_entries == 0 || start / most_products != start_before / most_products;
        firsts[e] = is_full || starts[e + 1] - start > alone || start - start_before > alone;
    }
}

__kernel void spgemm_chunks_begin(long first, long rows, long entries, __global const long *order,
                                  __global const OFF *c_offsets, __global const long *entries_before,
                                  __global const int *chunks_before, __global int *chunk_entries,
                                  __global long *chunk_places)
{
    for (long e = get_global_id(0); e <= entries; e += get_global_size(0)) {
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

__kernel void spgemm_chunks_segments(long first, long lefts, long entries, __global const long *order,
                                     __global const OFF *a_offsets, __global const OFF *parts,
                                     __global const long *lefts_before, __global const int *owners,
                                     __global const long *products_before, __global const int *found,
                                     __global const int *chunks_before, __global long *counts,
                                     __global Segment *segments, __global int *chunks, __global int *lengths)
{
    __local int of_lanes[LANES];
    int lid = (int)get_local_id(0);
    for (long j = get_group_id(0); j < lefts; j += get_num_groups(0)) {
        long begin = products_before[j];
        long end = products_before[j + 1];
        long left = left_at(j, first, owners[j], order, a_offsets, lefts_before);
        int count = 0;
        for (long base = begin; base < end; base += LANES) {
            long p = base + lid;
            int entry = p < end ? found[p] : (int)entries;
            int chunk = entry < entries ? chunks_before[entry + 1] - 1 : -1;
            of_lanes[lid] = chunk;
            barrier(CLK_LOCAL_MEM_FENCE);
            int own = count;
            for (int lane = 0; lane < LANES; lane++) {
                bool begins = of_lanes[lane] >= 0 && (lane == 0 || of_lanes[lane] != of_lanes[lane - 1]);
                own += begins && lane < lid;
                count += begins;
            }
            if (segments && chunk >= 0 && (lid == 0 || chunk != of_lanes[lid - 1])) {
                int length = 1;
                while (lid + length < LANES && of_lanes[lid + length] == chunk)
                    length++;
                Segment segment = {(uint)left, (uint)(parts[2 * left] + p - begin), (int)p, length};
                segments[counts[j] + own] = segment;
                chunks[counts[j] + own] = chunk;
                lengths[counts[j] + own] = length;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (!segments && lid == 0)
            counts[j] = count;
    }
}

__kernel void spgemm_chunks_place(long count, __global const Segment *segments, __global const int *chunks,
                                  __global const int *lengths_before, __global const int *starts,
                                  __global const int *chunk_entries, __global const int *found,
                                  __global ushort *places, __global Group *groups, __global Source *sources)
{
    int lid = (int)get_local_id(0);
    for (long s = get_group_id(0); s < count; s += get_num_groups(0)) {
        Segment segment = segments[s];
        int entry = chunk_entries[chunks[s]];
        long begin = first_of(chunks[s], starts, chunk_entries) + lengths_before[s] - starts[entry];
        if (lid < segment.length)
            places[begin + lid] = (ushort)(found[segment.product + lid] - entry);
        if (lid == 0) {
            if (begin % LANES != 0)
                atomic_or(&groups[begin / LANES].bits, 1u << (int)(begin % LANES));
            long group = (begin + LANES - 1) / LANES;
            if (group * LANES < begin + segment.length)
                groups[group].segment = (int)s;
            Source source = {segment.left, segment.right - (uint)begin};
            sources[s] = source;
        }
    }
}

__kernel void spgemm_chunks_turns(long chunks, __global const int *starts, __global const int *chunk_entries,
                                  __global ushort *places)
{
    __local int of_lanes[LANES];
    int lid = (int)get_local_id(0);
    for (long c = get_group_id(0); c < chunks; c += get_num_groups(0)) {
        int count = count_of(c, starts, chunk_entries);
        if (chunk_entries[c + 1] - chunk_entries[c] == 1)
            continue;
        for (int base = 0; base < count; base += LANES) {
            long p = first_of(c, starts, chunk_entries) + base + lid;
            bool is_there = base + lid < count;
            int place = is_there ? places[p] : -1;
            of_lanes[lid] = place;
            barrier(CLK_LOCAL_MEM_FENCE);
            int turn = 0;
            for (int lane = 0; lane < lid; lane++)
                turn += of_lanes[lane] == place;
            if (is_there)
                places[p] = (ushort)(turn << TURN_SHIFT | place);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

__kernel void spgemm_chunks_sum(long chunks, __global const int *starts, __global const int *chunk_entries,
                                __global const long *chunk_places, __global const ushort *places,
                                __global const Group *groups, __global const Source *sources,
                                __global const T *a_values, __global const T *b_values, __global T *c_values)
{
    __local ACC sums[EACH * LANES];
    __local int last;
    int lid = (int)get_local_id(0);
    for (long c = get_group_id(0); c < chunks; c += get_num_groups(0)) {
        long first = first_of(c, starts, chunk_entries);
        int count = count_of(c, starts, chunk_entries);
        int n = chunk_entries[c + 1] - chunk_entries[c];
        for (int at = lid; at < max(n, LANES); at += LANES)
            sums[at] = (ACC)(0);
        for (int base = 0; base < count; base += LANES) {
            int at = -1;
            ACC product = (ACC)(0);
            if (base + lid < count) {
                long p = first + base + lid;
                Group group = groups[p / LANES];
                uint up_to_lane = 0xffffffffu >> (LANES - 1 - lid);
                Source source = sources[group.segment + (int)popcount(group.bits & up_to_lane)];
                at = n == 1 ? lid : places[p];
                product = mul(load(a_values, source.left), load(b_values, source.right + (uint)p));
            }
            int turn = at >> TURN_SHIFT;
            if (lid == 0)
                last = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            atomic_max(&last, turn);
            barrier(CLK_LOCAL_MEM_FENCE);
            int turns = last + 1;
            for (int next = 0; next < turns; next++) {
                if (turn == next)
                    sums[at & ((1 << TURN_SHIFT) - 1)] += product;
                barrier(CLK_LOCAL_MEM_FENCE);
            }
        }
        if (n == 1 && lid == 0)
            for (int lane = 1; lane < LANES; lane++)
                sums[0] += sums[lane];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int at = lid; at < n; at += LANES)
            store(c_values, chunk_places[c] + at, sums[at]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
