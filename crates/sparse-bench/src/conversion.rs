//! Conversions to CSR by ours and by other libraries, and their arrays on the host.

use crate::product::planned;
use crate::value::Value;
use rayon::prelude::*;
use sparse_core::{Backend, BatchCsr, Csr, Host, Result as CoreResult, SparseFormat};
use sparse_device::{Buffer, Device};

/// The arrays of a CSR matrix, or of a batch, on the host.
pub(crate) struct Arrays<T> {
    pub(crate) offsets: Vec<i32>,
    pub(crate) indices: Vec<i32>,
    pub(crate) values: Vec<T>,
}

impl<T> Default for Arrays<T> {
    fn default() -> Self {
        Self { offsets: vec![], indices: vec![], values: vec![] }
    }
}

impl<T: Value> Arrays<T> {
    /// The arrays of a device.
    pub(crate) fn download(
        device: &Device,
        offsets: &Buffer<i32>,
        indices: &Buffer<i32>,
        values: &Buffer<T>,
    ) -> CoreResult<Self> {
        let (offsets, indices) = (device.download(offsets)?, device.download(indices)?);
        Ok(Self { offsets, indices, values: device.download(values)? })
    }

    /// The bytes of all of them.
    pub(crate) fn bytes(&self) -> u64 {
        let indices = size_of_val(&self.offsets[..]) + size_of_val(&self.indices[..]);
        (indices + size_of_val(&self.values[..])) as u64
    }

    /// The entries of each row of a matrix in the order of their columns.
    pub(crate) fn with_sorted_rows(self) -> Self {
        let Self { offsets, indices, values } = self;
        let mut entries: Vec<_> = indices.into_iter().zip(values).collect();
        let (mut rows, mut left) = (vec![], entries.as_mut_slice());
        for ends in offsets.windows(2) {
            rows.extend(left.split_off_mut(..(ends[1] - ends[0]) as usize));
        }
        rows.into_par_iter().for_each(|row| row.sort_by_key(|&(column, _)| column));
        let (indices, values) = entries.into_iter().unzip();
        Self { offsets, indices, values }
    }

    /// The first difference between the arrays and the expected ones.
    pub(crate) fn difference(&self, expected: &Self) -> Option<String> {
        first_difference("offsets", &self.offsets, &expected.offsets)
            .or_else(|| first_difference("indices", &self.indices, &expected.indices))
            .or_else(|| first_difference("values", &self.values, &expected.values))
    }
}

fn first_difference<T: PartialEq + std::fmt::Debug>(
    name: &str,
    found: &[T],
    expected: &[T],
) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} {name} where there are {}", found.len(), expected.len()));
    }
    let k = (0..found.len()).find(|&k| found[k] != expected[k])?;
    Some(format!("{name}[{k}] is {:?} where {:?} is right", found[k], expected[k]))
}

impl<T: Value> From<Csr<T>> for Arrays<T> {
    fn from(a: Csr<T>) -> Self {
        let (offsets, indices, values) = a.into_parts();
        Self { offsets, indices, values }
    }
}

impl<T: Value> From<BatchCsr<T>> for Arrays<T> {
    fn from(a: BatchCsr<T>) -> Self {
        Self { offsets: a.offsets().clone(), indices: a.indices().clone(), values: a.values().clone() }
    }
}

/// A conversion to CSR.
pub(crate) trait Convert<T> {
    /// Enqueues it; the last result is dropped. Returns the seconds that it took, if it has a clock of its own.
    fn run(&mut self) -> CoreResult<Option<f64>>;

    /// The result of the last run.
    fn arrays(&mut self) -> CoreResult<Arrays<T>>;
}

/// A conversion that runs any number of times.
pub(crate) struct Started<'a, T> {
    pub(crate) convert: Box<dyn Convert<T> + 'a>,
    /// The seconds of its plan, if it has one.
    pub(crate) plan_seconds: Option<f64>,
}

/// Makes the plan and the memory that all runs share.
type Start<'a, T> = Box<dyn FnOnce() -> CoreResult<Started<'a, T>> + 'a>;

