// The first element of a row of a batch of dense matrices: row `row` of all members' rows, `rows` per member.
static __device__ long long row_start(long long row, long long rows, long long start, long long stride,
                                      long long row_step)
{
    return start + row / rows * stride + row % rows * row_step;
}

// The rows to fill: all of them if the capacity suffices for their entries, otherwise none.
static __device__ long long rows_that_fit(long long all_rows, const long long *starts, long long capacity)
{
    return starts[all_rows] <= capacity ? all_rows : 0;
}
