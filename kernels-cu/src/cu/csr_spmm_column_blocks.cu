// csr_spmm_column_blocks: C <- alpha A B + beta C for compressed rows by blocks of columns, whose rows of B are in
// shared memory, which has more bandwidth than the caches. B and C are dense: element (i, j) is at start + i*row_step +
// j*col_step.
// A block of threads has one block of columns and one slice of COLUMNS columns of B, 256 bytes a row, and works on the
// rows of A together with others; its warps take the next row when they are done. A second kernel adds the blocks' sums
// of a row, in order. Reads B once per block of threads, A once per slice, writes and reads one sum per row, block and
// column.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), PACK_LANES = 4 (lanes per entry), PACKS = 4 (16 bytes of B per lane
// and entry), MAX_THREADS = 1024 (the largest block).   Launch: as many blocks, of up to MAX_THREADS threads, for
// each block of columns and slice of B, with dynamic shared memory.
// The plan splits the rows (csr_spmv_column_blocks.cu). Columns ascend in each row.
// Hong, Sukumaran-Rajam, Nisa, Singh, Sadayappan: Adaptive sparse tiling for sparse matrix multiplication. PPoPP
// (2019): stores rows of B in shared memory for the dense columns of a panel of rows.
#ifndef MAX_THREADS
#define MAX_THREADS 1024
#endif
#define WIDE 1
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "pack.cuh"
// PACK_LANES lanes take an entry, PACKS times 16 bytes of B each. Groups of lanes beside each other take the packs of
// each pair in opposite order, so that eight lanes, whose 16 bytes are read at once, never want the same bank.
#ifndef PACKS
#define PACKS 4
#endif
#ifndef PACK_LANES
#define PACK_LANES 4
#endif
#define PACKS_OF_ROW (PACKS * PACK_LANES)
#define COLUMNS (PACKS_OF_ROW * VECTOR)
#define TOGETHER (WARP / PACK_LANES)

struct __align__(16) Sums
{
    ACC part[VECTOR];
};

// An entry: its row among the rows of B in shared memory, -1 past the end of a row of A.
struct Entry
{
    int row;
    ACC value;
};

// Copies rows of B, whose elements from the thread's pack on begin at `b`, into shared memory; columns from `left` on
// are zeros.
static __device__ void copy_rows(Pack *own_b, int rows, const T *__restrict__ b, long long b_row, long long b_col,
                                 long long left, bool in_words)
{
    int own = threadIdx.x % PACKS_OF_ROW;
    int first = threadIdx.x / PACKS_OF_ROW;
    int step = blockDim.x / PACKS_OF_ROW;
    if (in_words && left >= VECTOR) {
#pragma unroll 4
        for (int row = first; row < rows; row += step)
            own_b[row * PACKS_OF_ROW + own] = load_pack(b, row * b_row, VECTOR);
        return;
    }
    for (int row = first; row < rows; row += step)
#pragma unroll
        for (int m = 0; m < VECTOR; m++)
            own_b[row * PACKS_OF_ROW + own].part[m] = m < left ? b[row * b_row + m * b_col] : T(0);
}

static __device__ Entry entry_at(const Idx *indices, const T *values, int at, int length, Idx first_row)
{
    Entry found = {-1, ACC(0)};
    if (at < length) {
        found.row = (int)(indices[at] - first_row);
        found.value = entry(values, at);
    }
    return found;
}

// Adds the entries of TOGETHER neighbouring lanes from lane `first` on to the sums.
static __device__ void add_entries(Sums *sums, Entry lane_entry, int first, const Pack *own_b)
{
    int group = lane_index() / PACK_LANES;
    int row = shuffle(lane_entry.row, first + group);
    ACC value = shuffle(lane_entry.value, first + group);
    if (row < 0)
        return;
    const Pack *from = own_b + row * PACKS_OF_ROW + lane_index() % PACK_LANES;
    Pack loaded[PACKS];
#pragma unroll
    for (int p = 0; p < PACKS; p++)
        loaded[p] = from[(p ^ group % 2) * PACK_LANES];
#pragma unroll
    for (int p = 0; p < PACKS; p++)
#pragma unroll
        for (int m = 0; m < VECTOR; m++)
            sums[p].part[m] += mul(value, to_acc(loaded[p].part[m]));
}

