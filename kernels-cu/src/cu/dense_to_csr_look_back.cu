// dense_to_csr_look_back: dense to compressed rows, as in dense_to_csr.cu, in a single pass: the entries before a tile
// are counted by decoupled look-back.
// One block per tile, in turns: its warps except the last are workers, each with UNITS steps (dense_steps.cuh) of the
// tile, one after the other, across the ends of rows; the last warp looks back. Reads the elements once, writes the
// entries once.
// Macros: SCALAR, IDX, OFF, WIDE (1: VECTOR elements are 16 bytes), UNITS = min(32 / VECTOR, 128 / bytes of VECTOR
// elements) (steps of a worker), MAX_THREADS = 224 (the largest block), MIN_BLOCKS = 2 (blocks per multiprocessor).
// Launch: any number of blocks of 2 to 7 warps, with a `Worker` of dynamic shared memory for each warp but one, for
// ceil(all_rows * ceil(cols / (32*VECTOR)) / (UNITS * workers)) tiles.
// nnz is known only at the end, so the caller allocates by a guess: entries past `capacity` are counted and not
// written.
// A block has four tiles in flight, so that no warp waits long: in a turn, the first is loaded from memory, the entries
// of the second are counted, the third rests, since the tiles before may not be counted yet, and the entries before the
// fourth are looked up, and its own written.
// With WIDE, col_step is 1; start, stride and row_step are multiples of VECTOR.
#ifndef MAX_THREADS
#define MAX_THREADS 224
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 2
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
#define STAGES 4
#define MAX_WORKERS (MAX_THREADS / WARP - 1)
// Elements of a lane: one after the other, all in one step.
#define OWN (UNITS * VECTOR)
#define PART (UNITS * WARP)
// In a word of shared memory, the counts of the workers that are done are the bits below the number of those workers.
#define DONE_SHIFT 24

// A worker's shared memory: its parts of four tiles, and the positions of the entries in the one that is written.
struct Worker
{
    Pack parts[STAGES][PART];
    unsigned short places[WARP * OWN];
};

// The rows of all members.
struct Dense
{
    const T *a;
    long long all_rows, rows, cols, steps;
    long long start, stride, row_step, col_step;
};

// A step of a row: which row, of all and of its member, where that begins, and which of its steps.
struct Place
{
    long long row, of_member, start, step;
};

// The part of a tile that a worker has: where it begins, which of the lane's elements are entries, and how many entries
// stand before those in the part, and in all of it. There is none if `tile` is past the last.
struct Part
{
    unsigned int tile;
    Place place;
    unsigned int kept;
    int before;
    int count;
};

static __device__ Place place_of(const Dense &a, long long step)
{
    long long row = step / a.steps;
    long long member = row / a.rows;
    long long of_member = row - member * a.rows;
    return Place{row, of_member, a.start + member * a.stride + of_member * a.row_step, step - row * a.steps};
}

static __device__ Place next_place(const Dense &a, Place place)
{
    if (++place.step < a.steps)
        return place;
    bool same_member = ++place.of_member < a.rows;
    place.start += same_member ? a.row_step : a.stride - (a.rows - 1) * a.row_step;
    return Place{place.row + 1, same_member ? place.of_member : 0, place.start, 0};
}

// The number of columns, at most `most`, from the first of a step on, `past` columns after it.
static __device__ int columns_of(const Dense &a, long long row, long long step, int past, int most)
{
    long long left = row < a.all_rows ? a.cols - step * STEP - past : 0;
    return (int)min(max(left, 0ll), (long long)most);
}

// True if a part is in one row and has all columns.
static __device__ bool is_whole(const Dense &a, Place place)
{
    return place.row < a.all_rows && (place.step + UNITS) * STEP <= a.cols;
}

// The position of a pack of a part: each lane finds its n-th pack in banks of its own.
static __device__ int slot_of(int pack)
{
    return (pack & ~(UNITS - 1)) | ((pack ^ pack / UNITS) & (UNITS - 1));
}

// Begins to bring the first `count` elements of a pack into shared memory, and zeros for the others.
static __device__ void begin_pack(Pack *to, const T *from, int count)
{
#if __CUDA_ARCH__ >= 800
    unsigned int shared = (unsigned int)__cvta_generic_to_shared(to);
    int bytes = count * (int)sizeof(T);
    if (sizeof(Pack) == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(shared), "l"(from), "r"(bytes) : "memory");
    else if (sizeof(Pack) >= 4)
        asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;"
                     :
                     : "r"(shared), "l"(from), "r"(bytes), "n"(sizeof(Pack) < 4 ? 4 : (int)sizeof(Pack))
                     : "memory");
    else
