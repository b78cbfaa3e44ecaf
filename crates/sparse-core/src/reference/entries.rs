//! The stored entries of every format, and the merging of entries with one coordinate.

use crate::error::{Error, Result};
use crate::format::{Axis, BatchCompressed, Compressed, Coo, Ell, HostCsr, Hyb, Sell, SparseFormat};
use crate::index::Index;
use crate::op::Duplicates;
use crate::scalar::{Scalar, rounded_sum};
use crate::space::Host;

/// Row, column and value of a stored entry.
pub type Entry<T> = (usize, usize, T);

/// A matrix in host memory whose stored entries can be enumerated.
///
/// Nearly every operation of the [`Reference`](super::Reference) is one function over this trait: a format that
/// implements it has them all.
pub trait Entries: SparseFormat<Space = Host> {
    /// All entries, those of each row in storage order. Padding is no entry.
    fn entries(&self) -> impl Iterator<Item = Entry<Self::Scalar>> + '_;
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Entries for Compressed<A, T, Host, I, O> {
    fn entries(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        self.triplets()
    }
}

impl<T: Scalar, I: Index, O: Index> Entries for HostCsr<T, I, O> {
    fn entries(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        self.as_ref().triplets()
    }
}

impl<T: Scalar, I: Index> Entries for Coo<T, Host, I> {
    fn entries(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        self.triplets()
    }
}

impl<T: Scalar, I: Index> Entries for Ell<T, Host, I> {
    fn entries(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        (0..self.nrows()).flat_map(|i| self.row_entries(i).map(move |(j, value)| (i, j, value)))
    }
}

impl<T: Scalar, I: Index> Entries for Hyb<T, Host, I> {
    fn entries(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        self.ell().entries().chain(self.coo().entries())
    }
}

impl<T: Scalar, I: Index, O: Index> Entries for Sell<T, Host, I, O> {
    fn entries(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        self.row_order().iter().enumerate().flat_map(|(position, row)| {
            let i = row.as_usize();
            self.stored_row_entries(position).map(move |(j, value)| (i, j, value))
        })
    }
}

/// The block-diagonal matrix of the members.
impl<A: Axis, T: Scalar, I: Index, O: Index> Entries for BatchCompressed<A, T, Host, I, O> {
    fn entries(&self) -> impl Iterator<Item = Entry<T>> + '_ {
        let (rows, cols) = self.member_shape();
        (0..self.count()).flat_map(move |k| {
            self.member(k).triplets().map(move |(i, j, value)| (k * rows + i, k * cols + j, value))
        })
    }
}

/// Puts entries in order of `key`; those with equal keys keep their order.
pub(super) fn sorted<T>(
    entries: impl Iterator<Item = Entry<T>>,
    key: &dyn Fn(usize, usize) -> (usize, usize),
) -> Vec<Entry<T>> {
    let mut sorted = vec![];
    // Collecting nested iterators costs the compiler far more code, for every format and type.
    entries.for_each(|entry| sorted.push(entry));
    sort(&mut sorted, key);
    sorted
}

/// Has only the entries as type parameter, so that sorting is compiled once for all formats.
fn sort<T>(entries: &mut [Entry<T>], key: &dyn Fn(usize, usize) -> (usize, usize)) {
    entries.sort_by_key(|&(i, j, _)| key(i, j));
}

/// Merges neighbours with one coordinate into one entry, as `duplicates` says.
pub(super) fn merge<T: Scalar>(entries: Vec<Entry<T>>, duplicates: Duplicates) -> Result<Vec<Entry<T>>> {
    if duplicates == Duplicates::Keep {
        return Ok(entries);
    }
    entries
        .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
        .map(|same| {
            let (i, j, first) = same[0];
            match duplicates {
                Duplicates::Error if same.len() > 1 => {
                    Err(Error::format("coo", format_args!("row {i}: column {j} stands {} times", same.len())))
                }
                Duplicates::Sum => Ok((i, j, sum(same))),
                Duplicates::Last => Ok((i, j, same[same.len() - 1].2)),
                Duplicates::Keep | Duplicates::Error => Ok((i, j, first)),
            }
        })
        .collect()
}

fn sum<T: Scalar>(same: &[Entry<T>]) -> T {
    rounded_sum(same.iter().map(|entry| entry.2)).unwrap_or(T::ZERO)
}
