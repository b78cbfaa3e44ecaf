// Loads as the compiler does, where a kernel takes its loads as a parameter.
struct LoadPlainly
{
    template <typename V> __device__ V operator()(const V *from) const { return *from; }
};
