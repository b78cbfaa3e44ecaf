// csr_panels: panels of 4 neighbouring rows, and the columns in which any of these has an entry. A panel has a slot for
// each such column, and one more where a column repeats within a row. 8 slots are a group, whose 32 places have a bit
// each, set where the row of the slot has an entry. For the plan of csr_spmm_panels.cl.
// One work-item per panel, which merges its rows, striding over the grid. Reads the pattern once, writes a column per
// slot and a word per group.
// Macros: IDX, OFF.   Launch: any number of work-groups of any size.
#include "index.clh"
#include "panel.clh"

// More than any column.
#define NO_COLUMN 0x7fffffffffffffffL

// The rows of a panel that is walked through: where each stands and ends, and its column there.
typedef struct {
    OFF at[ROWS];
    OFF end[ROWS];
    long columns[ROWS];
} Walk;

static Walk begin_walk(long panel, long rows, __global const OFF *offsets, __global const IDX *indices)
{
    Walk walk;
    for (int r = 0; r < ROWS; r++) {
        long row = panel * ROWS + r;
        walk.at[r] = row < rows ? offsets[row] : 0;
        walk.end[r] = row < rows ? offsets[row + 1] : 0;
        walk.columns[r] = walk.at[r] < walk.end[r] ? indices[walk.at[r]] : NO_COLUMN;
    }
    return walk;
}

// Steps over the next slot: its column, the least one where a row stands, and a bit for each row that has it; no bits
// at the end. Columns of slots ascend where those of rows do.
static uint next_slot(Walk *walk, __global const IDX *indices, IDX *column)
{
    long least = NO_COLUMN;
    uint bits = 0;
    for (int r = 0; r < ROWS; r++)
        least = min(least, walk->columns[r]);
    for (int r = 0; r < ROWS && least != NO_COLUMN; r++) {
        if (walk->columns[r] == least) {
            bits |= 1u << r;
            walk->at[r]++;
            walk->columns[r] = walk->at[r] < walk->end[r] ? indices[walk->at[r]] : NO_COLUMN;
        }
    }
    if (bits != 0)
        *column = (IDX)least;
    return bits;
}

// slots[k], entries[k] <- the first slots of panel k*step, up to `most`, and their entries, for `count` panels.
__kernel void csr_panels_sample(long count, long step, long most, long rows, __global const OFF *offsets,
                                __global const IDX *indices, __global long *slots, __global long *entries)
{
    for (long k = get_global_id(0); k < count; k += get_global_size(0)) {
        Walk walk = begin_walk(k * step, rows, offsets, indices);
        IDX column;
        slots[k] = 0;
        entries[k] = 0;
        while (slots[k] < most) {
            uint bits = next_slot(&walk, indices, &column);
            if (bits == 0)
                break;
            slots[k]++;
            entries[k] += popcount(bits);
        }
    }
}

// groups[panel] <- its groups; one zero more at the end. An exclusive scan makes `starts`.
__kernel void csr_panels_count(long rows, __global const OFF *offsets, __global const IDX *indices,
                               __global long *groups)
{
    long panels = (rows + ROWS - 1) / ROWS;
    for (long panel = get_global_id(0); panel <= panels; panel += get_global_size(0)) {
        Walk walk = begin_walk(panel, rows, offsets, indices);
        IDX column;
        long slots = 0;
        while (next_slot(&walk, indices, &column) != 0)
            slots++;
        groups[panel] = (slots + SLOTS - 1) / SLOTS;
    }
}

// columns[slot] <- the column of a slot; places[group] <- the bits of a group's slots, those of its first slot lowest.
// Slots past the last of a panel repeat its column, and have no bits.
__kernel void csr_panels_fill(long rows, __global const OFF *offsets, __global const IDX *indices,
                              __global const long *starts, __global IDX *columns, __global uint *places)
{
    long panels = (rows + ROWS - 1) / ROWS;
    for (long panel = get_global_id(0); panel < panels; panel += get_global_size(0)) {
        Walk walk = begin_walk(panel, rows, offsets, indices);
        IDX column = 0;
        for (long group = starts[panel]; group < starts[panel + 1]; group++) {
            uint bits = 0;
            for (int s = 0; s < SLOTS; s++) {
                bits |= next_slot(&walk, indices, &column) << s * ROWS;
                columns[group * SLOTS + s] = column;
            }
            places[group] = bits;
        }
    }
}
