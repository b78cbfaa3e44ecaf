// Indices. Takes IDX and OFF: the types of column (or row) indices and of row offsets, int or long.
// Gives Idx, Off and UnsignedOff.
#include "types.cuh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#ifndef OFF
#error "OFF is missing: int or long"
#endif

typedef TYPE(IDX) Idx;
typedef TYPE(OFF) Off;
// The position of an entry, or of one some steps past the last: unsigned where Off is int, so that steps beyond
// 2^31 - 1 do not overflow.
typedef decltype(Off() + 0u) UnsignedOff;
