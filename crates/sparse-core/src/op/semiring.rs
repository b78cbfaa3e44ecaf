//! Products over a user's semiring: `c_ij = ⊕_k a_ik ⊗ b_kj`, where the caller defines addition ⊕ and multiplication ⊗.
//!
//! | semiring | addition | multiplication | zero | one product computes |
//! |---|---|---|---|---|
//! | [`MinPlus`] | minimum | sum | ∞ | a step of shortest paths |
//! | [`OrAnd`] | or | and | false | a step of a search in a graph |
//!
//! B is dense ([`SemiringProducts::semiring_spmm`]) or sparse ([`SemiringProducts::semiring_spgemm`]).
//!
//! The operation calls the user's code for each entry, so only backends in the host's memory have it: the serial
//! reference and the CPU, for CSR. It is compiled in the calling program, for the types of the call. Entries of A may
//! be of any type, too, such as elements of a finite field ([`SemiringProducts::semiring_spmm_with`]).

use super::semiring_spgemm::{PatternElements, PatternValues, ProductRows, SemiringSpgemm};
use crate::backend::Backend;
use crate::checks::check_size;
use crate::error::{Result, checked_product};
use crate::format::{CompressedPattern, Csr};
use crate::index::Index;
use crate::scalar::{Real, Scalar};
use crate::space::Host;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

const OP: &str = "semiring";

/// An addition of elements with a neutral zero, and a multiplication of values of A, of type `T`, with elements.
///
/// Addition should be associative; a result adds its products in the order of the entries of their row, from zero on.
///
/// ```
/// use sparse_core::op::{Semiring, SemiringProducts};
/// use sparse_core::{Csr, reference::Reference};
///
/// /// The most that can be carried along a path, whose weakest edge limits it.
/// struct MaxMin;
///
/// impl Semiring<f64> for MaxMin {
///     type Element = f64;
///
///     fn zero(&self) -> f64 {
///         0.0
///     }
///
///     fn add(&self, a: f64, b: f64) -> f64 {
///         a.max(b)
///     }
///
///     fn multiply(&self, value: f64, element: f64) -> f64 {
///         value.min(element)
///     }
/// }
///
/// let capacities = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![4.0, 9.0, 7.0])?;
/// let mut most = [0.0; 2];
/// Reference.semiring_spmv(&MaxMin, &capacities, &[5.0, 8.0], &mut most)?;
/// assert_eq!(most, [8.0, 7.0]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub trait Semiring<T>: Sync {
    /// The type of the elements of B and C.
    type Element: Copy + Send + Sync;

    /// The result where there is nothing to add.
    fn zero(&self) -> Self::Element;

    /// `a ⊕ b`.
    fn add(&self, a: Self::Element, b: Self::Element) -> Self::Element;

    /// `value ⊗ element`.
    fn multiply(&self, value: T, element: Self::Element) -> Self::Element;
}

/// Shortest paths: the addition is the minimum, the multiplication the sum, and zero is infinite.
///
/// ```
/// use sparse_core::op::{MinPlus, SemiringProducts};
/// use sparse_core::{Csr, reference::Reference};
///
/// // Roads into 0 from 1 (length 4) and into 1 from 2 (length 3); the zeros on the diagonal stand for staying.
/// let roads = [(0, 0, 0.0), (0, 1, 4.0), (1, 1, 0.0), (1, 2, 3.0), (2, 2, 0.0)];
/// let roads = Csr::<f64>::from_triplets(3, 3, roads)?;
/// let (mut near, mut far) = ([0.0; 3], [0.0; 3]);
/// Reference.semiring_spmv(&MinPlus, &roads, &[f64::INFINITY, f64::INFINITY, 0.0], &mut near)?;
/// Reference.semiring_spmv(&MinPlus, &roads, &near, &mut far)?;
/// assert_eq!((near, far), ([f64::INFINITY, 3.0, 0.0], [7.0, 3.0, 0.0]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MinPlus;

impl<R: Real> Semiring<R> for MinPlus {
    type Element = R;

    fn zero(&self) -> R {
        R::infinity()
    }

    fn add(&self, a: R, b: R) -> R {
        a.min(b)
    }

