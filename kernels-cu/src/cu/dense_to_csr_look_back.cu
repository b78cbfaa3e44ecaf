// dense_to_csr_look_back: dense to compressed rows, as in dense_to_csr.cu, in a single pass: the entries before a tile
// are counted by decoupled look-back.
// One block per tile, in turns: its warps except the last two are workers, each with UNITS steps (dense_steps.cuh) of
// the tile, one after the other, across the ends of rows. The last but one takes tiles, the last looks back. Reads the
// elements once, writes the entries once.
// Macros: SCALAR, IDX, OFF, WIDE (1: VECTOR elements are 16 bytes), UNITS = min(32 / VECTOR, 128 / bytes of VECTOR
// elements) (steps of a worker), STAGES = 4 (tiles in flight), LAG = 3 (turns from the count of a tile to its writing),
// MAX_THREADS = 448 (the largest block), MIN_BLOCKS = 1 (blocks per multiprocessor).
// Launch: any number of blocks of 3 to MAX_THREADS / 32 warps, with a `Worker` of dynamic shared memory for each warp
// but two, for ceil(all_rows * ceil(cols / (32*VECTOR)) / (UNITS * workers)) tiles.
// nnz is known only at the end, so the caller allocates by a guess: entries past `capacity` are counted and not
// written.
// Warps meet at no barrier of the block: each waits only for what it needs, so that none is idle while others work. In
// a turn, a worker writes its part of the tile of LAG turns ago, when the entries before that are known; begins to load
// another into its memory; and counts that of this turn, which it began to load a turn before or earlier.
// With WIDE, col_step is 1; start, stride and row_step are multiples of VECTOR.
#ifndef MAX_THREADS
#define MAX_THREADS 448
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "dense_rows.cuh"
#include "pack.cuh"
#include "warp.cuh"
#include "dense_steps.cuh"
#include "look_back_in_groups.cuh"
#define LESSER(a, b) ((a) < (b) ? (a) : (b))
#ifndef UNITS
#define UNITS LESSER(32 / VECTOR, 128 / (int)sizeof(Pack))
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef LAG
#define LAG 3
#endif
// Tiles that are taken before the first of them is counted: one more than a worker needs by then.
#define AHEAD (STAGES - LAG + 2)
// Tiles of which a block knows where they begin: those that are taken, and those that are not written yet.
#define RING (2 * STAGES)
static_assert(LAG >= 2 && LAG < STAGES, "a tile is loaded before it is counted, and another one before it is written");
static_assert(AHEAD <= STAGES, "the tile that a barrier counts next is taken after its last one was counted");
static_assert(RING >= AHEAD + LAG, "a tile is forgotten after it was written");
#include "barrier.cuh"
#include "dense_parts.cuh"
#define MAX_WORKERS (MAX_THREADS / WARP - 2)
// In a word of shared memory, the counts of the workers that are done are the bits below the number of those workers.
#define DONE_SHIFT 24

// Where the result is written: the entries before each row as offsets if all rows are of one member, else as starts.
struct Result
{
    long long *starts;
    Off *offsets;
    Idx *indices;
    T *values;
    long long capacity;
    bool is_one;

    __device__ void start_row(long long row, long long entries) const
    {
        if (is_one)
            offsets[row] = (Off)entries;
        else
            starts[row] = entries;
    }
};

// Writes `count` entries of a part in one row, from column `first` on: BATCH loads of a lane are in flight.
static __device__ void write_in_row(const T *elements, const unsigned short *positions, int count, Idx first,
                                    Idx *indices, T *values)
{
    const int BATCH = 4;
    auto element = [&](int position) { return elements[position ^ (position / OWN & (UNITS - 1)) * VECTOR]; };
    int k = lane_index();
    for (; k + (BATCH - 1) * WARP < count; k += BATCH * WARP) {
        int position[BATCH];
        T value[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            position[i] = positions[k + i * WARP];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            value[i] = element(position[i]);
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            indices[k + i * WARP] = first + position[i];
            values[k + i * WARP] = value[i];
        }
    }
    for (; k < count; k += WARP) {
        indices[k] = first + positions[k];
        values[k] = element(positions[k]);
    }
}