// The sums of what the groups of lanes have: lane l, and lane l + 16 too, gets those of the l-th pack of the row.
static __device__ Sums sum_groups(const Sums *own)
{
    bool is_upper = lane_index() & 2 * PACK_LANES;
    Sums sum;
#pragma unroll
    for (int m = 0; m < VECTOR; m++) {
        ACC lower = own[0].part[m] + shuffle_xor(own[1].part[m], PACK_LANES);
        ACC upper = own[2].part[m] + shuffle_xor(own[3].part[m], PACK_LANES);
        ACC half = (is_upper ? upper : lower) + shuffle_xor(is_upper ? lower : upper, 2 * PACK_LANES);
        sum.part[m] = half + shuffle_xor(half, 4 * PACK_LANES);
    }
    return sum;
}

// sums[(block * rows + row) * COLUMNS * slices + col] <- the products of the row's entries in the block of columns.
KERNEL csr_spmm_column_blocks(long long rows, long long cols, long long b_rows, long long blocks, long long width,
                              const Off *__restrict__ splits, const Idx *__restrict__ indices,
                              const T *__restrict__ values, const T *__restrict__ b, long long b_start,
                              long long b_row, long long b_col, ACC *__restrict__ sums)
{
    extern __shared__ ulonglong2 memory[];
    __shared__ int taken;
    Pack *own_b = (Pack *)memory;
    long long slices = (cols + COLUMNS - 1) / COLUMNS;
    long long block = blockIdx.x % blocks;
    long long slice = blockIdx.x / blocks % slices;
    long long part = blockIdx.x / (blocks * slices);
    long long parts = gridDim.x / (blocks * slices);
    long long first_row = block * width;
    long long own_col = slice * COLUMNS + threadIdx.x % PACKS_OF_ROW * VECTOR;
    bool in_words = b_col == 1 && b_row % VECTOR == 0 && b_start % VECTOR == 0;
    copy_rows(own_b, (int)min(width, b_rows - first_row), b + b_start + first_row * b_row + own_col * b_col, b_row,
              b_col, cols - own_col, in_words);
    if (threadIdx.x == 0)
        taken = 0;
    __syncthreads();

    int lane = lane_index();
    const Off *begins = splits + block * rows;
    while (true) {
        int turn = shuffle(lane == 0 ? atomicAdd(&taken, 1) : 0, 0);
        long long row = part + turn * parts;
        if (row >= rows)
            break;
        Off begin = begins[row];
        int length = (int)(begins[rows + row] - begin);
        Sums own[PACKS];
#pragma unroll
        for (int p = 0; p < PACKS; p++)
#pragma unroll
            for (int m = 0; m < VECTOR; m++)
                own[p].part[m] = ACC(0);

        Entry next = entry_at(indices + begin, values + begin, lane, length, (Idx)first_row);
        for (int first = 0; first < length; first += WARP) {
            Entry lane_entry = next;
            next = entry_at(indices + begin, values + begin, first + WARP + lane, length, (Idx)first_row);
#pragma unroll
            for (int k = 0; k < WARP; k += TOGETHER)
                if (first + k < length)
                    add_entries(own, lane_entry, k, own_b);
        }

        Sums sum = sum_groups(own);
        Sums *out = (Sums *)(sums + ((block * rows + row) * slices + slice) * COLUMNS);
        if (lane < PACKS_OF_ROW)
            out[lane] = sum;
    }
}

// A thread takes an element of C.
KERNEL csr_spmm_column_blocks_add(long long rows, long long cols, long long blocks, const ACC *__restrict__ sums,
                                  ACC alpha, ACC beta, T *__restrict__ c, long long c_start, long long c_row,
                                  long long c_col)
{
    long long step = (cols + COLUMNS - 1) / COLUMNS * COLUMNS;
    for (long long i = thread_index(); i < rows * cols; i += thread_count()) {
        long long row = i / cols;
        long long col = i % cols;
        ACC sum = ACC(0);
        for (long long block = 0; block < blocks; block++)
            sum += sums[(block * rows + row) * step + col];
        update(c, c_start + row * c_row + col * c_col, mul(alpha, sum), beta);
    }
}