    fn multiply(&self, value: R, element: R) -> R {
        value + element
    }
}

/// Reachability: the addition is or, the multiplication and; every entry of A counts as true, explicit zeros included.
///
/// ```
/// use sparse_core::op::{OrAnd, SemiringProducts};
/// use sparse_core::{Csr, reference::Reference};
///
/// let edges = Csr::<f32>::from_triplets(3, 3, [(0, 1, 1.0), (1, 2, 1.0)])?;
/// let mut reached = [true; 3];
/// Reference.semiring_spmv(&OrAnd, &edges, &[false, false, true], &mut reached)?;
/// assert_eq!(reached, [false, true, false]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OrAnd;

impl<T> Semiring<T> for OrAnd {
    type Element = bool;

    fn zero(&self) -> bool {
        false
    }

    fn add(&self, a: bool, b: bool) -> bool {
        a || b
    }

    fn multiply(&self, _: T, element: bool) -> bool {
        element
    }
}

/// A product over a semiring, with checked shapes: A in CSR with values of any type, B and C of `columns` columns, row
/// by row.
pub struct SemiringProduct<'a, S: Semiring<V>, V, I: Index, O: Index> {
    semiring: &'a S,
    pattern: &'a CompressedPattern<Host, I, O>,
    values: &'a [V],
    b: &'a [S::Element],
    columns: usize,
}

impl<S: Semiring<V>, V: Copy, I: Index, O: Index> SemiringProduct<'_, S, V, I, O> {
    /// The pattern of A.
    pub fn pattern(&self) -> &CompressedPattern<Host, I, O> {
        self.pattern
    }

    /// The number of columns of B and C, at least 1.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Writes a row of C.
    pub fn write_row(&self, row: usize, c: &mut [S::Element]) {
        c.fill(self.semiring.zero());
        let entries = self.pattern.range(row);
        for (k, &value) in self.pattern.indices()[entries.clone()].iter().zip(&self.values[entries]) {
            let b = &self.b[k.as_usize() * self.columns..][..self.columns];
            for (c, &b) in c.iter_mut().zip(b) {
                *c = self.semiring.add(*c, self.semiring.multiply(value, b));
            }
        }
    }
}

impl<S: Semiring<V>, V, I: Index, O: Index> Debug for SemiringProduct<'_, S, V, I, O> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SemiringProduct")
            .field("pattern", self.pattern)
            .field("columns", &self.columns)
            .finish()
    }
}

/// Products over a user's semiring, in the host's memory.
pub trait SemiringProducts: Backend<Space = Host> {
    /// `C ← A·B` over the semiring, where B and C have `columns` columns and are stored row by row.
    ///
    /// The results do not depend on the number of threads.
    ///
    /// ```
    /// use sparse_core::op::{MinPlus, SemiringProducts};
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(1, 2, vec![0, 2], vec![0, 1], vec![1.0, 2.0])?;
    /// let mut c = [0.0; 2];
    /// Reference.semiring_spmm(&MinPlus, &a, &[5.0, 9.0, 6.0, 7.0], 2, &mut c)?;
    /// assert_eq!(c, [6.0, 9.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) unless `b` has `columns` elements for each column of A and `c` has as many for
    /// each row.
    fn semiring_spmm<S: Semiring<T>, T: Scalar, I: Index, O: Index>(
        &self,
        semiring: &S,
        a: &Csr<T, Host, I, O>,
        b: &[S::Element],
        columns: usize,
        c: &mut [S::Element],
    ) -> Result<()> {
        self.semiring_spmm_with(semiring, (a.pattern(), a.values()), b, columns, c)
    }

