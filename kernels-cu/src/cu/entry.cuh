// Entries of A. Takes CONJ: 1 conjugates them. Needs scalar.cuh before.
#ifndef CONJ
#error "CONJ is missing: 0 or 1"
#endif

static __device__ ACC entry_of(T value)
{
#if CONJ
    return conjugate(to_acc(value));
#else
    return to_acc(value);
#endif
}

static __device__ ACC entry(const T *values, long long at)
{
    return entry_of(values[at]);
}

// An entry that is read once.
static __device__ ACC entry_once(const T *values, long long at)
{
    return entry_of(load_once(values + at));
}
