// The smaller of two numbers, for reductions.
struct Smallest
{
    __device__ long long operator()(long long a, long long b) const { return min(a, b); }
};

// What the reduction of no number gives.
#define LARGEST 0x7fffffffffffffffll
