// Panels of a matrix's rows (csr_panels.cu): the rows of a panel, the slots of a group, and its places, the bits of a
// word.
#define ROWS 4
#define SLOTS 8
#define PLACES (ROWS * SLOTS)
