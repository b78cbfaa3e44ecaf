// spgemm_chunks: the values of C = A B for plans of many runs, for compressed rows and a C that has the pattern of the
// product, in order and without repetitions, where rows of B have no column twice. A plan divides the entries of C into
// chunks, neighbours whose products fit in a work-group's local memory. A run makes the products of a chunk in the
// order of A's entries, so that it reads rows of B in parts, and adds them in the order of C's entries, by a list of
// positions. Rows are those at places `first` up to `end` of an order, or of the matrix. Their entries of A, their
// entries of C and their products have numbers that run on from row to row. The products of a chunk that an entry of A
// makes with neighbours in a row of B are a segment; 32 products of a chunk, of one or more segments, are a group.
// A plan calls these kernels in their order:
// spgemm_chunks_rows: a_counts[i] and c_counts[i] <- the number of entries of A and of C in the row at place first + i.
// spgemm_chunks_products: a_rows[j] <- the row of entry j of A, from 0 on; products[j] <- its products.
// spgemm_chunks_c_entries: a team of `lanes` has an entry of A: c_entries[p] <- the entry of C of product p; counts[e]
// <- the products of entry e, from zeros.
// spgemm_chunks_begins: begins[e] <- 1 if a chunk begins with entry e, else 0: where entry e is no neighbour of the
// last one in C, and where its first product is the first after a multiple of `most_products`. An entry of more than
// `alone` products is a chunk. `starts` are the products before each entry.
// spgemm_chunks_bounds: of chunk c, and of the end: chunk_entries[c] and chunk_starts[c] <- the entries and products
// before; chunk_places[c] <- its place in C. `chunks_before` are the chunks that begin before each entry.
// spgemm_chunks_segments: a team has an entry of A: counts[j] <- its segments, of up to `lanes` products, or, where
// there is memory for `segments`, these, with their chunks and lengths.
// spgemm_chunks_place: a team has one of the segments, which are in the order of their chunks: places[p] <- the entry
// of C of product p, from the first of the chunk on; writes which products are of a segment (`groups`, from zeros), and
// `sources`, by which a run finds their factors.
// spgemm_chunks_positions: a team has a chunk: positions[p] <- the place in local memory of the p-th product in the
// order of C's entries.
// spgemm_chunks_runs: runs[r] <- what the products r EACH up to (r + 1) EACH in that order end, from zeros: the entry
// of the first one in its chunk in the lower half, and in the upper half a bit for each product that is its entry's
// last.
// spgemm_chunks_heads: heads[c] <- where all of this is for chunk c.
// A run of the plan calls one:
// spgemm_chunks_sum: a work-group has a chunk. First its work-items write the products to local memory. Then each adds
// EACH of them, by their positions, and passes the sum of an entry that it does not end to the work-item that ends it.
// Reads heads, groups, sources, factors, positions and runs once; writes C once.
// Macros: SCALAR, IDX, OFF, BLOCK (work-items of sum), EACH = 16, 8 or 4 (products of a work-item, in 64 bytes).
// Launch: any number of work-groups, of BLOCK for sum, of 32 for positions, of any size for rows, products, begins,
// bounds, runs and heads; others of `lanes`, up to 32, which are a team. A chunk has up to EACH * BLOCK products,
// unless it has a single entry.
#include "scalar.clh"
#include "index.clh"
#define SORTED IDX
#include "search.clh"
#ifndef BLOCK
#error "BLOCK is missing: the work-items of a work-group"
#endif
#ifndef EACH
#define EACH (64 / (int)sizeof(ACC))
#endif
#define LANES 32
#define MAX_PRODUCTS (EACH * BLOCK)
// The bit of the first product of a run.
#define ENDS (1u << 16)

// Neighbours in a row of B: the entries of A and of B that make the first product, its number and how many there are.
typedef struct
{
    uint a_entry;
    uint b_entry;
    int product;
    int length;
} Segment;

// Products 32 g up to 32 (g + 1) of all chunks: bit l says that a segment begins with product l > 0; `segment` is that
// of product 0.
typedef struct
{
    uint bits;
    int segment;
} Group;

// The factors of the products of a segment: an entry of A, and what makes a product's number in its
// chunk that of an entry of B.
typedef struct
{
    uint a_entry;
    uint b_shift;
} Source;

// A chunk: the place in C of its first entry, its first group, its first source, and how many products, entries of C
// and sources it has.
typedef struct
{
    long place;
    int first_group;
    int first_source;
    int products;
    int entries;
    int sources;
    int unused;
} Chunk;

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

