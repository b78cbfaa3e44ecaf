// Loads of whole lines that are read once, which shall not take the first cache from what is read again.

// Loads a word of 16 bytes that no thread writes.
struct LoadPastFirstCache
{
    template <typename V> __device__ V operator()(const V *from) const
    {
        static_assert(sizeof(V) == 16, "a word");
        ulonglong2 word;
        asm("ld.global.nc.L1::no_allocate.v2.u64 {%0, %1}, [%2];" : "=l"(word.x), "=l"(word.y) : "l"(from));
        return *(V *)&word;
    }
};
