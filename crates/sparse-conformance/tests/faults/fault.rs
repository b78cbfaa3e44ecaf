//! The faults: changes of operands and results.

use sparse_core::format::Transfer;
use sparse_core::reference::Entries;
use sparse_core::{DenseViewMut, Element, Host, Result, SparseFormat};
use std::any::TypeId;

/// A fault of a backend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    None,
    LosesAnEntry,
    DropsAnEntry,
    ReadsTheNextColumn,
    ShiftsAnIndex,
    KeepsAnElement,
    KeepsTheFirstResult,
    ReadsYAtBetaZero,
    WritesPastTheEnd,
    WrongLeadingDimension,
    AccumulatesInF32,
    DependsOnThreadOrder,
    DependsOnThreadCount,
    KeepsTheDirection,
    ForgetsAnUpload,
    DropsZeros,
    TakesAlphaForBeta,
    TakesTheOtherTriangle,
    ForgetsTheRowBefore,
    SolvesOneColumn,
}

impl Fault {
    /// The matrix as the fault has it read.
    pub(crate) fn operand<M: OnHost>(self, a: &M) -> Result<M> {
        let in_values = matches!(self, Self::DropsAnEntry | Self::AccumulatesInF32);
        a.transfer(&Copies(if in_values { self } else { Self::None }))
    }

    /// The matrix of a triangular system as the fault has it read.
    pub(crate) fn system<M: OnHost + Entries>(self, a: &M) -> Result<M> {
        if self != Self::ForgetsTheRowBefore {
            return self.operand(a);
        }
        a.transfer(&Zeroed(a.entries().map(|(row, col, _)| row.abs_diff(col) == 1).collect()))
    }

    /// The elements of x, or of all of B, as the fault has them read.
    pub(crate) fn elements(self, x: &[f64]) -> Vec<f64> {
        let mut x = x.to_vec();
        if self == Self::ReadsTheNextColumn && !x.is_empty() {
            x.rotate_left(1);
        }
        x
    }

    /// Plants the fault in a vector, or in a dense matrix with its padding, that had the elements `before`.
    pub(crate) fn spoil<T: Element>(self, before: &[T], y: &mut [T]) {
        match self {
            Self::KeepsAnElement => y[0] = before[0],
            Self::AccumulatesInF32 => narrow(elements_of(y)),
            _ => {}
        }
    }

    /// Brings back what the first run left at these positions.
    pub(crate) fn bring_back(self, positions: &[usize], y: &mut [f64], first: &mut Option<Vec<f64>>) {
        if self == Self::KeepsTheFirstResult {
            let first = first.get_or_insert_with(|| positions.iter().map(|&at| y[at]).collect());
            positions.iter().zip(first).for_each(|(&at, first)| y[at] = *first);
        }
    }

    /// Plants the fault in a dense matrix, whose lines may come to stand side by side.
    pub(crate) fn spoil_dense(
        self,
        before: &[f64],
        mut c: DenseViewMut<'_, f64>,
        first: &mut Option<Vec<f64>>,
    ) {
        let ((lines, len), step) = (c.major_minor(), c.leading_dimension());
        let of_row = |row| (0..c.ncols()).map(move |col| (row, col));
        let places = (0..c.nrows()).flat_map(of_row).map(|(row, col)| c.position(row, col));
        let positions: Vec<_> = places.collect();
        let data = c.data_mut();
        self.spoil(before, data);
        self.bring_back(&positions, data, first);
        if self == Self::WrongLeadingDimension {
            (1..lines).for_each(|line| data.copy_within(line * step..line * step + len, line * len));
        }
    }

    /// Plants the fault in the solution of a triangular system.
    pub(crate) fn spoil_solution(self, mut x: DenseViewMut<'_, f64>) {
        if self == Self::SolvesOneColumn {
            let columns = 1..x.ncols();
            let places = |row| columns.clone().map(move |col| (row, col));
            let places = (0..x.nrows()).flat_map(places);
            let places: Vec<_> =
                places.map(|(row, col)| (x.position(row, 0), x.position(row, col))).collect();
            let data = x.data_mut();
            places.into_iter().for_each(|(from, to)| data[to] = data[from]);
        }
    }

    /// The indices of a result as the fault has them.
    pub(crate) fn indices(self, indices: &[i32]) -> Result<Vec<i32>> {
        let shifts = self == Self::ShiftsAnIndex;
        Copies(if shifts { self } else { Self::None }).copy(indices)
    }

    /// Plants the fault in a matrix.
    pub(crate) fn made<M: OnHost>(self, made: M, first: &mut Option<M>) -> Result<M> {
        match self {
            Self::ShiftsAnIndex => made.transfer(&Copies(self)),
            Self::KeepsTheFirstResult => first.get_or_insert(made).transfer(&Copies(Self::None)),
            _ => Ok(made),
        }
    }
}

/// A matrix of double precision on the host.
pub(crate) trait OnHost: SparseFormat<Scalar = f64, Space = Host, In<Host> = Self> + Sized {}

impl<M: SparseFormat<Scalar = f64, Space = Host, In<Host> = M>> OnHost for M {}

/// Copies of arrays, which a fault spoils.
struct Copies(Fault);

// SAFETY: copies have the elements of their views. A column that is shifted stays in the matrix; offsets that are
// shifted belong to results, which the table only looks at.
unsafe impl Transfer<Host, Host> for Copies {
    fn copy<T: Element>(&self, view: &[T]) -> Result<Vec<T>> {
        let mut copy = view.to_vec();
        match self.0 {
            Fault::DropsAnEntry => drop_first::<f64>(elements_of(&mut copy)),
            Fault::AccumulatesInF32 => narrow(elements_of(&mut copy)),
            Fault::ShiftsAnIndex => {
                if let Some(index) = elements_of::<_, i32>(&mut copy).iter_mut().find(|index| **index > 0) {
                    *index -= 1;
                }
            }
            _ => {}
        }
        Ok(copy)
    }
}

/// Copies of arrays in which some values, in the order of entries, are zero.
struct Zeroed(Vec<bool>);

// SAFETY: copies have the elements of their views but some values.
unsafe impl Transfer<Host, Host> for Zeroed {
    fn copy<T: Element>(&self, view: &[T]) -> Result<Vec<T>> {
        let mut copy = view.to_vec();
        let values = elements_of::<_, f64>(&mut copy).iter_mut();
        values.zip(&self.0).filter(|(_, is_zero)| **is_zero).for_each(|(value, _)| *value = 0.0);
        Ok(copy)
    }
}

/// The elements as those of type `U`; none where they are of another.
pub(crate) fn elements_of<T: Element, U: Element>(elements: &mut [T]) -> &mut [U] {
    if TypeId::of::<T>() == TypeId::of::<U>() { bytemuck::cast_slice_mut(elements) } else { &mut [] }
}

/// Makes the first element that is not zero one.
pub(crate) fn drop_first<T: Element>(elements: &mut [T]) {
    if let Some(first) = elements.iter_mut().find(|element| **element != T::default()) {
        *first = T::default();
    }
}

/// Rounds to single precision.
fn narrow(elements: &mut [f64]) {
    elements.iter_mut().for_each(|element| *element = f64::from(*element as f32));
}
