// Where the rows of a batch of dense matrices begin: row `row` of all members' rows, `rows` of them a member.
static __device__ long long row_start(long long row, long long rows, long long start, long long stride,
                                      long long row_step)
{
    return start + row / rows * stride + row % rows * row_step;
}
