// The place of a value among the elements 0 .. n of a sorted array, or -1. Needs search.cuh before.
template <typename V, typename N> static __device__ N find_sorted(const V *sorted, N n, V value)
{
    N at = count_below(sorted, n, value);
    return at < n && sorted[at] == value ? at : -1;
}
