//! The columns of few products in order: each product has the rank of its column among all of them, by comparing every
//! column with every other one.
//!
//! A column and the position of its product are one number of 32 bits, the key, so that keys are distinct, and equal
//! columns stay in the order of their products. The comparisons are vectors: 16 at once with AVX-512.

#[cfg(target_arch = "x86_64")]
use super::ranked_avx512 as avx512;
use crate::simd::Isa;
#[cfg(target_arch = "x86_64")]
use crate::simd::Simd;
use sparse_core::{Index, Scalar};

/// The most products of a row that are ranked.
pub(super) const RANKED: usize = 256;

/// Keys that are compared with another one at once.
const LANES: usize = 16;

/// The products of a row, as keys.
#[derive(Debug)]
pub(super) struct Ranked {
    keys: Box<[u32; RANKED + LANES]>,
    /// [`BEFORE`](Self::BEFORE), the keys in order, and memory for a vector.
    sorted: Box<[u32; 1 + RANKED + LANES]>,
    len: usize,
    /// The bits of a position.
    bits: u32,
    /// The column of the key 0.
    first: usize,
}

impl Default for Ranked {
    fn default() -> Self {
        let sorted = Box::new([Self::BEFORE; 1 + RANKED + LANES]);
        Self { keys: Box::new([0; RANKED + LANES]), sorted, len: 0, bits: 0, first: 0 }
    }
}

/// The bits of a position among `products` products.
#[inline(always)]
fn bits(products: usize) -> u32 {
    usize::BITS - products.leading_zeros()
}

/// True if `S` has vectors for indices of this type.
#[cfg(target_arch = "x86_64")]
const fn has_vectors<S: Isa, I>() -> bool {
    S::SIMD as u8 == Simd::Avx512 as u8 && size_of::<I>() == size_of::<i32>()
}

impl Ranked {
    /// A key that has no column.
    const BEFORE: u32 = u32::MAX;

    /// True if `products` products, at least one, with columns in a window of length `window` can be ranked.
    #[inline(always)]
    pub(super) fn fits(products: usize, window: usize) -> bool {
        products <= RANKED && window < (Self::BEFORE >> bits(products)) as usize
    }

    /// Begins a row of `products` products, none in a column before `first`.
    #[inline(always)]
    pub(super) fn begin(&mut self, first: usize, products: usize) {
        (self.len, self.bits, self.first) = (0, bits(products), first);
    }

    /// Adds products with these columns.
    #[inline(always)]
    pub(super) fn push<S: Isa, I: Index>(&mut self, columns: &[I]) {
        let (start, bits, first) = (self.len, self.bits, self.first);
        self.len += columns.len();
        assert!(self.len <= RANKED);
        #[cfg(target_arch = "x86_64")]
        if const { has_vectors::<S, I>() } {
            // SAFETY: `S` is only run where the processor has it; there is memory for the keys and a vector more.
            return unsafe { avx512::push(self.keys.as_mut_ptr(), start, columns, first, bits) };
        }
        for ((position, key), column) in (start as u32..).zip(&mut self.keys[start..]).zip(columns) {
            *key = ((column.as_usize() - first) as u32) << bits | position;
        }
    }

    /// Appends the columns of the products, each once and in order.
    #[inline(always)]
    pub(super) fn append_columns<S: Isa, I: Index>(&mut self, columns: &mut Vec<I>) {
        columns.reserve(self.len + LANES);
        self.sort::<S, I>();
        #[cfg(target_arch = "x86_64")]
        if const { has_vectors::<S, I>() } {
            return self.each_vector(columns, |_, _| ());
        }
        let mut last = usize::MAX;
        for (column, _) in self.sorted() {
            if column != last {
                columns.push(I::cast(column));
            }
            last = column;
        }
    }

    /// Appends the columns of the products, each once and in order, and the sums of the products of each.
    #[inline(always)]
    pub(super) fn append<S: Isa, T: Scalar, I: Index>(
        &mut self,
        products: &[T::Acc],
        columns: &mut Vec<I>,
        values: &mut Vec<T>,
    ) {
        columns.reserve(self.len + LANES);
        values.reserve(self.len + LANES);
        self.sort::<S, I>();
        let products = &products[..RANKED];
        let (len, sums) = (values.len(), values.spare_capacity_mut());
        let mut entries = 0;
        #[cfg(target_arch = "x86_64")]
        if const { has_vectors::<S, I>() && size_of::<T>() == size_of::<T::Acc>() } {
            self.each_vector(columns, |start, vector| {
                entries = start + vector.new.count_ones() as usize;
                for (sum, &position) in sums[start..start + LANES].iter_mut().zip(&vector.new_positions) {
                    // A sum of −0 alone is 0.
                    sum.write(T::from_acc(T::Acc::ZERO + products[position as usize % RANKED]));
                }
                let mut equal = vector.equal;
                while equal != 0 {
                    let lane = equal.trailing_zeros();
                    equal &= equal - 1;
                    let before = start + (vector.new & ((1 << lane) - 1)).count_ones() as usize;
                    // SAFETY: the first lane of all is new, so that an entry was written.
                    let sum = unsafe { sums[before - 1].assume_init_mut() };
                    *sum = T::from_acc(
                        sum.to_acc() + products[vector.positions[lane as usize] as usize % RANKED],
                    );
                }
            });
            // SAFETY: so many were written.
            return unsafe { values.set_len(len + entries) };
        }
        let (mut last, mut sum) = (usize::MAX, T::Acc::ZERO);
        for (column, position) in self.sorted() {
            if column != last {
                columns.push(I::cast(column));
                (entries, last, sum) = (entries + 1, column, T::Acc::ZERO);
            }
            sum += products[position];
            sums[entries - 1].write(T::from_acc(sum));
        }
        // SAFETY: so many were written.
        unsafe { values.set_len(len + entries) };
    }

