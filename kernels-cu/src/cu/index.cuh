// Indices. Takes IDX and OFF: the types of column (or row) indices and of row offsets, int or long.
// Gives Idx and Off.
#include "types.cuh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#ifndef OFF
#error "OFF is missing: int or long"
#endif

typedef TYPE(IDX) Idx;
typedef TYPE(OFF) Off;
