// The number of elements 0 .. n of a sorted array that are less than `bound`.
template <typename V, typename N, typename B> static __device__ N count_below(const V *sorted, N n, B bound)
{
    N low = 0;
    N high = n;
    while (low < high) {
        N mid = low + (high - low) / 2;
        if (sorted[mid] < bound)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}