/// A named conversion, which takes no memory of a device before it is started.
pub(crate) struct Conversion<'a, T> {
    pub(crate) name: String,
    pub(crate) start: Start<'a, T>,
}

impl<'a, T: Value> Conversion<'a, T> {
    /// A conversion without a plan.
    pub(crate) fn new<C: Convert<T> + 'a>(name: &str, start: impl FnOnce() -> CoreResult<C> + 'a) -> Self {
        let start = move || Ok(Started { convert: Box::new(start()?), plan_seconds: None });
        Self { name: name.into(), start: Box::new(start) }
    }

    /// A conversion with a plan, which is made once and timed.
    pub(crate) fn planned<P: 'a, C: Convert<T> + 'a>(
        name: &str,
        device: &'a Device,
        plan: impl Fn() -> CoreResult<P> + 'a,
        convert: impl FnOnce(P) -> C + 'a,
    ) -> Self {
        let start = move || {
            let (plan, seconds) = planned(device, plan)?;
            Ok(Started { convert: Box::new(convert(plan)), plan_seconds: Some(seconds) })
        };
        Self { name: name.into(), start: Box::new(start) }
    }

    /// One of ours, which `make`s a new matrix in every run.
    pub(crate) fn ours<M>(
        name: &str,
        device: &'a Device,
        mut make: impl FnMut() -> CoreResult<M> + 'a,
    ) -> Self
    where
        M: SparseFormat<Space = Device, In<Host>: Into<Arrays<T>>> + 'a,
    {
        let make = move |last: Option<M>| {
            drop(last);
            make()
        };
        Self::new(name, move || Ok(Latest { device, make, made: None }))
    }

    /// One of ours with a plan, which `make`s a new matrix in every run.
    pub(crate) fn ours_planned<P: 'a, M>(
        name: &str,
        device: &'a Device,
        plan: impl Fn() -> CoreResult<P> + 'a,
        mut make: impl FnMut(&mut P) -> CoreResult<M> + 'a,
    ) -> Self
    where
        M: SparseFormat<Space = Device, In<Host>: Into<Arrays<T>>> + 'a,
    {
        Self::ours_into(name, device, plan, move |plan, last| {
            drop(last);
            make(plan)
        })
    }

    /// One of ours with a plan, which writes into the matrix of the last run, if there is one.
    pub(crate) fn ours_into<P: 'a, M>(
        name: &str,
        device: &'a Device,
        plan: impl Fn() -> CoreResult<P> + 'a,
        mut make: impl FnMut(&mut P, Option<M>) -> CoreResult<M> + 'a,
    ) -> Self
    where
        M: SparseFormat<Space = Device, In<Host>: Into<Arrays<T>>> + 'a,
    {
        Self::planned(name, device, plan, move |mut plan| {
            let make = move |last: Option<M>| make(&mut plan, last);
            Latest { device, make, made: None }
        })
    }
}

/// The matrix of the last run.
struct Latest<'a, F, M> {
    device: &'a Device,
    make: F,
    made: Option<M>,
}

impl<F, M, T: Value> Convert<T> for Latest<'_, F, M>
where
    F: FnMut(Option<M>) -> CoreResult<M>,
    M: SparseFormat<Space = Device, In<Host>: Into<Arrays<T>>>,
{
    fn run(&mut self) -> CoreResult<Option<f64>> {
        let last = self.made.take();
        self.made = Some((self.make)(last)?);
        Ok(None)
    }

    fn arrays(&mut self) -> CoreResult<Arrays<T>> {
        match &self.made {
            Some(made) => Ok(made.to_host(self.device)?.into()),
            None => Ok(Arrays::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_their_columns() {
        let (offsets, indices) = (vec![0, 3, 3, 5], vec![7, 0, 2, 5, 1]);
        let sorted =
            Arrays { offsets, indices, values: vec![1.0_f32, 2.0, 3.0, 4.0, 5.0] }.with_sorted_rows();
        assert_eq!(sorted.indices, [0, 2, 7, 1, 5]);
        assert_eq!(sorted.values, [2.0, 3.0, 1.0, 5.0, 4.0]);
        assert_eq!(sorted.bytes(), 4 * (4 + 5 + 5));
    }
}
