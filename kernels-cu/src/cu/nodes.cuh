// The nodes of the rows or columns of a matrix: `unknowns` of them each or, where `starts` are there, those that begin
// at `firsts`. `starts` are the nodes before each row or column, and of all.
struct Nodes
{
    long long unknowns;
    const int *starts;
    const int *firsts;

    // The nodes of `n` rows or columns.
    __device__ long long count(long long n) const { return starts ? starts[n] : n / unknowns; }

    // The node of a row or column.
    __device__ long long of(long long at) const { return starts ? starts[at + 1] - 1 : at / unknowns; }

    __device__ bool is_first(long long at) const { return starts ? starts[at + 1] > starts[at] : at % unknowns == 0; }

    __device__ long long first(long long node) const { return firsts ? firsts[node] : node * unknowns; }

    // The unknowns of a node if they differ between nodes, else 0.
    __device__ unsigned int size(long long node) const { return firsts ? firsts[node + 1] - firsts[node] : 0; }
};