// The row at a place of the order.
static long row_at_place(__global const long *order, long place)
{
    return order ? order[place] : place;
}

// The first product of a chunk, which is the first of a group. Each chunk before it leaves less than one group unused.
static long first_of(long chunk, __global const int *chunk_starts)
{
    return (chunk_starts[chunk] / LANES + chunk) * LANES;
}

// A product's element of local memory, where those at multiples of 32, 16 or 8 are in different banks.
static int padded(int product)
{
    return product + product / LANES;
}

__kernel void spgemm_chunks_rows(long first, long end, __global const long *order, __global const OFF *a_offsets,
                                 __global const OFF *c_offsets, __global long *a_counts, __global long *c_counts)
{
    for (long i = get_global_id(0); i < end - first; i += get_global_size(0)) {
        long row = row_at_place(order, first + i);
        a_counts[i] = a_offsets[row + 1] - a_offsets[row];
        c_counts[i] = c_offsets[row + 1] - c_offsets[row];
    }
}

// The position in A of entry j, which is of row `own_row`.
static long position_in_a(long j, long first, int own_row, __global const long *order, __global const OFF *a_offsets,
                          __global const long *a_before)
{
    return a_offsets[row_at_place(order, first + own_row)] + j - a_before[own_row];
}

__kernel void spgemm_chunks_products(long first, long end, long a_entries, __global const long *order,
                                     __global const OFF *a_offsets, __global const long *a_before,
                                     __global const OFF *b_rows, __global int *a_rows, __global long *products)
{
    for (long j = get_global_id(0); j < a_entries; j += get_global_size(0)) {
        int own_row = row_of(a_before, end - first, j);
        long a_entry = position_in_a(j, first, own_row, order, a_offsets, a_before);
        a_rows[j] = own_row;
        products[j] = b_rows[2 * a_entry + 1] - b_rows[2 * a_entry];
    }
}

__kernel void spgemm_chunks_c_entries(long first, long a_entries, long lanes, __global const long *order,
                                      __global const OFF *a_offsets, __global const OFF *b_rows,
                                      __global const IDX *b_indices, __global const OFF *c_offsets,
                                      __global const IDX *c_indices, __global const long *a_before,
                                      __global const long *c_before, __global const int *a_rows,
                                      __global const long *products_before, __global int *c_entries,
                                      __global int *counts)
{
    int lid = (int)get_local_id(0);
    for (long j = get_group_id(0); j < a_entries; j += get_num_groups(0)) {
        long a_entry = position_in_a(j, first, a_rows[j], order, a_offsets, a_before);
        long row = row_at_place(order, first + a_rows[j]);
        long n = c_offsets[row + 1] - c_offsets[row];
        int entry = (int)c_before[a_rows[j]];
        for (long p = lid; p < b_rows[2 * a_entry + 1] - b_rows[2 * a_entry]; p += lanes) {
            int at = entry + (int)count_below(c_indices + c_offsets[row], n, b_indices[b_rows[2 * a_entry] + p]);
            c_entries[products_before[j] + p] = at;
            atomic_add(counts + at, 1);
        }
    }
}

// The place in C of entry e. Without an order, rows are neighbours in C.
static long position_in_c(long e, long first, long rows, __global const long *order, __global const OFF *c_offsets,
                          __global const long *c_before)
{
    if (!order)
        return c_offsets[first] + e;
    int row = row_of(c_before, rows, e);
    return c_offsets[order[first + row]] + e - c_before[row];
}

__kernel void spgemm_chunks_begins(long first, long rows, long entries, long most_products, long alone,
                                   __global const long *order, __global const OFF *c_offsets,
                                   __global const long *c_before, __global const int *starts, __global int *begins)
{
    for (long e = get_global_id(0); e < entries; e += get_global_size(0)) {
        if (e == 0) {
            begins[e] = 1;
            continue;
        }
        int start = starts[e];
        int start_before = starts[e - 1];
        long place = position_in_c(e, first, rows, order, c_offsets, c_before);
        long place_before = position_in_c(e - 1, first, rows, order, c_offsets, c_before);
        bool is_alone = starts[e + 1] - start > alone || start - start_before > alone;
        begins[e] = place != place_before + 1 || start / most_products != start_before / most_products || is_alone;
    }
}

