// csr_panels: panels of 4 neighbouring rows, and the columns in which any of these has an entry. A panel has a slot for
// each such column, and one more where a column repeats within a row. 8 slots are a group, whose 32 places have a bit
// each, set where the row of the slot has an entry. For the plan of csr_spmm_panels.cu.
// One thread per panel, which merges its rows, striding over the grid. Reads the pattern once, writes a column per slot
// and a word per group.
// Macros: IDX, OFF.   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "index.cuh"
#include "panel.cuh"

// More than any column.
#define NO_COLUMN 0x7fffffffffffffffll

// The rows of a panel that is walked through: where each stands and ends, and its column there.
struct Walk
{
    Off at[ROWS];
    Off end[ROWS];
    long long columns[ROWS];
};

static __device__ Walk begin_walk(long long panel, long long rows, const Off *offsets, const Idx *indices)
{
    Walk walk;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        long long row = panel * ROWS + r;
        walk.at[r] = row < rows ? offsets[row] : 0;
        walk.end[r] = row < rows ? offsets[row + 1] : 0;
        walk.columns[r] = walk.at[r] < walk.end[r] ? indices[walk.at[r]] : NO_COLUMN;
    }
    return walk;
}

// Steps over the next slot: its column, the least one where a row stands, and a bit for each row that has it; no bits
// at the end. Columns of slots ascend where those of rows do.
static __device__ unsigned int next_slot(Walk *walk, const Idx *indices, Idx *column)
{
    long long least = NO_COLUMN;
    unsigned int bits = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        least = min(least, walk->columns[r]);
    if (least == NO_COLUMN)
        return 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (walk->columns[r] == least) {
            bits |= 1u << r;
            walk->at[r]++;
            walk->columns[r] = walk->at[r] < walk->end[r] ? indices[walk->at[r]] : NO_COLUMN;
        }
    *column = (Idx)least;
    return bits;
}

// slots[k], entries[k] <- the first slots of panel k*step, up to `most`, and their entries, for `count` panels.
KERNEL csr_panels_sample(long long count, long long step, long long most, long long rows,
                         const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                         long long *__restrict__ slots, long long *__restrict__ entries)
{
    for (long long k = thread_index(); k < count; k += thread_count()) {
        Walk walk = begin_walk(k * step, rows, offsets, indices);
        Idx column;
        slots[k] = 0;
        entries[k] = 0;
        while (slots[k] < most) {
            unsigned int bits = next_slot(&walk, indices, &column);
            if (bits == 0)
                break;
            slots[k]++;
            entries[k] += __popc(bits);
        }
    }
}

// groups[panel] <- its groups; one zero more at the end. An exclusive scan makes `starts`.
KERNEL csr_panels_count(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                        long long *__restrict__ groups)
{
    long long panels = (rows + ROWS - 1) / ROWS;
    for (long long panel = thread_index(); panel <= panels; panel += thread_count()) {
        Walk walk = begin_walk(panel, rows, offsets, indices);
        Idx column;
        long long slots = 0;
        while (next_slot(&walk, indices, &column) != 0)
            slots++;
        groups[panel] = (slots + SLOTS - 1) / SLOTS;
    }
}

// columns[slot] <- the column of a slot; places[group] <- the bits of a group's slots, those of its first slot lowest.
// Slots past the last of a panel repeat its column, and have no bits.
KERNEL csr_panels_fill(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                       const long long *__restrict__ starts, Idx *__restrict__ columns,
                       unsigned int *__restrict__ places)
{
    long long panels = (rows + ROWS - 1) / ROWS;
    for (long long panel = thread_index(); panel < panels; panel += thread_count()) {
        Walk walk = begin_walk(panel, rows, offsets, indices);
        Idx column = 0;
        for (long long group = starts[panel]; group < starts[panel + 1]; group++) {
            unsigned int bits = 0;
            for (int s = 0; s < SLOTS; s++) {
                bits |= next_slot(&walk, indices, &column) << s * ROWS;
                columns[group * SLOTS + s] = column;
            }
            places[group] = bits;
        }
    }
}
