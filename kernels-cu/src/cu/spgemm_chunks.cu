// spgemm_chunks: the values of C = A B for plans of many runs, for compressed rows and a C that has the pattern of the
// product, in order and without repetitions, where rows of B have no column twice. A plan divides the entries of C into
// chunks, neighbours whose products fit in a block's shared memory. A run makes the products of a chunk in the order of
// A's entries, so that it reads rows of B in parts, and adds them in the order of C's entries, by a list of positions.
// Rows are those at places `first` up to `end` of an order, or of the matrix. Their entries of A, their entries of C
// and their products have numbers that run on from row to row. The products of a chunk that an entry of A makes with
// neighbours in a row of B are a segment; 32 products of a chunk, of one or more segments, are a group.
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
// spgemm_chunks_positions: a warp has a chunk: positions[p] <- the place in shared memory of the p-th product in the
// order of C's entries.
// spgemm_chunks_runs: runs[r] <- what the products r EACH up to (r + 1) EACH in that order end, from zeros: the entry
// of the first one in its chunk in the lower half, and in the upper half a bit for each product that is its entry's
// last.
// spgemm_chunks_heads: heads[c] <- where all of this is for chunk c, so that a run waits for one load before others.
// A run of the plan calls one:
// spgemm_chunks_sum: a block has a chunk. First a warp has a group after the other, and keeps the products in shared
// memory; then a thread adds EACH of them, by their positions, and what it has left of an entry goes to the thread that
// ends this entry. Reads heads, groups, sources, factors, positions and runs once; writes C once.
// Macros: SCALAR, IDX, OFF, BLOCK (threads of sum), EACH = 16, 8 or 4 (products of a thread, in 64 bytes), AHEAD = 4
// (groups that a warp loads at once), MIN_BLOCKS = 4 or 5.
// Launch: any number of blocks, of BLOCK threads for sum, of 32 for positions, of a multiple of 32 for others, `lanes`
// a power of two up to 32. A chunk has up to EACH * BLOCK products, unless it has a single entry.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS (sizeof(ACC) > 8 ? 4 : 5)
#endif
#include "grid.cuh"
#include "apart.cuh"
#include "scalar.cuh"
#include "warp_scalar.cuh"
#include "index.cuh"
#include "team.cuh"
#include "search.cuh"
#ifndef BLOCK
#error "BLOCK is missing: the threads of a block"
#endif
#ifndef EACH
#define EACH (64 / sizeof(ACC))
#endif
#ifndef AHEAD
#define AHEAD 4
#endif
#include "chunk_streams.cuh"
#include "chunk_sums.cuh"

KERNEL spgemm_chunks_rows(long long first, long long end, const long long *__restrict__ order,
                          const Off *__restrict__ a_offsets, const Off *__restrict__ c_offsets,
                          long long *__restrict__ a_counts, long long *__restrict__ c_counts)
{
    for (long long i = thread_index(); i < end - first; i += thread_count()) {
        long long row = row_at_place(order, first + i);
        a_counts[i] = a_offsets[row + 1] - a_offsets[row];
        c_counts[i] = c_offsets[row + 1] - c_offsets[row];
    }
}

// The position in A of entry j, which is of row `own_row`.
static __device__ long long position_in_a(long long j, long long first, int own_row,
                                          const long long *__restrict__ order, const Off *__restrict__ a_offsets,
                                          const long long *__restrict__ a_before)
{
    return a_offsets[row_at_place(order, first + own_row)] + j - a_before[own_row];
}

KERNEL spgemm_chunks_products(long long first, long long end, long long a_entries, const long long *__restrict__ order,
                              const Off *__restrict__ a_offsets, const long long *__restrict__ a_before,
                              const BRow *__restrict__ b_rows, int *__restrict__ a_rows,
                              long long *__restrict__ products)
{
    for (long long j = thread_index(); j < a_entries; j += thread_count()) {
        int own_row = row_of(a_before, end - first, j);
        BRow b_row = b_rows[position_in_a(j, first, own_row, order, a_offsets, a_before)];
        a_rows[j] = own_row;
        products[j] = b_row.end - b_row.begin;
    }
}

