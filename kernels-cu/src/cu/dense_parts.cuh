// The parts of tiles that the warps of dense_to_csr_look_back.cu load and count: UNITS steps of rows, one after the
// other, across the ends of rows. STAGES parts of a worker are in shared memory; those of the last STAGES - LAG turns
// are on their way to it. Needs barrier.cuh, dense_steps.cuh and warp.cuh before.
// Elements of a lane: one after the other, all in one step.
#define OWN (UNITS * VECTOR)
#define PART (UNITS * WARP)
#define ELEMENTS (PART * VECTOR)

// A worker's shared memory: its parts of the tiles in flight, and the positions of the entries in the part that is
// written.
struct __align__(128) Worker
{
    Pack parts[STAGES][PART];
    unsigned short positions[WARP * OWN];
};

// The rows of all members.
struct Dense
{
    const T *a;
    long long all_rows, rows, cols, steps;
    long long start, stride, row_step, col_step;
};

// A step of a row: the row among all, the row in its member, the row's first element, and the step in the row.
struct RowStep
{
    long long row, member_row, start, step;
};

// The start of a worker's part of a tile: its first step, its first element, and its columns, 0 if it is in several
// rows.
struct __align__(16) PartStart
{
    RowStep at;
    long long first;
    int columns;
};

// A worker's part of a tile. There is none if `tile` is past the last.
struct Part
{
    unsigned int tile;
    // The lane's elements that are entries, as bits.
    unsigned int entry_bits;
    // Entries of the part before the lane's, and in all of it.
    int before;
    int count;
};

static __device__ RowStep row_step_at(const Dense &a, long long step)
{
    long long row = step / a.steps;
    long long member = row / a.rows;
    long long member_row = row - member * a.rows;
    return RowStep{row, member_row, a.start + member * a.stride + member_row * a.row_step, step - row * a.steps};
}

static __device__ RowStep next_row_step(const Dense &a, RowStep at)
{
    if (++at.step < a.steps)
        return at;
    bool same_member = ++at.member_row < a.rows;
    at.start += same_member ? a.row_step : a.stride - (a.rows - 1) * a.row_step;
    return RowStep{at.row + 1, same_member ? at.member_row : 0, at.start, 0};
}

// The number of columns, at most `most`, from the first of a step on, `past` columns after it.
static __device__ int columns_of(const Dense &a, long long row, long long step, int past, int most)
{
    long long left = row < a.all_rows ? a.cols - step * STEP - past : 0;
    return (int)min(max(left, 0ll), (long long)most);
}

// The start of the part that begins with `step`, counted over all rows.
static __device__ PartStart part_start_at(const Dense &a, long long step)
{
    RowStep at = row_step_at(a, step);
    long long col = at.step * STEP;
    bool is_in_row = at.row < a.all_rows && at.step + UNITS <= a.steps;
    int columns = is_in_row ? (int)min(a.cols - col, (long long)ELEMENTS) : 0;
    return PartStart{at, at.start + col * a.col_step, columns};
}

// The position of a pack of a part: each lane finds its n-th pack in banks of its own.
static __device__ int slot_of(int pack)
{
    return pack ^ (pack / UNITS & (UNITS - 1));
}

// Begins to bring the first `count` elements of a pack into shared memory, and zeros for the others.
static __device__ void begin_pack(Pack *to, const T *from, int count)
{
#if __CUDA_ARCH__ >= 800
    unsigned int shared = shared_address(to);
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

// Waits for all batches but those of turns to come, in the whole warp.
static __device__ void wait_for_batches()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" : : "n"(STAGES - LAG) : "memory");
#endif
    __syncwarp();
}

// Begins to bring a part in one row into shared memory, all of it or its `columns`.
template <bool ALL> static __device__ void begin_in_row(const Dense &a, long long first, int columns, Pack *to)
{
    int lane = lane_index();
    const T *from = a.a + first + lane * VECTOR * a.col_step;
    int left = columns - lane * VECTOR, slot = slot_of(lane);
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
        int count = ALL ? VECTOR : min(max(left - u * STEP, 0), VECTOR);
        begin_pack(to + u * WARP + (slot ^ (u * (WARP / UNITS) & (UNITS - 1))),
                   count ? from + u * STEP * a.col_step : a.a, count);
    }
}

// Begins to bring a part into shared memory.
static __device__ void begin_part(const Dense &a, const PartStart &start, Pack *to)
{
    if (start.columns == ELEMENTS)
        return begin_in_row<true>(a, start.first, ELEMENTS, to);
    if (start.columns > 0)
        return begin_in_row<false>(a, start.first, start.columns, to);
    int lane = lane_index();
    RowStep at = start.at;
#pragma unroll 1
    for (int u = 0; u < UNITS; u++) {
        int count = columns_of(a, at.row, at.step, lane * VECTOR, VECTOR);
        long long element = at.start + (at.step * STEP + lane * VECTOR) * a.col_step;
        begin_pack(to + slot_of(u * WARP + lane), count ? a.a + element : a.a, count);
        at = next_row_step(a, at);
    }
}

// The lane's elements that are entries, as bits.
template <int THRESHOLD> static __device__ unsigned int find_entry_bits(const Pack *part, REAL tolerance)
{
    int lane = lane_index();
    part += lane * UNITS;
    unsigned int bits = 0;
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
        Pack pack = part[u ^ (lane & (UNITS - 1))];
#pragma unroll
        for (int m = 0; m < VECTOR; m++)
            if (keeps(pack.part[m], THRESHOLD, tolerance))
                bits |= 1u << (u * VECTOR + m);
    }
    return bits;
}

// The step that is `by` steps behind the first of a part, and in `row` how many rows behind.
static __device__ long long step_behind(const Dense &a, const RowStep &at, int by, long long *row)
{
    long long step = at.step + by;
    long long ends = a.steps < UNITS ? (unsigned int)step / (unsigned int)a.steps : step >= a.steps;
    *row = at.row + ends;
    return step - ends * a.steps;
}

// Counts the entries of a part.
static __device__ void count_part(const Dense &a, const PartStart &start, Part *own, const Pack *part, int threshold,
                                  REAL tolerance)
{
    int lane = lane_index();
    own->entry_bits = threshold ? find_entry_bits<1>(part, tolerance) : find_entry_bits<0>(part, tolerance);
    if (start.columns < ELEMENTS) {
        int columns = min(max(start.columns - lane * OWN, 0), OWN);
        if (start.columns == 0) {
            long long row;
            long long step = step_behind(a, start.at, lane * UNITS / WARP, &row);
            columns = columns_of(a, row, step, lane * UNITS % WARP * VECTOR, OWN);
        }
        own->entry_bits &= (unsigned int)((1ull << columns) - 1);
    }
    int count = __popc(own->entry_bits);
    int sum = scan_lanes(count);
    own->before = sum - count;
    own->count = shuffle(sum, WARP - 1);
}

// Writes the positions of the entries of a part, side by side.
static __device__ void write_positions(const Part &own, unsigned short *positions)
{
    int to = own.before;
    for (unsigned int bits = own.entry_bits; bits; bits &= bits - 1)
        positions[to++] = (unsigned short)(lane_index() * OWN + __ffs(bits) - 1);
    __syncwarp();
}
