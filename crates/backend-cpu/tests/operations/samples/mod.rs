//! Common matrices and comparisons of the tests of this crate.
#![allow(dead_code, reason = "every test uses a part")]

use backend_cpu::{Cpu, Simd};
use sparse_core::{Axis, Compressed, Coo, Csr, Ell, Host, Hyb, Index, Scalar, Sell, c64};

/// One thread and several.
pub(crate) fn backends() -> [Cpu; 2] {
    [1, 3].map(|threads| Cpu::with(threads, Simd::detect()).unwrap())
}

/// Several threads with every instruction set of this processor, and one thread with the widest.
pub(crate) fn backends_of_all_sets() -> Vec<Cpu> {
    let sets = [Simd::Portable, Simd::Avx2, Simd::Avx512, Simd::Neon];
    let sets = sets.into_iter().filter(|simd| simd.is_available());
    let [one, _] = backends();
    sets.map(|simd| Cpu::with(3, simd).unwrap()).chain([one]).collect()
}

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Small integers and fractions, and zeros of both signs.
    pub(crate) fn value<T: Scalar>(&mut self) -> T {
        let part = |bits: u64| match bits % 8 {
            0 => -0.0,
            1 => 0.0,
            _ => (bits >> 8) as i16 as f64 / 16.0,
        };
        T::from_c64(c64::new(part(self.next()), part(self.next())))
    }
}

/// `nnz` entries at random coordinates, some of them repeated.
pub(crate) fn random<T: Scalar, I: Index>(rows: usize, cols: usize, nnz: usize) -> Coo<T, Host, I> {
    let mut random = Random((rows * 31 + cols * 7 + nnz) as u64);
    let entries = (0..nnz).map(|_| (random.below(rows), random.below(cols), random.value()));
    Coo::from_triplets(rows, cols, entries).unwrap()
}

/// Shapes at their limits, block edges, repeated coordinates, and sizes large enough for several threads.
pub(crate) fn cases<T: Scalar, I: Index>() -> Vec<Coo<T, Host, I>> {
    let mut cases: Vec<_> = [(0, 0), (0, 3), (3, 0), (2, 3)].map(|(rows, cols)| random(rows, cols, 0)).into();
    for (rows, cols, nnz) in [
        (1, 1, 5),
        (1, 300, 200),
        (300, 1, 200),
        (31, 33, 100),
        (64, 64, 1000),
        (1025, 257, 5000),
        (3, 70_000, 40_000),
        (70_000, 3, 40_000),
        (2000, 2000, 150_000),
    ] {
        cases.push(random(rows, cols, nnz));
    }
    let mut random = Random(5);
    let one_column = (0..3000).map(|i| (i, 7, random.value()));
    cases.push(Coo::from_triplets(3000, 9, one_column).unwrap());
    let mut random = Random(6);
    let one_row =
        (0..3000).map(|k| if k % 3 == 0 { (k, k, random.value()) } else { (4, 2999 - k, random.value()) });
    cases.push(Coo::from_triplets(3000, 3000, one_row).unwrap());
    cases
}

/// CSR with the entries of each row in the order of the coordinates.
pub(crate) fn unsorted_rows<T: Scalar, I: Index, O: Index>(a: &Coo<T, Host, I>) -> Csr<T, Host, I, O> {
    let mut entries: Vec<_> = a.triplets().collect();
    entries.sort_by_key(|entry| entry.0);
    let mut offsets = vec![0; a.nrows() + 1];
    entries.iter().for_each(|entry| offsets[entry.0 + 1] += 1);
    for row in 0..a.nrows() {
        offsets[row + 1] += offsets[row];
    }
    let offsets = offsets.into_iter().map(O::cast).collect();
    let indices = entries.iter().map(|entry| I::cast(entry.1)).collect();
    let values = entries.iter().map(|entry| entry.2).collect();
    Csr::new_unsorted(a.nrows(), a.ncols(), offsets, indices, values).unwrap()
}

/// A matrix as bytes, so that −0 differs from 0 and NaN is itself.
pub(crate) trait Bytes {
    fn bytes(&self) -> Vec<Vec<u8>>;
}

fn bytes_of<T: bytemuck::Pod>(slice: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(slice).to_vec()
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Bytes for Compressed<A, T, Host, I, O> {
    fn bytes(&self) -> Vec<Vec<u8>> {
        let shape = [self.nrows(), self.ncols()];
        vec![bytes_of(&shape), bytes_of(self.offsets()), bytes_of(self.indices()), bytes_of(self.values())]
    }
}

impl<T: Scalar, I: Index> Bytes for Coo<T, Host, I> {
    fn bytes(&self) -> Vec<Vec<u8>> {
        let shape = [self.nrows(), self.ncols()];
        vec![bytes_of(&shape), bytes_of(self.row_idx()), bytes_of(self.col_idx()), bytes_of(self.values())]
    }
}

impl<T: Scalar, I: Index> Bytes for Ell<T, Host, I> {
    fn bytes(&self) -> Vec<Vec<u8>> {
        let shape = [self.nrows(), self.ncols(), self.width(), self.nnz()];
        vec![bytes_of(&shape), bytes_of(self.col_idx()), bytes_of(self.values())]
    }
}

impl<T: Scalar, I: Index> Bytes for Hyb<T, Host, I> {
    fn bytes(&self) -> Vec<Vec<u8>> {
        [self.ell().bytes(), self.coo().bytes()].concat()
    }
}

impl<T: Scalar, I: Index, O: Index> Bytes for Sell<T, Host, I, O> {
    fn bytes(&self) -> Vec<Vec<u8>> {
        let shape = [self.nrows(), self.ncols(), self.slice_height(), self.nnz()];
        vec![
            bytes_of(&shape),
            bytes_of(self.slice_ptr()),
            bytes_of(self.row_order()),
            bytes_of(self.col_idx()),
            bytes_of(self.values()),
        ]
    }
}
