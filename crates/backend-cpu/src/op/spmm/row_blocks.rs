//! The kernels that sum blocks of columns in registers, for a type and an instruction set: rows one by one, or groups of
//! shifted rows side by side.

use crate::simd::LINE;

/// The fewest vectors and the fewest entries of a row for which loads of B are aligned where its rows are not, as in
/// malloc's large blocks: a load of two cache lines takes as long as two loads, and the sums are shifted back once.
/// Two quiet cores, f32, 256 columns, in a loop of its own: a band of 41 46.8 → 35.2 ms, the 27-point stencil 36.0 →
/// 34.7, but the 5-point stencil 81.8 → 89.6.
pub(super) const MIN_VECTORS_ALIGNED: usize = 4;
pub(super) const MIN_ENTRIES_ALIGNED: usize = 16;

/// The parts of numbers between a cache line and the column `first` of each row of B, if all rows have as many, else 0.
#[inline(always)]
pub(super) fn misaligned_parts<T, Part>(b: &[T], stride: usize, first: usize) -> usize {
    let parts = size_of::<T>() / size_of::<Part>();
    if !(stride * size_of::<T>()).is_multiple_of(LINE) {
        return 0;
    }
    let misaligned = b.as_ptr().wrapping_add(first).addr() % LINE / size_of::<Part>();
    if misaligned.is_multiple_of(parts) { misaligned } else { 0 }
}