__kernel void spgemm_chunks_bounds(long first, long rows, long entries, __global const long *order,
                                   __global const OFF *c_offsets, __global const long *c_before,
                                   __global const int *starts, __global const int *chunks_before,
                                   __global int *chunk_entries, __global int *chunk_starts, __global long *chunk_places)
{
    for (long e = get_global_id(0); e <= entries; e += get_global_size(0)) {
        int chunk = chunks_before[e];
        bool begins = e < entries && chunks_before[e + 1] > chunk;
        if (e == entries || begins) {
            chunk_entries[chunk] = (int)e;
            chunk_starts[chunk] = starts[e];
        }
        if (begins)
            chunk_places[chunk] = position_in_c(e, first, rows, order, c_offsets, c_before);
    }
}

__kernel void spgemm_chunks_segments(long first, long a_entries, long lanes, __global const long *order,
                                     __global const OFF *a_offsets, __global const OFF *b_rows,
                                     __global const long *a_before, __global const int *a_rows,
                                     __global const long *products_before, __global const int *c_entries,
                                     __global const int *chunks_before, __global long *counts,
                                     __global Segment *segments, __global int *chunks, __global int *lengths)
{
    __local int of_lanes[LANES];
    int lid = (int)get_local_id(0);
    for (long j = get_group_id(0); j < a_entries; j += get_num_groups(0)) {
        long begin = products_before[j];
        long end = products_before[j + 1];
        long a_entry = position_in_a(j, first, a_rows[j], order, a_offsets, a_before);
        int count = 0;
        for (long base = begin; base < end; base += lanes) {
            long p = base + lid;
            int chunk = p < end ? chunks_before[c_entries[p] + 1] - 1 : -1;
            of_lanes[lid] = chunk;
            barrier(CLK_LOCAL_MEM_FENCE);
            int own = count;
            for (int lane = 0; lane < lanes; lane++) {
                bool begins = of_lanes[lane] >= 0 && (lane == 0 || of_lanes[lane] != of_lanes[lane - 1]);
                own += begins && lane < lid;
                count += begins;
            }
            if (segments && chunk >= 0 && (lid == 0 || chunk != of_lanes[lid - 1])) {
                int length = 1;
                while (lid + length < lanes && of_lanes[lid + length] == chunk)
                    length++;
                Segment segment = {(uint)a_entry, (uint)(b_rows[2 * a_entry] + p - begin), (int)p, length};
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

__kernel void spgemm_chunks_place(long count, long lanes, __global const Segment *segments, __global const int *chunks,
                                  __global const int *lengths_before, __global const int *chunk_starts,
                                  __global const int *chunk_entries, __global const int *c_entries,
                                  __global ushort *places, __global Group *groups, __global Source *sources)
{
    int lid = (int)get_local_id(0);
    for (long s = get_group_id(0); s < count; s += get_num_groups(0)) {
        Segment segment = segments[s];
        int chunk = chunks[s];
        int product = lengths_before[s] - chunk_starts[chunk];
        long begin = first_of(chunk, chunk_starts) + product;
        if (lid < segment.length)
            places[begin + lid] = (ushort)(c_entries[segment.product + lid] - chunk_entries[chunk]);
        if (lid == 0) {
            if (begin % LANES != 0)
                atomic_or(&groups[begin / LANES].bits, 1u << (int)(begin % LANES));
            long group = (begin + LANES - 1) / LANES;
            if (group * LANES < begin + segment.length)
                groups[group].segment = (int)s;
            Source source = {segment.a_entry, segment.b_entry - (uint)product};
            sources[s] = source;
        }
    }
}

__kernel void spgemm_chunks_positions(long chunks, __global const int *starts, __global const int *chunk_starts,
                                      __global const int *chunk_entries, __global const ushort *places,
                                      __global ushort *positions)
{
    // The number of the next product of each entry.
    __local ushort next[MAX_PRODUCTS];
    __local int of_lanes[LANES];
    int lid = (int)get_local_id(0);
    for (long c = get_group_id(0); c < chunks; c += get_num_groups(0)) {
        long first = first_of(c, chunk_starts);
        int count = chunk_starts[c + 1] - chunk_starts[c];
        int entry = chunk_entries[c];
        if (count > MAX_PRODUCTS)
            continue;
        for (int at = lid; at < chunk_entries[c + 1] - entry; at += LANES)
            next[at] = (ushort)(starts[entry + at] - chunk_starts[c]);
        for (int base = 0; base < count; base += LANES) {
            int product = base + lid;
            int place = product < count ? places[first + product] : -1;
            of_lanes[lid] = place;
            barrier(CLK_LOCAL_MEM_FENCE);
            int before = 0;
            int after = 0;
            for (int lane = 0; lane < LANES; lane++) {
                before += lane < lid && of_lanes[lane] == place;
                after += lane > lid && of_lanes[lane] == place;
            }
            int number = place >= 0 ? next[place] + before : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (place >= 0) {
                positions[first + number] = (ushort)product;
                if (after == 0)
                    next[place] = (ushort)(number + 1);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

__kernel void spgemm_chunks_runs(long entries, __global const int *starts, __global const int *chunks_before,
                                 __global const int *chunk_starts, __global const int *chunk_entries,
                                 __global uint *runs)
{
    for (long e = get_global_id(0); e < entries; e += get_global_size(0)) {
        int chunk = chunks_before[e + 1] - 1;
        if (chunk_starts[chunk + 1] - chunk_starts[chunk] > MAX_PRODUCTS)
            continue;
        long first = first_of(chunk, chunk_starts) - chunk_starts[chunk];
        long end = first + starts[e + 1];
        atomic_or(&runs[(end - 1) / EACH], ENDS << (int)((end - 1) % EACH));
        for (long run = (first + starts[e] + EACH - 1) / EACH; run * EACH < end; run++)
            atomic_or(&runs[run], (uint)(e - chunk_entries[chunk]));
    }
}

__kernel void spgemm_chunks_heads(long count, __global const int *chunk_entries, __global const int *chunk_starts,
                                  __global const long *chunk_places, __global const Group *groups,
                                  __global Chunk *heads)
{
    for (long c = get_global_id(0); c < count; c += get_global_size(0)) {
        int first_group = (int)(first_of(c, chunk_starts) / LANES);
        int products = chunk_starts[c + 1] - chunk_starts[c];
        Group last = groups[first_group + (products - 1) / LANES];
        int first_source = groups[first_group].segment;
        int sources = last.segment + (int)popcount(last.bits) + 1 - first_source;
        int entries = chunk_entries[c + 1] - chunk_entries[c];
        Chunk head = {chunk_places[c], first_group, first_source, products, entries, sources, 0};
        heads[c] = head;
    }
}

// A product of the chunk whose groups and sources these are.
static ACC product_at(int product, __global const Group *groups, __global const Source *sources,
                      __global const T *a_values, __global const T *b_values)
{
    Group group = groups[product / LANES];
    uint up_to_own = 0xffffffffu >> (LANES - 1 - product % LANES);
    Source source = sources[group.segment + (int)popcount(group.bits & up_to_own)];
    return mul(load(a_values, source.a_entry), load(b_values, source.b_shift + (uint)product));
}

__kernel void spgemm_chunks_sum(long count, __global const Chunk *heads, __global const ushort *positions,
                                __global const uint *runs, __global const Group *groups,
                                __global const Source *sources, __global const T *a_values,
                                __global const T *b_values, __global T *c_values)
{
    __local ACC products[MAX_PRODUCTS + MAX_PRODUCTS / LANES];
    __local ACC sums[MAX_PRODUCTS + MAX_PRODUCTS / LANES];
    __local ACC rests[BLOCK];
    __local int enders[BLOCK];
    int lid = (int)get_local_id(0);
    for (long c = get_group_id(0); c < count; c += get_num_groups(0)) {
        Chunk chunk = heads[c];
        long first = (long)chunk.first_group * LANES;
        // A longer chunk has a single entry.
        bool is_in_memory = chunk.products <= MAX_PRODUCTS;
        ACC rest = (ACC)(0);
        for (int product = lid; product < chunk.products; product += BLOCK) {
            ACC value = product_at(product, groups + chunk.first_group, sources, a_values, b_values);
            if (is_in_memory)
                products[padded(product)] = value;
            else
                rest += value;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        int begin = lid * EACH;
        uint run = is_in_memory && begin < chunk.products ? runs[(first + begin) / EACH] : 0;
        int entry = (int)(run & (ENDS - 1));
        if (is_in_memory) {
            for (int k = 0; k < EACH && begin + k < chunk.products; k++) {
                rest += products[padded(positions[first + begin + k])];
                if (run & ENDS << k) {
                    sums[padded(entry)] = rest;
                    rest = (ACC)(0);
                    entry++;
                }
            }
        }
        rests[lid] = rest;
        enders[lid] = run >= ENDS;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (run >= ENDS) {
            ACC before = (ACC)(0);
            int last = lid;
            while (last > 0) {
                before += rests[--last];
                if (enders[last])
                    break;
            }
            sums[padded((int)(run & (ENDS - 1)))] += before;
        }
        if (!is_in_memory && lid == 0) {
            sums[0] = rests[0];
            for (int other = 1; other < BLOCK; other++)
                sums[0] += rests[other];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int at = lid; at < chunk.entries; at += BLOCK)
            store(c_values, chunk.place + at, sums[padded(at)]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
