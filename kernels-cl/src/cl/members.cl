// members: the members of a batch as blocks on the diagonal of one matrix, and back. Rows are those of compressed rows:
// columns of CSC. Entries stay where they are; only their numbers change.
// One work-item per row or per entry, striding over the grid; reads and writes each array once, and searches the member
// of an entry.
// Macros: IDX, OFF (types of indices, and of the members' offsets).   Launch: any number of work-groups of any size.
#include "index.clh"
#define SORTED long
#include "search.clh"

// to[k] <- the entries before row k of all members, for k = 0 .. count*rows: those of member m begin at starts[m].
__kernel void members_join_offsets(long count, long rows, __global const long *starts,
                            __global const OFF *offsets, __global long *to)
{
    for (long k = get_global_id(0); k <= count * rows; k += get_global_size(0)) {
        long member = rows > 0 ? k / rows : 0;
        to[k] = member < count ? starts[member] + offsets[k + member] : starts[count];
    }
}

// to[k] <- the column of entry k, past the `cols` columns of each member before its own.
__kernel void members_join_columns(long n, long count, long cols, __global const long *starts,
                            __global const IDX *columns, __global IDX *to)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0)) {
        long member = count_below(starts, count, k + 1) - 1;
        to[k] = (IDX)(columns[k] + member * cols);
    }
}

// to[k] <- the entries of a member before its row, where each member has rows + 1 offsets.
__kernel void members_split_offsets(long count, long rows, __global const long *offsets, __global OFF *to)
{
    for (long k = get_global_id(0); k < count * (rows + 1); k += get_global_size(0)) {
        long member = k / (rows + 1);
        to[k] = (OFF)(offsets[k - member] - offsets[member * rows]);
    }
}

// columns[k] <- the column in its member.
__kernel void members_split_columns(long n, long cols, __global IDX *columns)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0))
        columns[k] = (IDX)(columns[k] % cols);
}
