// Entries of a chunk of a row, at most.
#define CHUNK 256
