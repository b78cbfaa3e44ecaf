// Results of one thread that others wait for, without a fence: a word has 32 bits of a result and above them a flag,
// so that who reads the flag has the bits too. Words are zeros when a kernel starts. Needs grid.cuh before.

// 32 bits each of a result; a shorter one has the low bits of one part.
template <typename V> union Parts
{
    static constexpr int COUNT = (sizeof(V) + 3) / 4;
    V value;
    unsigned int part[COUNT];
};

// Publishes result `at`, which has Parts<V>::COUNT words of `words`.
template <typename V> static __device__ void set_ready(unsigned long long *words, long long at, V value)
{
    Parts<V> parts = {};
    parts.value = value;
    for (int p = 0; p < Parts<V>::COUNT; p++) {
        unsigned long long word = 1ull << 32 | parts.part[p];
        unsigned long long *to = words + at * Parts<V>::COUNT + p;
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(to), "l"(word) : "memory");
    }
}

// True if result `at` is there; then `value` is it.
template <typename V> static __device__ bool is_ready(const unsigned long long *words, long long at, V *value)
{
    Parts<V> parts;
    bool ready = true;
    for (int p = 0; p < Parts<V>::COUNT; p++) {
        unsigned long long word;
        const unsigned long long *from = words + at * Parts<V>::COUNT + p;
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
        ready = ready && word >> 32 != 0;
        parts.part[p] = (unsigned int)word;
    }
    *value = parts.value;
    return ready;
}

// The next ticket of a block, from the word that counts them.
static __device__ long long next_ticket(unsigned long long *tickets)
{
    __shared__ unsigned long long ticket;
    __syncthreads();
    if (threadIdx.x == 0)
        ticket = atomicAdd(tickets, 1ull);
    __syncthreads();
    return ticket;
}

// The bits of the lanes of this lane's team: `lanes` neighbours, a power of two up to 32.
static __device__ unsigned int lanes_of_team(int lanes)
{
    return ALL_LANES >> (WARP - lanes) << lane_index() / lanes * lanes;
}