#endif
        *to = load_pack(from, 0, count);
}

// Ends what was begun since the last time.
static __device__ void end_batch()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}

// Waits for all batches but the last, in the whole warp.
static __device__ void wait_for_batches()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 1;" : : : "memory");
#endif
    __syncwarp();
}

// Begins to bring a part into shared memory.
static __device__ void begin_part(const Dense &a, Place place, Pack *to)
{
    int lane = lane_index();
    if (is_whole(a, place)) {
        const T *from = a.a + place.start + (place.step * STEP + lane * VECTOR) * a.col_step;
#pragma unroll
        for (int u = 0; u < UNITS; u++)
            begin_pack(to + slot_of(u * WARP + lane), from + u * STEP * a.col_step, VECTOR);
        return;
    }
#pragma unroll 1
    for (int u = 0; u < UNITS; u++) {
        int count = columns_of(a, place.row, place.step, lane * VECTOR, VECTOR);
        long long at = place.start + (place.step * STEP + lane * VECTOR) * a.col_step;
        begin_pack(to + slot_of(u * WARP + lane), count ? a.a + at : a.a, count);
        place = next_place(a, place);
    }
}

// The lane's elements that are entries, as bits.
template <int THRESHOLD> static __device__ unsigned int kept_in(const Pack *part, REAL tolerance)
{
    int lane = lane_index();
    unsigned int kept = 0;
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
        Pack pack = part[slot_of(lane * UNITS + u)];
#pragma unroll
        for (int m = 0; m < VECTOR; m++)
            if (keeps(pack.part[m], THRESHOLD, tolerance))
                kept |= 1u << (u * VECTOR + m);
    }
    return kept;
}

// The step that is `by` steps behind the first of a part, and in `row` how many rows behind.
static __device__ long long step_behind(const Dense &a, Place place, int by, long long *row)
{
    long long step = place.step + by;
    long long ends = a.steps < UNITS ? (unsigned int)step / (unsigned int)a.steps : step >= a.steps;
    *row = place.row + ends;
    return step - ends * a.steps;
}

// Counts the entries of a part.
static __device__ void count_part(const Dense &a, Part *own, const Pack *part, int threshold, REAL tolerance)
{
    int lane = lane_index();
    own->kept = threshold ? kept_in<1>(part, tolerance) : kept_in<0>(part, tolerance);
    if (!is_whole(a, own->place)) {
        long long row;
        long long step = step_behind(a, own->place, lane * UNITS / WARP, &row);
        int columns = columns_of(a, row, step, lane * UNITS % WARP * VECTOR, OWN);
        own->kept &= (unsigned int)((1ull << columns) - 1);
    }
    int count = __popc(own->kept);
    int sum = scan_lanes(count);
    own->before = sum - count;
    own->count = shuffle(sum, WARP - 1);
}

// Writes the positions of the entries of a part, side by side.
static __device__ void note_places(const Part &own, unsigned short *places)
{
    int to = own.before;
    for (unsigned int kept = own.kept; kept; kept &= kept - 1)
        places[to++] = (unsigned short)(lane_index() * OWN + __ffs(kept) - 1);
    __syncwarp();
}

// Writes the entries of a part, and where the rows that begin in it start.
static __device__ void write_part(const Dense &a, const Part &own, const Pack *part, const unsigned short *places,
                                  long long to, long long capacity, long long *starts, Idx *indices, T *values)
{
    int lane = lane_index();
    bool whole = is_whole(a, own.place);
    long long row;
    long long step = step_behind(a, own.place, lane * UNITS / WARP, &row);
    if (lane * UNITS % WARP == 0 && step == 0 && row <= a.all_rows)
        starts[row] = to + own.before;
    int left = (int)max(min((long long)own.count, capacity - to), 0ll);
    indices += to;
    values += to;
    for (int k = lane; k < left; k += WARP) {
        int place = places[k];
        if (whole)
            indices[k] = (Idx)(own.place.step * STEP) + place;
        else
            indices[k] = (Idx)(step_behind(a, own.place, place / STEP, &row) * STEP + place % STEP);
        values[k] = part[slot_of(place / VECTOR)].part[place % VECTOR];
    }
    __syncwarp();
}

// Messages between the warps of a block, in this turn and in the last.
struct Board
{
    unsigned int tickets[2];
    unsigned int done[2];
    int of_workers[2][MAX_WORKERS];
    Count before_workers[2][MAX_WORKERS];
};