    /// Calls `visit` with the entries of each vector of keys and the number of those before them, and appends their
    /// columns, for which there is memory.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn each_vector<I: Index>(&self, columns: &mut Vec<I>, mut visit: impl FnMut(usize, &avx512::Entries)) {
        let len = columns.len();
        let mut start = 0;
        for at in (0..self.len).step_by(LANES) {
            // SAFETY: only called where the processor has AVX-512; there is a key before the vector, and memory for as
            // many columns as there are keys and for a vector.
            let entries = unsafe {
                let (keys, columns) =
                    (self.sorted.as_ptr().add(1 + at), columns.as_mut_ptr().add(len + start));
                avx512::entries(keys, self.len - at, self.first, self.bits, columns.cast())
            };
            visit(start, &entries);
            start += entries.new.count_ones() as usize;
        }
        // SAFETY: so many were written.
        unsafe { columns.set_len(len + start) };
    }

    /// Brings the keys to order.
    #[inline(always)]
    fn sort<S: Isa, I: Index>(&mut self) {
        let Self { keys, sorted, len, .. } = self;
        #[cfg(target_arch = "x86_64")]
        if const { has_vectors::<S, I>() } {
            // SAFETY: `S` is only run where the processor has it; keys are distinct, since their positions are.
            return unsafe { avx512::sort(keys.as_ptr(), *len, sorted[1..].as_mut_ptr()) };
        }
        let padded = len.next_multiple_of(LANES);
        keys[*len..padded].fill(u32::MAX);
        let (vectors, _) = keys[..padded].as_chunks::<LANES>();
        for own in vectors {
            let mut ranks = [0; LANES];
            for &key in &keys[..*len] {
                for (rank, own) in ranks.iter_mut().zip(own) {
                    *rank += u32::from(key < *own);
                }
            }
            for (rank, &key) in ranks.into_iter().zip(own) {
                sorted[1 + rank as usize] = key;
            }
        }
    }

    /// The columns of the sorted keys, each with the position of its product.
    #[inline(always)]
    fn sorted(&self) -> impl Iterator<Item = (usize, usize)> {
        let (bits, first) = (self.bits, self.first);
        let position = (1 << bits) - 1;
        let keys = self.sorted[1..][..self.len].iter();
        keys.map(move |key| (first + (key >> bits) as usize, (key & position) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Simd, Vectorize};

    struct Sums<'a> {
        columns: &'a [i32],
        window: usize,
    }

    impl Vectorize for Sums<'_> {
        type Out = (Vec<i32>, Vec<f32>);

        #[inline(always)]
        fn run<S: Isa>(self) -> Self::Out {
            let Self { columns, window } = self;
            assert!(Ranked::fits(columns.len(), window) && !Ranked::fits(columns.len(), window + 1));
            let (mut ranked, mut found, mut sums, mut again) =
                (Ranked::default(), vec![-1], vec![-1.0], vec![-1]);
            ranked.begin(1000, columns.len());
            columns.chunks(19).for_each(|columns| ranked.push::<S, i32>(columns));
            let mut products: Vec<_> = (1..=columns.len()).map(|k| 1.0 / k as f32).collect();
            products.resize(RANKED, f32::NAN);
            ranked.append::<S, f32, i32>(&products, &mut found, &mut sums);
            ranked.append_columns::<S, i32>(&mut again);
            assert_eq!(found, again);
            (found, sums)
        }
    }

    #[test]
    fn columns_are_sorted_and_sums_have_the_order_of_the_products() {
        for len in 1..=RANKED {
            let window = (u32::MAX >> bits(len)) as usize - 1;
            let far = (window / 23).min(10_000_000);
            let columns: Vec<_> = (0..len).map(|k| (1000 + k * 37 % 23 * far) as i32).collect();
            let mut sums = std::collections::BTreeMap::from([(-1, -1.0)]);
            for (k, &column) in columns.iter().enumerate() {
                *sums.entry(column).or_insert(0.0) += 1.0 / (k + 1) as f32;
            }
            for simd in [Simd::Portable, Simd::detect()] {
                let found = simd.run(Sums { columns: &columns, window });
                assert_eq!(found, sums.clone().into_iter().unzip(), "{len} products by {}", simd.name());
            }
        }
        assert!(!Ranked::fits(RANKED + 1, 1));
    }
}