KERNEL spgemm_chunks_c_entries(long long first, long long a_entries, long long lanes,
                               const long long *__restrict__ order, const Off *__restrict__ a_offsets,
                               const BRow *__restrict__ b_rows, const Idx *__restrict__ b_indices,
                               const Off *__restrict__ c_offsets, const Idx *__restrict__ c_indices,
                               const long long *__restrict__ a_before, const long long *__restrict__ c_before,
                               const int *__restrict__ a_rows, const long long *__restrict__ products_before,
                               int *__restrict__ c_entries, int *__restrict__ counts)
{
    int width = (int)lanes;
    for (long long j = team_index(width); j < a_entries; j += team_count(width)) {
        int own_row = a_rows[j];
        BRow b_row = b_rows[position_in_a(j, first, own_row, order, a_offsets, a_before)];
        long long row = row_at_place(order, first + own_row);
        const Idx *columns = c_indices + c_offsets[row];
        int n = (int)(c_offsets[row + 1] - c_offsets[row]);
        int entry = (int)c_before[own_row];
        for (long long p = threadIdx.x % width; p < b_row.end - b_row.begin; p += width) {
            int at = entry + count_below(columns, n, b_indices[b_row.begin + p]);
            c_entries[products_before[j] + p] = at;
            atomicAdd(counts + at, 1);
        }
    }
}

// The place in C of entry e. Without an order, rows are neighbours in C.
static __device__ long long position_in_c(long long e, long long first, long long rows,
                                          const long long *__restrict__ order, const Off *__restrict__ c_offsets,
                                          const long long *__restrict__ c_before)
{
    if (!order)
        return c_offsets[first] + e;
    int row = row_of(c_before, rows, e);
    return c_offsets[order[first + row]] + e - c_before[row];
}

KERNEL spgemm_chunks_begins(long long first, long long rows, long long entries, long long most_products,
                            long long alone, const long long *__restrict__ order, const Off *__restrict__ c_offsets,
                            const long long *__restrict__ c_before, const int *__restrict__ starts,
                            int *__restrict__ begins)
{
    for (long long e = thread_index(); e < entries; e += thread_count()) {
        if (e == 0) {
            begins[e] = 1;
            continue;
        }
        int start = starts[e];
        int start_before = starts[e - 1];
        long long place = position_in_c(e, first, rows, order, c_offsets, c_before);
        long long place_before = position_in_c(e - 1, first, rows, order, c_offsets, c_before);
        bool is_alone = starts[e + 1] - start > alone || start - start_before > alone;
        begins[e] = place != place_before + 1 || start / most_products != start_before / most_products || is_alone;
    }
}

