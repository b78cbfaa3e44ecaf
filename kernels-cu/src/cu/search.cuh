// The number of elements 0 .. n of a sorted array that are less than `bound`.
template <typename V, typename B> static __device__ long long count_below(const V *sorted, long long n, B bound)
{
    long long low = 0;
    long long high = n;
    while (low < high) {
        long long mid = low + (high - low) / 2;
        if (sorted[mid] < bound)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}
