// csr_spmv_row_blocks: y <- alpha A x + beta y for compressed rows, by row blocks (row_block.cuh): neighbouring rows
// with up to SIZE rows and entries together. One warp per row block: loads all its entries at once, whatever rows they
// are of; their products meet in shared memory, and a row takes 1 to 32 lanes to add its own. A row longer than SIZE is
// summed by the warp. Reads values, indices and offsets once, gathers x, writes y once. Macros: SCALAR, IDX, OFF, CONJ
// (1 conjugates A), EACH = 4 (neighbouring entries per lane), STEPS = 2 (steps of a warp in a row block), SHORT = 32
// (entries up to which a lane adds a row), MIN_BLOCKS = 2, 4 or 5 by the types' sizes (blocks per multiprocessor).
// Launch: any number of blocks of whole warps, up to 256 threads. The parts of a row that spans several blocks write
// partial sums, block b to slots[b]; partial_sums.cu adds them. After Greathouse, Daga: Efficient sparse matrix-vector
// multiplication on GPUs using the CSR storage format. SC (2014).
#ifndef MIN_BLOCKS
#define MIN_BLOCKS (sizeof(ACC) + sizeof(Idx) <= 8 ? 5 : sizeof(ACC) <= 8 ? 4 : 2)
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "neighbours.cuh"
#include "row_steps.cuh"
#include "row_block.cuh"
#ifndef STEPS
#define STEPS 2
#endif
#ifndef SHORT
#define SHORT 32
#endif
// Entries of all steps of a warp. A row block has EACH fewer, since the steps start at a multiple of EACH.
#define STEP_ENTRIES (STEPS * WARP * EACH)
#define SIZE (STEP_ENTRIES - EACH)

// Neighbouring products.
struct __align__(EACH * sizeof(ACC) < 16 ? EACH * sizeof(ACC) : 16) Products
{
    ACC part[EACH];
};

// Writes the products of the entries `from` .. `end` of `nnz` to shared memory, `from` a multiple of EACH: by whole words,
// and those of the last entries of A that fill none.
static __device__ void multiply(Products *products, UnsignedOff from, UnsignedOff end, UnsignedOff nnz,
                                const Idx *indices, const T *values, const T *x)
{
    UnsignedOff words_end = nnz / EACH * EACH;
    UnsignedOff at = from + lane_index() * EACH;
    int count = (int)(min(end, words_end) - at);
    Step steps[STEPS] = {};
    ACC factors[STEPS][EACH] = {};
#pragma unroll
    for (int s = 0; s < STEPS; s++)
        if (s * WARP * EACH < count)
            steps[s] = load_step(at + s * WARP * EACH, at + (s * WARP + 1) * EACH, indices, values);
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
        for (int each = 0; each < EACH; each++)
            if (s * WARP * EACH < count)
                factors[s][each] = load(x, steps[s].cols[each]);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        Products own;
#pragma unroll
        for (int each = 0; each < EACH; each++)
            own.part[each] = mul(entry_of(steps[s].values[each]), factors[s][each]);
        if (s * WARP * EACH < count)
            products[s * WARP + lane_index()] = own;
    }
    for (UnsignedOff k = max(from, words_end) + lane_index(); k < end; k += WARP)
        products->part[k - from] = mul(entry(values, k), load(x, indices[k]));
    __syncwarp();
}

// The sum of the products `begin` .. `end` of this lane's row. Rows of more than SHORT are summed by the warp, one after
// the other.
static __device__ ACC sum_of_row(const ACC *products, int begin, int end)
{
    ACC sum = ACC(0);
    bool is_long = end - begin > SHORT;
    if (!is_long)
#pragma unroll 4
        for (int k = begin; k < end; k++)
            sum += products[k];
    for (unsigned int lanes = __ballot_sync(ALL_LANES, is_long); lanes != 0; lanes &= lanes - 1) {
        int lane = __ffs(lanes) - 1;
        ACC part = ACC(0);
        for (int k = shuffle(begin, lane) + lane_index(), its_end = shuffle(end, lane); k < its_end; k += WARP)
            part += products[k];
        part = sum_lanes(part);
        if (lane_index() == lane)
            sum = part;
    }
    return sum;
}

// A warp takes a row block.
KERNEL csr_spmv_row_blocks(long long blocks, const long long *__restrict__ block_starts, const long long *__restrict__ slots,
                           const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                           const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                           ACC beta, T *__restrict__ y, long long y_start, ACC *__restrict__ partial)
{
    let_next_begin();
    __shared__ Products products_of_warps[MAX_THREADS / WARP][STEP_ENTRIES / EACH];
    Products *products = products_of_warps[threadIdx.x / WARP];
    const ACC *own_products = products->part;
    int lane = lane_index();
    UnsignedOff nnz = block_starts[2 * blocks + 1];
    x += x_start;
    y += y_start;
    for (long long number = warp_index(); number < blocks; number += warp_count()) {
        RowBlock block = row_block(number, SIZE, block_starts);
        bool has_long = block.goes_on || block.stop - block.begin >= SIZE;
        int rows = (int)(block.last - block.first) - (has_long && !block.goes_on);
        const Off *ends = offsets + block.first;
        UnsignedOff begin = block.begin;
        UnsignedOff stop = block.stop;
        UnsignedOff end = !has_long ? stop : rows > 0 ? (UnsignedOff)ends[rows] : begin;
        UnsignedOff from = begin / EACH * EACH;
        Off own_begin = lane < rows ? ends[lane] : Off(0);
        Off own_end = lane < rows ? ends[lane + 1] : Off(0);
        multiply(products, from, end, nnz, indices, values, x);

        int lanes = rows > WARP / 2 ? 1 : rows <= 1 ? WARP : WARP >> (WARP - __clz(rows - 1));
        if (lanes > 1) {
            int row = lane / lanes;
            int row_end = (int)(shuffle(own_end, row) - from);
            ACC sum = ACC(0);
#pragma unroll 4
            for (int k = (int)(shuffle(own_begin, row) - from) + lane % lanes; k < row_end; k += lanes)
                sum += own_products[k];
            sum = sum_lanes(sum, lanes);
            if (row < rows && lane % lanes == 0)
                update(y, block.first + row, mul(alpha, sum), beta);
        } else {
            for (int row = lane; row - lane < rows; row += WARP) {
                int row_begin = (int)(own_begin - from);
                int row_end = (int)(own_end - from);
                if (row + WARP < rows) {
                    own_begin = ends[row + WARP];
                    own_end = ends[row + WARP + 1];
                }
                ACC sum = sum_of_row(own_products, row_begin, row < rows ? row_end : row_begin);
                if (row < rows)
                    update(y, block.first + row, mul(alpha, sum), beta);
            }
        }
        if (has_long) {
            ACC sum = sum_lanes(sum_of_lane(end, stop, indices, values, x));
            if (lane == 0 && block.goes_on)
                partial[slots[number]] = sum;
            else if (lane == 0)
                update(y, block.first + rows, mul(alpha, sum), beta);
        }
        __syncwarp();
    }
}
