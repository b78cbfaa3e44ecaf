// Entries of A. Takes CONJ: 1 conjugates them. Needs scalar.cuh before.
#ifndef CONJ
#error "CONJ is missing: 0 or 1"
#endif

static __device__ ACC entry(const T *values, long long at)
{
#if CONJ
    return conjugate(load(values, at));
#else
    return load(values, at);
#endif
}