    /// [`semiring_spmm`](Self::semiring_spmm) of an A with values of any type, such as elements of a finite field: the
    /// pattern of a CSR matrix, and a value for each entry in the order of the entries. The matrix's own values are not
    /// read. A pattern does not tell its axis: that of a CSC matrix A is taken as the pattern of Aᵀ in CSR, and then
    /// C = Aᵀ·B.
    ///
    /// ```
    /// use sparse_core::op::{Semiring, SemiringProducts};
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// /// Integers modulo 2⁶¹ − 1, more than an f64 holds.
    /// struct Modulo;
    ///
    /// impl Semiring<u64> for Modulo {
    ///     type Element = u64;
    ///
    ///     fn zero(&self) -> u64 {
    ///         0
    ///     }
    ///
    ///     fn add(&self, a: u64, b: u64) -> u64 {
    ///         (a + b) % ((1 << 61) - 1)
    ///     }
    ///
    ///     fn multiply(&self, a: u64, b: u64) -> u64 {
    ///         (u128::from(a) * u128::from(b) % ((1 << 61) - 1)) as u64
    ///     }
    /// }
    ///
    /// // Each entry holds its position among the values, which tells their order in the transpose.
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 0], vec![0.0, 1.0, 2.0])?;
    /// let values = [1 << 60, 3, 5];
    /// let mut y = [0; 2];
    /// Reference.semiring_spmm_with(&Modulo, (a.pattern(), &values), &[4, 1 << 60], 1, &mut y)?;
    /// assert_eq!(y, [3 * (1 << 60) % ((1 << 61) - 1) + 2, 20]);
    ///
    /// let transpose = Csr::<f64>::from_triplets(2, 2, a.triplets().map(|(i, j, position)| (j, i, position)))?;
    /// let values: Vec<u64> = transpose.values().iter().map(|&position| values[position as usize]).collect();
    /// assert_eq!(values, [1 << 60, 5, 3]);
    /// Reference.semiring_spmm_with(&Modulo, (transpose.pattern(), &values), &[0, 1], 1, &mut y)?;
    /// assert_eq!(y, [5, 0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`semiring_spmm`](Self::semiring_spmm); [`Shape`](crate::Error::Shape) unless there is a value for each
    /// entry.
    fn semiring_spmm_with<S: Semiring<V>, V: Copy + Sync, I: Index, O: Index>(
        &self,
        semiring: &S,
        (pattern, values): (&CompressedPattern<Host, I, O>, &[V]),
        b: &[S::Element],
        columns: usize,
        c: &mut [S::Element],
    ) -> Result<()> {
        let elements = |rows| checked_product("rows x columns", rows, columns);
        check_size(OP, "the number of values of A", pattern.indices().len(), values.len())?;
        check_size(OP, "the number of elements of B", elements(pattern.minor())?, b.len())?;
        check_size(OP, "the number of elements of C", elements(pattern.major())?, c.len())?;
        if columns > 0 {
            self.run_semiring(&SemiringProduct { semiring, pattern, values, b, columns }, c);
        }
        Ok(())
    }

    /// `y ← A·x` over the semiring: [`semiring_spmm`](Self::semiring_spmm) with one column.
    ///
    /// # Errors
    /// Those of [`semiring_spmm`](Self::semiring_spmm).
    fn semiring_spmv<S: Semiring<T>, T: Scalar, I: Index, O: Index>(
        &self,
        semiring: &S,
        a: &Csr<T, Host, I, O>,
        x: &[S::Element],
        y: &mut [S::Element],
    ) -> Result<()> {
        self.semiring_spmm(semiring, a, x, 1, y)
    }

    /// `A·B` of sparse matrices over the semiring, whose elements are the values of B and C: sorted, with an entry
    /// wherever a product arises, be the sum zero or not.
    ///
    /// ```
    /// use sparse_core::op::{MinPlus, SemiringProducts};
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// // Shortest ways of two roads: from 0 over 1 or 2 to 3.
    /// let roads = Csr::<f64>::from_triplets(4, 4, [(0, 1, 4.0), (0, 2, 1.0), (1, 3, 1.0), (2, 3, 3.0)])?;
    /// let two = Reference.semiring_spgemm(&MinPlus, &roads, &roads)?;
    /// assert!(two.triplets().eq([(0, 3, 4.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) unless B has as many rows as A has columns;
    /// [`IndexOverflow`](crate::Error::IndexOverflow) for more entries than `O` counts.
    fn semiring_spgemm<S: Semiring<T, Element = T>, T: Scalar, I: Index, O: Index>(
        &self,
        semiring: &S,
        a: &Csr<T, Host, I, O>,
        b: &Csr<T, Host, I, O>,
    ) -> Result<Csr<T, Host, I, O>> {
        let (a, b) = ((&**a.pattern(), &a.values()[..]), (&**b.pattern(), &b.values()[..]));
        let (pattern, values) = self.semiring_spgemm_with(semiring, a, b, None)?;
        Csr::from_pattern(pattern, values)
    }

    /// `C⟨M⟩ = A·B` over the semiring: its elements at the entries of `mask`, whose values are not read; the zero of
    /// the semiring where no product arises. The memory is that of the mask.
    ///
    /// ```
    /// use sparse_core::op::{MinPlus, SemiringProducts};
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// let roads = Csr::<f64>::from_triplets(3, 3, [(0, 1, 4.0), (1, 2, 1.0), (0, 2, 9.0), (2, 1, 3.0)])?;
    /// let two = Reference.semiring_spgemm_masked(&MinPlus, &roads, &roads, &roads)?; // where there is a road
    /// assert!(two.triplets().eq([
    ///     (0, 1, 12.0),
    ///     (0, 2, 5.0),
    ///     (1, 2, f64::INFINITY),
    ///     (2, 1, f64::INFINITY)
    /// ]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`semiring_spgemm`](Self::semiring_spgemm); [`Shape`](crate::Error::Shape) for a mask of another shape
    /// than C, [`Format`](crate::Error::Format) for one that is not sorted or has a coordinate twice.
    fn semiring_spgemm_masked<S: Semiring<T, Element = T>, T: Scalar, I: Index, O: Index>(
        &self,
        semiring: &S,
        a: &Csr<T, Host, I, O>,
        b: &Csr<T, Host, I, O>,
        mask: &Csr<T, Host, I, O>,
    ) -> Result<Csr<T, Host, I, O>> {
        let (a, b) = ((&**a.pattern(), &a.values()[..]), (&**b.pattern(), &b.values()[..]));
        let (pattern, values) = self.semiring_spgemm_with(semiring, a, b, Some(mask.pattern()))?;
        Csr::from_pattern(pattern, values)
    }

    /// [`semiring_spgemm`](Self::semiring_spgemm), or [`semiring_spgemm_masked`](Self::semiring_spgemm_masked) with the
    /// pattern of a mask, for values of any type: patterns of CSR, and a value for each entry. So is C.
    ///
    /// ```
    /// use sparse_core::op::{OrAnd, SemiringProducts};
    /// use sparse_core::{Csr, SparseFormat, reference::Reference};
    ///
    /// let edges = Csr::<f32>::from_triplets(3, 3, [(0, 1, 0.5), (1, 2, 2.0)])?;
    /// let (a, b) = ((&**edges.pattern(), &edges.values()[..]), (&**edges.pattern(), &vec![true; edges.nnz()][..]));
    /// let (pattern, reached) = Reference.semiring_spgemm_with(&OrAnd, a, b, None)?;
    /// assert_eq!((pattern.offsets(), pattern.indices(), reached), (&vec![0, 1, 1, 1], &vec![2], vec![true]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`semiring_spgemm_masked`](Self::semiring_spgemm_masked); [`Shape`](crate::Error::Shape) unless there
    /// is a value for each entry.
    fn semiring_spgemm_with<S: Semiring<V>, V: Copy + Sync, I: Index, O: Index>(
        &self,
        semiring: &S,
        a: PatternValues<'_, V, I, O>,
        b: PatternValues<'_, S::Element, I, O>,
        mask: Option<&Arc<CompressedPattern<Host, I, O>>>,
    ) -> Result<PatternElements<S::Element, I, O>> {
        let product = SemiringSpgemm::new(semiring, a, b, mask)?;
        product.assemble(self.run_semiring_spgemm(&product))
    }

    /// Writes every row of C.
    fn run_semiring<S: Semiring<V>, V: Copy + Sync, I: Index, O: Index>(
        &self,
        product: &SemiringProduct<'_, S, V, I, O>,
        c: &mut [S::Element],
    );
    /// Computes every row of a sparse C, in parts that follow one another.
    fn run_semiring_spgemm<S: Semiring<V>, V: Copy + Sync, I: Index, O: Index>(
        &self,
        product: &SemiringSpgemm<'_, S, V, I, O>,
    ) -> Vec<ProductRows<S::Element, I>>;
}