// Writes the entries of a part, and where the rows that begin in it start; `to` entries are before it.
static __device__ void write_part(const Dense &a, const PartStart &start, const Part &own, const Pack *part,
                                  const unsigned short *positions, long long to, const Result &result)
{
    int lane = lane_index();
    int left = (int)max(min((long long)own.count, result.capacity - to), 0ll);
    Idx *indices = result.indices + to;
    T *values = result.values + to;
    if (start.columns > 0) {
        if (lane == 0 && start.at.step == 0)
            result.start_row(start.at.row, to);
        write_in_row((const T *)part, positions, left, (Idx)(start.at.step * STEP), indices, values);
    } else {
        long long row;
        long long step = step_behind(a, start.at, lane * UNITS / WARP, &row);
        if (lane * UNITS % WARP == 0 && step == 0 && row <= a.all_rows)
            result.start_row(row, to + own.before);
        for (int k = lane; k < left; k += WARP) {
            int position = positions[k];
            indices[k] = (Idx)(step_behind(a, start.at, position / STEP, &row) * STEP + position % STEP);
            values[k] = part[slot_of(position / VECTOR)].part[position % VECTOR];
        }
    }
    __syncwarp();
}

// The pipeline of a block, through which its warps meet: of the turn `t`, tiles at t % RING, counts at t % STAGES.
struct __align__(128) Pipeline
{
    Barrier taken[RING];
    Barrier counted[STAGES];
    Barrier known[STAGES];
    unsigned int tiles[RING];
    PartStart starts[RING][MAX_WORKERS];
    // The workers that are done, and the sum of their counts: DONE_SHIFT.
    unsigned int done[STAGES];
    int counts[STAGES][MAX_WORKERS];
    Count entries_before[STAGES][MAX_WORKERS];
};

static_assert(sizeof(Pipeline) <= 6 << 10, "the caller leaves 6 KiB for it");
static_assert(sizeof(Worker) == WARP * OWN * (STAGES * sizeof(T) + sizeof(unsigned short)),
              "the caller counts the workers that fit by their size");

// One thread calls it.
static __device__ void init_pipeline(Pipeline *pipeline, int workers)
{
    for (int k = 0; k < RING; k++)
        begin_barrier(&pipeline->taken[k], 1);
    for (int k = 0; k < STAGES; k++) {
        begin_barrier(&pipeline->counted[k], workers);
        begin_barrier(&pipeline->known[k], 1);
        pipeline->done[k] = 0;
    }
}

// The tile of a turn, when it is taken.
static __device__ unsigned int tile_of(unsigned int turn, Pipeline *pipeline)
{
    wait_for_phase(&pipeline->taken[turn % RING], turn / RING);
    return pipeline->tiles[turn % RING];
}

// The last warp but one takes tiles, up to the first that is past the last.
static __device__ void take_tiles(const Dense &a, int workers, unsigned int tiles, Pipeline *pipeline,
                                  const States &states)
{
    int lane = lane_index();
    unsigned int tile = 0;
    for (unsigned int turn = 0; tile < tiles; turn++) {
        if (turn >= AHEAD)
            wait_for_phase(&pipeline->counted[(turn - AHEAD) % STAGES], (turn - AHEAD) / STAGES);
        tile = shuffle(lane == 0 ? take_tile(states) : 0, 0);
        if (lane < workers)
            pipeline->starts[turn % RING][lane] = part_start_at(a, ((long long)tile * workers + lane) * UNITS);
        if (lane == 0)
            pipeline->tiles[turn % RING] = tile;
        arrive(&pipeline->taken[turn % RING]);
    }
}

// The last warp finds the entries before each worker's part of a tile, and in the end those of all tiles. It looks at
// the tiles before when the block has counted another one: until then some of them are not counted, and it would poll.
static __device__ void find_before(int workers, unsigned int tiles, Pipeline *pipeline, const States &states,
                                   long long all_rows, const Result &result)
{
    int lane = lane_index();
    for (unsigned int turn = 0;; turn++) {
        int stage = turn % STAGES;
        unsigned int tile = tile_of(turn, pipeline);
        if (tile >= tiles)
            return;
        wait_for_phase(&pipeline->counted[stage], turn / STAGES);
        int count = lane < workers ? pipeline->counts[stage][lane] : 0;
        int sum = scan_lanes(count);
        int own = shuffle(sum, WARP - 1);
        if (tile_of(turn + 1, pipeline) < tiles)
            wait_for_phase(&pipeline->counted[(turn + 1) % STAGES], (turn + 1) / STAGES);
        Count before = look_back(tile, own, states);
        if (lane < workers)
            pipeline->entries_before[stage][lane] = before + sum - count;
        if (lane == 0 && tile == tiles - 1) {
            result.starts[all_rows] = before + own;
            if (result.is_one)
                result.offsets[all_rows] = (Off)(before + own);
        }
        arrive(&pipeline->known[stage]);
    }
}