KERNEL spgemm_chunks_bounds(long long first, long long rows, long long entries, const long long *__restrict__ order,
                            const Off *__restrict__ c_offsets, const long long *__restrict__ c_before,
                            const int *__restrict__ starts, const int *__restrict__ chunks_before,
                            int *__restrict__ chunk_entries, int *__restrict__ chunk_starts,
                            long long *__restrict__ chunk_places)
{
    for (long long e = thread_index(); e <= entries; e += thread_count()) {
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

KERNEL spgemm_chunks_segments(long long first, long long a_entries, long long lanes,
                              const long long *__restrict__ order, const Off *__restrict__ a_offsets,
                              const BRow *__restrict__ b_rows, const long long *__restrict__ a_before,
                              const int *__restrict__ a_rows, const long long *__restrict__ products_before,
                              const int *__restrict__ c_entries, const int *__restrict__ chunks_before,
                              long long *__restrict__ counts, Segment *__restrict__ segments,
                              int *__restrict__ chunks, int *__restrict__ lengths)
{
    int width = (int)lanes;
    int lane = lane_index() % width;
    unsigned int before = (1u << lane_index()) - 1;
    unsigned int of_team = (ALL_LANES >> (WARP - width)) << (lane_index() - lane);
    int team_end = lane_index() - lane + width;
    for (long long j = team_index(width); any_of_warp(j < a_entries); j += team_count(width)) {
        long long begin = j < a_entries ? products_before[j] : 0;
        long long end = j < a_entries ? products_before[j + 1] : 0;
        long long a_entry = j < a_entries ? position_in_a(j, first, a_rows[j], order, a_offsets, a_before) : 0;
        int count = 0;
        for (long long base = begin; any_of_warp(base < end); base += width) {
            long long p = base + lane;
            int chunk = p < end ? chunks_before[c_entries[p] + 1] - 1 : -1;
            int chunk_before = __shfl_up_sync(ALL_LANES, chunk, 1, width);
            bool differs = lane == 0 || chunk != chunk_before;
            unsigned int ends = __ballot_sync(ALL_LANES, differs) & of_team & ~before & ~(1u << lane_index());
            unsigned int begins = __ballot_sync(ALL_LANES, differs && chunk >= 0) & of_team;
            if (segments && differs && chunk >= 0) {
                long long s = counts[j] + count + __popc(begins & before);
                int length = (ends ? __ffs(ends) - 1 : team_end) - lane_index();
                unsigned int b_entry = (unsigned int)(b_rows[a_entry].begin + p - begin);
                segments[s] = {(unsigned int)a_entry, b_entry, (int)p, length};
                chunks[s] = chunk;
                lengths[s] = length;
            }
            count += __popc(begins);
        }
        if (!segments && lane == 0 && j < a_entries)
            counts[j] = count;
    }
}

KERNEL spgemm_chunks_place(long long count, long long lanes, const Segment *__restrict__ segments,
                           const int *__restrict__ chunks, const int *__restrict__ lengths_before,
                           const int *__restrict__ chunk_starts, const int *__restrict__ chunk_entries,
                           const int *__restrict__ c_entries, unsigned short *__restrict__ places,
                           Group *__restrict__ groups, Source *__restrict__ sources)
{
    int width = (int)lanes;
    int lane = threadIdx.x % width;
    for (long long s = team_index(width); s < count; s += team_count(width)) {
        Segment segment = segments[s];
        int chunk = chunks[s];
        int product = lengths_before[s] - chunk_starts[chunk];
        long long begin = stream_of(chunk, chunk_starts).first + product;
        if (lane < segment.length)
            places[begin + lane] = (unsigned short)(c_entries[segment.product + lane] - chunk_entries[chunk]);
        if (lane == 0) {
            if (begin % WARP != 0)
                atomicOr(&groups[begin / WARP].bits, 1u << begin % WARP);
            long long group = (begin + WARP - 1) / WARP;
            if (group * WARP < begin + segment.length)
                groups[group].segment = (int)s;
            sources[s] = {segment.a_entry, segment.b_entry - (unsigned int)product};
        }
    }
}

KERNEL spgemm_chunks_positions(long long chunks, const int *__restrict__ starts, const int *__restrict__ chunk_starts,
                               const int *__restrict__ chunk_entries, const unsigned short *__restrict__ places,
                               unsigned short *__restrict__ positions)
{
    // The number of the next product of each entry.
    __shared__ unsigned short next[MAX_PRODUCTS];
    int lane = lane_index();
    unsigned int before = (1u << lane) - 1;
    for (long long c = blockIdx.x; c < chunks; c += gridDim.x) {
        Stream stream = stream_of(c, chunk_starts);
        if (stream.count > MAX_PRODUCTS)
            continue;
        int entry = chunk_entries[c];
        for (int at = lane; at < chunk_entries[c + 1] - entry; at += WARP)
            next[at] = (unsigned short)(starts[entry + at] - chunk_starts[c]);
        __syncwarp();
        for (int base = 0; base < stream.count; base += WARP) {
            int product = base + lane;
            int place = product < stream.count ? places[stream.first + product] : -1;
            unsigned int alike = __match_any_sync(ALL_LANES, place);
            int number = place >= 0 ? next[place] + __popc(alike & before) : 0;
            __syncwarp();
            if (place >= 0) {
                positions[stream.first + number] = (unsigned short)(padded(product) * sizeof(ACC));
                if (alike >> lane == 1)
                    next[place] = (unsigned short)(number + 1);
            }
            __syncwarp();
        }
    }
}

KERNEL spgemm_chunks_runs(long long entries, const int *__restrict__ starts, const int *__restrict__ chunks_before,
                          const int *__restrict__ chunk_starts, const int *__restrict__ chunk_entries,
                          unsigned int *__restrict__ runs)
{
    for (long long e = thread_index(); e < entries; e += thread_count()) {
        int chunk = chunks_before[e + 1] - 1;
        Stream stream = stream_of(chunk, chunk_starts);
        if (stream.count > MAX_PRODUCTS)
            continue;
        long long begin = stream.first + starts[e] - chunk_starts[chunk];
        long long end = stream.first + starts[e + 1] - chunk_starts[chunk];
        atomicOr(&runs[(end - 1) / EACH], ENDS << (end - 1) % EACH);
        for (long long run = (begin + EACH - 1) / EACH; run * EACH < end; run++)
            atomicOr(&runs[run], (unsigned int)(e - chunk_entries[chunk]));
    }
}

KERNEL spgemm_chunks_heads(long long count, const int *__restrict__ chunk_entries, const int *__restrict__ chunk_starts,
                           const long long *__restrict__ chunk_places, const Group *__restrict__ groups,
                           Chunk *__restrict__ heads)
{
    for (long long c = thread_index(); c < count; c += thread_count()) {
        Stream stream = stream_of(c, chunk_starts);
        int first_group = (int)(stream.first / WARP);
        Group last = groups[first_group + (stream.count - 1) / WARP];
        int first_source = groups[first_group].segment;
        int sources = last.segment + __popc(last.bits) + 1 - first_source;
        int entries = chunk_entries[c + 1] - chunk_entries[c];
        heads[c] = {chunk_places[c], first_group, first_source, stream.count, entries, sources, 0};
    }
}

// The segment of this lane's product.
static __device__ Source source_of(Group group, const Source *__restrict__ sources)
{
    return sources[group.segment + __popc(group.bits & (ALL_LANES >> (WARP - 1 - lane_index())))];
}

// The sum of the `count` products of a stream, added by threads, then over these. `of_warps` has an element for each warp.
static __device__ ACC sum_stream(ACC *of_warps, int count, const Group *__restrict__ groups,
                                 const Source *__restrict__ sources, const T *__restrict__ a_values,
                                 const T *__restrict__ b_values)
{
    ACC sum = ACC(0);
    for (int product = threadIdx.x; product < count; product += BLOCK) {
        Source source = source_of(groups[product / WARP], sources);
        sum += mul(load(a_values, source.a_entry), load(b_values, source.b_shift + (unsigned int)product));
    }
    sum = sum_lanes(sum);
    if (lane_index() == 0)
        of_warps[threadIdx.x / WARP] = sum;
    __syncthreads();
    for (int warp = 1; warp < BLOCK / WARP; warp++)
        sum += of_warps[warp];
    __syncthreads();
    return sum;
}

// The groups of a chunk, and its sources if they fit, in shared memory.
struct StagedSources
{
    Group *groups;
    Source *sources;
};

// Copies the groups and sources of a chunk to `memory`, so that products wait for one load alone.
static __device__ StagedSources stage_sources(ACC *memory, const Chunk &chunk, const Group *__restrict__ groups,
                                              const Source *__restrict__ sources)
{
    StagedSources staged = {(Group *)memory, (Source *)memory + MAX_PRODUCTS / WARP};
    for (int group = threadIdx.x; group * WARP < chunk.products; group += BLOCK)
        staged.groups[group] = load_once(groups + group);
    if (chunk.sources <= MAX_SOURCES)
#pragma unroll 2
        for (int s = threadIdx.x; s < chunk.sources; s += BLOCK)
            staged.sources[s] = load_once(sources + chunk.first_source + s);
    __syncthreads();
    return staged;
}

// Keeps the products of a chunk in shared memory, each warp AHEAD groups at a time. `sources` are those of all chunks, in
// shared memory or not.
static __device__ void keep_products(ACC *products, int count, const Group *groups, const Source *__restrict__ sources,
                                     const T *__restrict__ a_values, const T *__restrict__ b_values)
{
    int at = threadIdx.x;
    groups += at / WARP;
    products += padded(at);
#pragma unroll 1
    for (int begin = at - lane_index(); begin < count; begin += AHEAD * BLOCK) {
        ACC product[AHEAD];
#pragma unroll
        for (int ahead = 0; ahead < AHEAD; ahead++) {
            product[ahead] = ACC(0);
            if (at + ahead * BLOCK < count) {
                Source source = source_of(groups[ahead * (BLOCK / WARP)], sources);
                unsigned int b_entry = source.b_shift + (unsigned int)(at + ahead * BLOCK);
                product[ahead] = mul(load(a_values, source.a_entry), load(b_values, b_entry));
            }
        }
#pragma unroll
        for (int ahead = 0; ahead < AHEAD; ahead++)
            products[ahead * padded(BLOCK)] = product[ahead];
        at += AHEAD * BLOCK;
        groups += AHEAD * (BLOCK / WARP);
        products += AHEAD * padded(BLOCK);
    }
}

KERNEL spgemm_chunks_sum(long long count, const Chunk *__restrict__ heads,
                         const unsigned short *__restrict__ positions, const unsigned int *__restrict__ runs,
                         const Group *__restrict__ groups, const Source *__restrict__ sources,
                         const T *__restrict__ a_values, const T *__restrict__ b_values, T *__restrict__ c_values)
{
    __shared__ ACC products[MAX_PRODUCTS + MAX_PRODUCTS / WARP];
    // Before, groups and sources.
    __shared__ __align__(16) ACC sums[MAX_PRODUCTS + MAX_PRODUCTS / WARP];
    __shared__ ACC of_warps[BLOCK / WARP];
    __shared__ int entries[BLOCK / WARP];
    end_after_last();
    for (long long c = blockIdx.x; c < count; c += gridDim.x) {
        Chunk chunk = heads[c];
        const Group *own_groups = groups + chunk.first_group;
        if (chunk.products > MAX_PRODUCTS) {
            ACC sum = sum_stream(of_warps, chunk.products, own_groups, sources, a_values, b_values);
            if (threadIdx.x == 0)
                store(c_values, chunk.place, sum);
            continue;
        }
        long long first = (long long)chunk.first_group * (WARP / EACH) + threadIdx.x;
        bool is_there = (int)threadIdx.x * EACH < chunk.products;
        Positions own[EACH / 2 / WORDS];
        unsigned int run = 0;
        if (is_there) {
#pragma unroll
            for (int k = 0; k < EACH / 2 / WORDS; k++)
                own[k] = load_once((const Positions *)positions + first * (EACH / 2 / WORDS) + k);
            run = runs[first];
        }
        StagedSources staged = stage_sources(sums, chunk, own_groups, sources);
        if (chunk.sources <= MAX_SOURCES)
            keep_products(products, chunk.products, staged.groups, staged.sources - chunk.first_source, a_values,
                          b_values);
        else
            keep_products(products, chunk.products, staged.groups, sources, a_values, b_values);
        __syncthreads();
        ACC rest = is_there ? add_run(sums, products, run, own) : ACC(0);
        add_rests(sums, of_warps, entries, run, rest);
        __syncthreads();
#pragma unroll 4
        for (int at = threadIdx.x; at < chunk.entries; at += BLOCK)
            store(c_values, chunk.place + at, sums[padded(at)]);
        __syncthreads();
    }
}
