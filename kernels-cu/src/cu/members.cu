// members: the members of a batch as blocks on the diagonal of one matrix, and back. Rows are those of compressed rows:
// columns of CSC. Entries stay where they are; only their numbers change.
// One thread per row or per entry, striding over the grid; reads and writes each array once, and searches the member of an
// entry.
// Macros: IDX, OFF (types of indices, and of the members' offsets).   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "index.cuh"
#include "search.cuh"

// to[k] <- the entries before row k of all members, for k = 0 .. count*rows: those of member m begin at starts[m].
KERNEL members_join_offsets(long long count, long long rows, const long long *__restrict__ starts,
                            const Off *__restrict__ offsets, long long *__restrict__ to)
{
    for (long long k = thread_index(); k <= count * rows; k += thread_count()) {
        long long member = rows > 0 ? k / rows : 0;
        to[k] = member < count ? starts[member] + offsets[k + member] : starts[count];
    }
}

// to[k] <- the column of entry k, past the `cols` columns of each member before its own.
KERNEL members_join_columns(long long n, long long count, long long cols, const long long *__restrict__ starts,
                            const Idx *__restrict__ columns, Idx *__restrict__ to)
{
    for (long long k = thread_index(); k < n; k += thread_count()) {
        long long member = count_below(starts, count, k + 1) - 1;
        to[k] = (Idx)(columns[k] + member * cols);
    }
}

// to[k] <- the entries of a member before its row, where each member has rows + 1 offsets.
KERNEL members_split_offsets(long long count, long long rows, const long long *__restrict__ offsets, Off *__restrict__ to)
{
    for (long long k = thread_index(); k < count * (rows + 1); k += thread_count()) {
        long long member = k / (rows + 1);
        to[k] = (Off)(offsets[k - member] - offsets[member * rows]);
    }
}

// columns[k] <- the column in its member.
KERNEL members_split_columns(long long n, long long cols, Idx *__restrict__ columns)
{
    for (long long k = thread_index(); k < n; k += thread_count())
        columns[k] = (Idx)(columns[k] % cols);
}