// Tells what a worker has counted; who is last says the sum of the tile.
static __device__ void tell_count(const Part &own, int worker, int workers, int turn, Board *board,
                                  const States &states)
{
    board->of_workers[turn][worker] = own.count;
    unsigned int told = 1u << DONE_SHIFT | own.count;
    unsigned int all = atomicAdd(&board->done[turn], told) + told;
    if (all >> DONE_SHIFT < workers)
        return;
    board->done[turn] = 0;
    say_own(own.tile, all & ((1u << DONE_SHIFT) - 1), states);
}

// The part of the last warp: takes another tile, and looks up the entries before the parts of a tile, of which `own`
// has the entries before that of the lane's worker in the tile, and all of the tile. `all_entries` <- those of all
// tiles.
static __device__ void find_before(const Part &own, int workers, unsigned int tiles, int turn, Board *board,
                                   const States &states, long long *all_entries)
{
    int lane = lane_index();
    unsigned int ticket = lane == 0 ? take_tile(states) : 0;
    if (own.tile < tiles) {
        Count before = look_back(own.tile, own.count, states);
        if (lane < workers)
            board->before_workers[turn][lane] = before + own.before;
        if (lane == 0 && own.tile == tiles - 1)
            *all_entries = before + own.count;
    }
    if (lane == 0)
        board->tickets[turn] = ticket;
}

// Adds the workers' counts in the form of find_before.
static __device__ void add_counts(Part *own, int workers, const int *of_workers)
{
    int count = lane_index() < workers ? of_workers[lane_index()] : 0;
    int sum = scan_lanes(count);
    own->before = sum - count;
    own->count = shuffle(sum, WARP - 1);
}

// starts[row] <- the entries before row `row`, and their number at the end. rows, cols > 0. For the groups:
// look_back_in_groups.cuh.
KERNEL dense_to_csr_look_back(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                              long long start, long long stride, long long row_step, long long col_step, int threshold,
                              REAL tolerance, long long *__restrict__ starts, Idx *__restrict__ indices,
                              T *__restrict__ values, long long capacity, Group *groups)
{
    extern __shared__ Worker of_workers[];
    __shared__ Board board;
    int workers = blockDim.x / WARP - 1;
    int worker = threadIdx.x / WARP;
    bool works = worker < workers;
    long long steps = (cols + STEP - 1) / STEP;
    Dense dense = {a, all_rows, rows, cols, steps, start, stride, row_step, WIDE ? 1 : col_step};
    unsigned int tiles = (unsigned int)((all_rows * steps + UNITS * workers - 1) / (UNITS * workers));
    States states = states_of(groups, tiles);
    if (threadIdx.x == 0)
        for (int turn = 0; turn < 2; turn++) {
            board.tickets[turn] = take_tile(states);
            board.done[turn] = 0;
        }
    __syncthreads();
    Worker &own = of_workers[works ? worker : 0];
    auto part_of = [&](unsigned int tile) {
        return Part{tile, place_of(dense, ((long long)tile * workers + worker) * UNITS), 0, 0, 0};
    };
    Part coming = part_of(board.tickets[0]), counted = part_of(tiles), resting = counted;
    int stage = 0;
    if (works && coming.tile < tiles)
        begin_part(dense, coming.place, own.parts[stage]);
    end_batch();
    // All have read the first ticket, whose place on the board the first turn writes to.
    __syncthreads();
    for (int turn = 0;; turn ^= 1) {
        Part written = resting;
        resting = counted;
        counted = coming;
        coming = part_of(board.tickets[turn ^ 1]);
        const Pack *of_counted = own.parts[stage];
        stage = (stage + 1) % STAGES;
        if (works) {
            if (coming.tile < tiles)
                begin_part(dense, coming.place, own.parts[stage]);
            end_batch();
            if (written.tile < tiles)
                note_places(written, own.places);
            wait_for_batches();
            if (counted.tile < tiles) {
                count_part(dense, &counted, of_counted, threshold, tolerance);
                if (lane_index() == 0)
                    tell_count(counted, worker, workers, turn, &board, states);
            }
        } else {
            find_before(written, workers, tiles, turn, &board, states, &starts[all_rows]);
        }
        __syncthreads();
        if (!works)
            add_counts(&counted, workers, board.of_workers[turn]);
        else if (written.tile < tiles)
            write_part(dense, written, own.parts[(stage + 1) % STAGES], own.places, board.before_workers[turn][worker],
                       capacity, starts, indices, values);
        if (counted.tile >= tiles && resting.tile >= tiles)
            return;
    }
}