// Publishes the count of a worker, and the last worker of a tile the sum of the tile. One thread calls it.
static __device__ void publish_count(const Part &own, int worker, int workers, int stage, Pipeline *pipeline,
                                  const States &states)
{
    pipeline->counts[stage][worker] = own.count;
    unsigned int increment = 1u << DONE_SHIFT | own.count;
    unsigned int all = atomicAdd(&pipeline->done[stage], increment) + increment;
    if (all >> DONE_SHIFT == workers) {
        pipeline->done[stage] = 0;
        publish_own(own.tile, all & ((1u << DONE_SHIFT) - 1), states);
    }
}

// A worker's turns, up to that in which it has written its part of the last tile.
static __device__ void work(const Dense &a, int threshold, REAL tolerance, int worker, int workers, unsigned int tiles,
                            Worker *own, Pipeline *pipeline, const States &states, const Result &result)
{
    bool more = true;
    auto begin = [&](unsigned int turn) {
        more = more && tile_of(turn, pipeline) < tiles;
        if (more)
            begin_part(a, pipeline->starts[turn % RING][worker], own->parts[turn % STAGES]);
        end_batch();
    };
    for (unsigned int turn = 0; turn < STAGES - LAG; turn++)
        begin(turn);
    Part counted = Part(), behind[LAG];
    for (unsigned int turn = 0;; turn++) {
        if (turn >= LAG) {
            const Part &written = behind[0];
            if (written.tile >= tiles)
                return;
            unsigned int of = turn - LAG;
            int stage = of % STAGES;
            write_positions(written, own->positions);
            wait_for_phase(&pipeline->known[stage], of / STAGES);
            write_part(a, pipeline->starts[of % RING][worker], written, own->parts[stage], own->positions,
                       pipeline->entries_before[stage][worker], result);
        }
        begin(turn - LAG + STAGES);
        // No tile is taken behind the first that is past the last.
        counted = Part{counted.tile < tiles ? pipeline->tiles[turn % RING] : tiles, 0, 0, 0};
        if (counted.tile < tiles) {
            wait_for_batches();
            count_part(a, pipeline->starts[turn % RING][worker], &counted, own->parts[turn % STAGES], threshold,
                       tolerance);
            if (lane_index() == 0)
                publish_count(counted, worker, workers, turn % STAGES, pipeline, states);
            arrive(&pipeline->counted[turn % STAGES]);
        }
#pragma unroll
        for (int k = 0; k + 1 < LAG; k++)
            behind[k] = behind[k + 1];
        behind[LAG - 1] = counted;
    }
}

// The entries before row `row`, and in starts[all_rows] their number at the end. rows, cols > 0. For the groups:
// look_back_in_groups.cuh.
KERNEL dense_to_csr_look_back(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                              long long start, long long stride, long long row_step, long long col_step, int threshold,
                              REAL tolerance, long long *__restrict__ starts, Off *__restrict__ offsets,
                              Idx *__restrict__ indices, T *__restrict__ values, long long capacity, Group *groups)
{
    extern __shared__ Worker of_workers[];
    __shared__ Pipeline pipeline;
    int workers = blockDim.x / WARP - 2;
    int warp = threadIdx.x / WARP;
    long long steps = (cols + STEP - 1) / STEP;
    Dense dense = {a, all_rows, rows, cols, steps, start, stride, row_step, WIDE ? 1 : col_step};
    Result result = {starts, offsets, indices, values, capacity, all_rows == rows};
    unsigned int tiles = (unsigned int)((all_rows * steps + UNITS * workers - 1) / (UNITS * workers));
    States states = states_of(groups, tiles);
    if (threadIdx.x == 0)
        init_pipeline(&pipeline, workers);
    __syncthreads();
    if (warp < workers)
        work(dense, threshold, tolerance, warp, workers, tiles, &of_workers[warp], &pipeline, states, result);
    else if (warp == workers)
        take_tiles(dense, workers, tiles, &pipeline, states);
    else
        find_before(workers, tiles, &pipeline, states, all_rows, result);
}