/// Makes three functions for a type and an instruction set: `$name` sums blocks of columns for the rows of a part, by
/// `$row`, the sums of a row, and by `$group`, those of some rows of a group.
///
/// | argument | meaning |
/// |---|---|
/// | `$t`, `$lanes of $part` | the type of numbers; the lanes of a vector, and their type, half a complex number |
/// | `$live as $mask` | a function from a number of lanes to the mask of the first ones |
/// | `$stream of $bytes` | stores that bypass the cache, of vectors of this size |
/// | `$aligned` | the sums of a row by aligned loads, if the instruction set has it |
/// | `$set`, `$load`, `$load_live` | a number in all lanes, a vector from memory, its first lanes |
/// | `$fma`, `$add`, `$mul` | a product added to a sum, with one rounding or two; sums and products of lanes |
/// | `$store`, `$store_live`, `$bits` | a vector to memory, its first lanes, its bits for `$stream` |
macro_rules! block {
    ($name:ident, row $row:ident, group $group:ident, $t:ty, $lanes:literal of $part:ty, vector $vector:ty,
     mask $live:ident as $mask:ty, features $features:literal, stream $stream:ident of $bytes:literal
     $(, aligned $aligned:ident)?,
     [$zero:ident, $set:ident, $load:ident, $load_live:ident, $fma:ident, $add:ident, $mul:ident, $store:ident,
      $store_live:ident, $bits:ident]) => {
        /// The sums in `V` vectors, or unless `FULL` in the lanes of one with columns: `L` rows of a group side by
        /// side, or if `L` is 1 row by row. Entries are added to `C` chains of sums in turn, so that one addition need
        /// not wait for the last, and the chains in order: `C` decides the bits, and depends neither on groups nor on
        /// the number of columns of one vector. A lane has one part, of two where numbers are complex.
        ///
        /// # Safety
        /// As for [`sums`](super::registers::sums); there are columns for all lanes, or `V` is 1 and not `FULL`; there
        /// are groups, or `L` is 1.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name<const V: usize, const C: usize, const L: usize, const FULL: bool, R: Rows>(
            rows: &R,
            part: &Part,
            b: RowMajor<'_, R::Scalar>,
            first: usize,
            op: Op,
            sink: &mut impl Sink<R::Scalar>,
        ) -> usize {
            const PARTS: usize = size_of::<$t>() / size_of::<$part>();
            const COLUMNS: usize = $lanes / PARTS;
            let len = (b.columns - first).min(V * COLUMNS);
            let live: $mask = $live(PARTS * (b.columns - first));
            let streams = FULL && size_of::<[$part; $lanes]>() == $bytes;
            let streamed = if streams { sink.streamed(first, len) } else { None };
            let mut streamed = streamed.map(|to| (to, $stream::new()));
            let mut write = |row: usize, sums: [$vector; V]| {
                if let Some((to, stream)) = &mut streamed {
                    let alpha = $set(cast::<_, $t>(to.alpha));
                    // SAFETY: the sink's promise: the row has `len` elements, those of the vectors.
                    unsafe {
                        stream.seek(to.start.wrapping_add(row * to.stride).cast());
                        for sum in sums {
                            stream.write($bits($mul(alpha, sum)));
                        }
                    }
                    return;
                }
                let Some((c, update)) = sink.place(row, first, len) else {
                    let mut block = [[0.0; $lanes]; V];
                    for (part, sum) in block.iter_mut().zip(sums) {
                        // SAFETY: `part` has as many elements as a vector.
                        unsafe { $store(part.as_mut_ptr(), sum) };
                    }
                    sink.write(row, first, cast_slice(&block.as_flattened()[..PARTS * len]));
                    return;
                };
                let c: &mut [$part] = &mut cast_slice_mut(c)[..PARTS * len];
                let (alpha, beta) = (cast::<_, $t>(update.alpha), cast::<_, $t>(update.beta));
                for (v, sum) in sums.into_iter().enumerate() {
                    // SAFETY: live lanes lie in `c`; others are neither read nor written.
                    unsafe {
                        let c = c.as_mut_ptr().add(v * $lanes);
                        let mut value = $mul($set(alpha), sum);
                        if beta != <$t>::ZERO {
                            let old = if FULL { $load(c) } else { $load_live(live, c) };
                            value = $add(value, $mul($set(beta), old));
                        }
                        if FULL { $store(c, value) } else { $store_live(c, live, value) }
                    }
                }
            };
            if const { L == 1 } {
                for row in part.summed_rows() {
                    $(
                        if const { V >= MIN_VECTORS_ALIGNED }
                            && rows.entries(row).len() >= MIN_ENTRIES_ALIGNED
                            && let misaligned @ 1.. = misaligned_parts::<_, $part>(b.data, b.stride, first)
                        {
                            // SAFETY: the caller's promises; all rows of `b` begin as far behind a cache line.
                            write(row, unsafe { $aligned::<V, R>(rows, row, b, first, op, misaligned) });
                            continue;
                        }
                    )?
                    // SAFETY: the caller's promises.
                    write(row, unsafe { $row::<V, C, FULL, R>(rows, row, b, first, op) });
                }
            } else if let Some(values) = rows.stored_values() {
                let mut sums = [[$zero(); V]; L];
                for group in &part.groups {
                    let entries = rows.entries(group.start);
                    let columns = &rows.columns()[entries.clone()];
                    for (shift, row) in group.clone().enumerate() {
                        let at = (first, shift);
                        let values = &values[entries.start + shift * columns.len()..];
                        // SAFETY: the caller's promises; the next `L` rows, or this one, have as many values.
                        unsafe {
                            if shift >= group.len() / L * L {
                                [sums[shift % L]] = $group::<V, C, 1, FULL, R>(columns, values, b, at, op);
                            } else if shift % L == 0 {
                                sums = $group::<V, C, L, FULL, R>(columns, values, b, at, op);
                            }
                        }
                        write(row, sums[shift % L]);
                    }
                }
            }
            if let Some((_, stream)) = streamed {
                // SAFETY: as above.
                unsafe { stream.end() };
            }
            len
        }

        /// The sums of a row.
        ///
        /// # Safety
        /// As for [`sums`](super::registers::sums); there are columns for all lanes, or `V` is 1 and not `FULL`.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn $row<const V: usize, const C: usize, const FULL: bool, R: Rows>(
            rows: &R,
            row: usize,
            b: RowMajor<'_, R::Scalar>,
            first: usize,
            op: Op,
        ) -> [$vector; V] {
            const PARTS: usize = size_of::<$t>() / size_of::<$part>();
            const COLUMNS: usize = $lanes / PARTS;
            let data: &[$part] = cast_slice(b.data);
            let live: $mask = $live(PARTS * (b.columns - first));
            let entries = rows.entries(row);
            let add = |sums: &mut [$vector; V], column: R::Index, value: R::Scalar| {
                let value = $set(cast::<R::Scalar, $t>(op.apply(value)));
                let at = PARTS * start(column, b, first);
                for (v, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: whole vectors, or live lanes, lie in a row of `b`; others are not read.
                    let row = unsafe {
                        let row = data.as_ptr().add(at + v * $lanes);
                        if FULL { $load(row) } else { $load_live(live, row) }
                    };
                    *sum = $fma(value, row, *sum);
                }
            };
            let mut chains = [[$zero(); V]; C];
            if b.ahead == 0 {
                let mut entries = rows.columns()[entries.clone()].iter().zip(rows.values(entries));
                'row: loop {
                    for sums in &mut chains {
                        let Some((&column, value)) = entries.next() else { break 'row };
                        add(sums, column, value);
                    }
                }
            } else {
                let mut entries = with_ahead(rows.columns(), &entries, b.ahead).zip(rows.values(entries));
                'row: loop {
                    for sums in &mut chains {
                        let Some(((column, later), value)) = entries.next() else { break 'row };
                        fetch_rows(b, later, first, V * COLUMNS);
                        add(sums, column, value);
                    }
                }
            }
            let mut sums = chains[0];
            for chain in &chains[1..] {
                for (sum, &part) in sums.iter_mut().zip(chain) {
                    *sum = $add(*sum, part);
                }
            }
            sums
        }

        /// The sums of `L` rows of a group in `V` vectors each, or unless `FULL` in the lanes of one with columns, in
        /// the order of those of one row. Where a column follows the one before, the rows have all rows of B but the
        /// last in registers.
        ///
        /// # Safety
        /// As for [`sums`](super::registers::sums); these are columns, to which those of the first row are `shift`
        /// further and those of the others one further each, and the values of all; there are columns for all lanes,
        /// or `V` is 1 and not `FULL`.
        #[inline(never)]
        #[target_feature(enable = $features)]
        unsafe fn $group<const V: usize, const C: usize, const L: usize, const FULL: bool, R: Rows>(
            columns: &[R::Index],
            values: &[R::Scalar],
            b: RowMajor<'_, R::Scalar>,
            (first, shift): (usize, usize),
            op: Op,
        ) -> [[$vector; V]; L] {
            const PARTS: usize = size_of::<$t>() / size_of::<$part>();
            let data: &[$part] = cast_slice(b.data);
            let live: $mask = $live(PARTS * (b.columns - first));
            let first = first + shift * b.stride;
            let load = |row: usize| {
                array::from_fn(|v| {
                    let from = data.as_ptr().wrapping_add(PARTS * (row * b.stride + first) + v * $lanes);
                    // SAFETY: whole vectors, or live lanes, lie in a row of `b`; others are not read.
                    unsafe { if FULL { $load(from) } else { $load_live(live, from) } }
                })
            };
            let mut chains = [[[$zero(); V]; L]; C];
            let (mut of_b, mut next) = ([[$zero(); V]; L], usize::MAX);
            let mut entries = columns.iter().enumerate();
            'rows: loop {
                for sums in &mut chains {
                    let Some((entry, column)) = entries.next() else { break 'rows };
                    let column = column.as_usize();
                    if column == next {
                        for k in 1..L {
                            of_b[k - 1] = of_b[k];
                        }
                        of_b[L - 1] = load(column + L - 1);
                    } else {
                        of_b = array::from_fn(|k| load(column + k));
                    }
                    next = column + 1;
                    for (k, (sums, of_b)) in sums.iter_mut().zip(&of_b).enumerate() {
                        // SAFETY: there are values for all rows.
                        let value = unsafe { *values.get_unchecked(k * columns.len() + entry) };
                        let value = $set(cast::<R::Scalar, $t>(op.apply(value)));
                        for (sum, &of_b) in sums.iter_mut().zip(of_b) {
                            *sum = $fma(value, of_b, *sum);
                        }
                    }
                }
            }
            let mut sums = chains[0];
            for chain in &chains[1..] {
                for (sum, &part) in sums.as_flattened_mut().iter_mut().zip(chain.as_flattened()) {
                    *sum = $add(*sum, part);
                }
            }
            sums
        }
    };
}

pub(super) use block;
