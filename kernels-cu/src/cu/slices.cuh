// The position of a row in slices.
struct Place
{
    long long slice;
    long long lane;
};

// The slice of a position and its lane there; a height that is a power of two, as most are, needs no division.
static __device__ Place place_of(long long position, long long slice_height)
{
    if ((slice_height & (slice_height - 1)) == 0)
        return {position >> (__ffsll(slice_height) - 1), position & (slice_height - 1)};
    return {position / slice_height, position % slice_height};
}

// The height for which loops over a row know the distance between its elements when they are compiled.
#define USUAL_HEIGHT 32
