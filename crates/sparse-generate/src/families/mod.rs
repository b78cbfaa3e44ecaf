//! Families of matrices for fitting a choice of algorithms, and others for judging it.
//!
//! A choice tuned on a few matrices fits only those. The families here are the sources of sparse matrices: meshes,
//! circuits, constraints of linear programs and of satisfiability, ratings, texts, roads, graphs. A whole family is
//! either for fitting or for judging, so that a choice is judged by structures that it was not fitted to.
//!
//! | family | half | structure | matrices, with transposes |
//! |---|---|---|--:|
//! | `mesh_2d` | fit | grids of 5 and 9 points, 1 to 6 unknowns a node, also reordered and with holes | 11 |
//! | `circuit` | fit | few near neighbours a node, and rails: dense rows and columns | 8 |
//! | `program` | fit | linear programs: short rows in a staircase, links through all of it, set covers | 12 |
//! | `ratings` | fit | power laws in rows and columns | 8 |
//! | `rmat` | fit | R-MAT from even to heavily skewed | 9 |
//! | `uniform` | fit | rows of one length, 1 to 2000, in random columns | 20 |
//! | `sparse_rows` | fit | most rows are empty, up to 999 of 1000 | 10 |
//! | `mesh_3d` | judge | grids of 7 and 27 points, 1 to 6 unknowns a node, also reordered and with holes | 13 |
//! | `clauses` | judge | clauses of 2 and 3 variables, few of many | 10 |
//! | `netlist` | judge | nets of 2 pins and some of thousands, near each other | 6 |
//! | `text` | judge | documents and the words in them, by Zipf | 8 |
//! | `road` | judge | 1 to 4 neighbours in the plane | 5 |
//! | `social` | judge | Chung-Lu graphs by power laws | 7 |
//! | `band` | judge | bands and single diagonals | 8 |
//! | `blocks` | judge | dense diagonal blocks with couplings | 6 |
//! | `sampled` | judge | neighbourhoods drawn from a graph: some rows have a bounded number | 10 |
//!
//! Most have 0.5 to 10 million entries. Columns ascend and are unique in a row; values are integers from −4 to 4, never
//! 0 (but those of `social`, which are odd multiples of 1/128).

mod bipartite;
mod mesh;
mod rows;
mod structure;
mod table;

pub use bipartite::{Bipartite, Clauses, Program};
pub use mesh::{Circuit, Mesh};
pub use structure::Structure;

use sparse_core::error::Result;
use sparse_core::format::Csr;
use sparse_core::index::Index;
use sparse_core::scalar::Scalar;
use std::collections::BTreeMap;
use table::FAMILIES;

/// The use of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Half {
    /// Choices are fitted to it.
    Fit,
    /// Choices are judged by it.
    Judge,
}

impl Half {
    /// `fit` or `judge`.
    ///
    /// ```
    /// use sparse_generate::families::Half;
    ///
    /// assert_eq!(Half::Judge.name(), "judge");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Fit => "fit",
            Self::Judge => "judge",
        }
    }
}

/// A matrix of a family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// The family.
    pub family: &'static str,
    /// The use of the family.
    pub half: Half,
    /// The name within the family, without the suffix of a transpose.
    name: &'static str,
    /// The structure.
    pub structure: Structure,
    /// True for the transpose of the structure's matrix.
    pub transposed: bool,
}

impl Member {
    /// The family and the name: `mesh_2d/corners`, `ratings/films_t` for a transpose.
    ///
    /// ```
    /// use sparse_generate::families;
    ///
    /// assert!(families::members().any(|member| member.name() == "ratings/films_t"));
    /// ```
    pub fn name(&self) -> String {
        format!("{}/{}{}", self.family, self.name, if self.transposed { "_t" } else { "" })
    }

    /// The matrix, with rows and columns divided by `divisor`: 1 for the whole.
    ///
    /// # Errors
    /// [`Error::Unsupported`](sparse_core::Error::Unsupported) if the structure cannot be divided so;
    /// [`Error::IndexOverflow`](sparse_core::Error::IndexOverflow) if a size does not fit `i32`.
    pub fn generate<T: Scalar>(&self, divisor: usize) -> Result<Csr<T>> {
        let a = self.structure.generate(divisor)?;
        if self.transposed { transposed(&a) } else { Ok(a) }
    }
}

/// Items interleaved by family (the first of each, then the second of each, …), so that any prefix has items of every
/// family.
///
/// ```
/// use sparse_generate::families::in_turn;
///
/// let of_family = |name: &&str| name.split('/').next().unwrap_or_default().to_string();
/// assert_eq!(in_turn(["a/1", "a/2", "b/1"], of_family), ["a/1", "b/1", "a/2"]);
/// ```
pub fn in_turn<T>(items: impl IntoIterator<Item = T>, family: impl Fn(&T) -> String) -> Vec<T> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut numbered: Vec<_> = items
        .into_iter()
        .map(|item| {
            let count = counts.entry(family(&item)).or_default();
            *count += 1;
            (*count, item)
        })
        .collect();
    numbered.sort_by_key(|&(number, _)| number);
    numbered.into_iter().map(|(_, item)| item).collect()
}

/// The matrices of all families, with the transposes of those whose rows and columns differ.
///
/// ```
/// use sparse_core::SparseFormat;
/// use sparse_generate::families;
///
/// let member = families::members().find(|member| member.name() == "band/three").unwrap();
/// let a = member.generate::<f32>(1 << 20)?;
/// assert_eq!((a.nrows(), a.nnz()), (2, 4));
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub fn members() -> impl Iterator<Item = Member> {
    FAMILIES.iter().flat_map(|family| {
        family.members.iter().flat_map(|&(name, structure)| {
            let whole = Member { family: family.name, half: family.half, name, structure, transposed: false };
            let turned = family.transposes.then_some(Member { transposed: true, ..whole });
            [Some(whole), turned].into_iter().flatten()
        })
    })
}

/// Aᵀ by rows: counts the entries of each column, then appends each entry to its column.
///
/// ```
/// use sparse_core::Csr;
/// use sparse_generate::families;
///
/// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
/// assert!(families::transposed(&a)?.triplets().eq([(0, 0, 1.0), (1, 1, 3.0), (2, 0, 2.0)]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// Those of [`Csr::new_unsorted`].
pub fn transposed<T: Scalar>(a: &Csr<T>) -> Result<Csr<T>> {
    let mut next = vec![0; a.ncols() + 1];
    a.col_idx().iter().for_each(|&col| next[col as usize + 1] += 1);
    for col in 0..a.ncols() {
        next[col + 1] += next[col];
    }
    let offsets = next.clone();
    let (mut indices, mut values) = (vec![0; a.nnz()], vec![T::ZERO; a.nnz()]);
    for row in 0..a.nrows() {
        for (col, value) in a.major_entries(row) {
            let place = next[col] as usize;
            (indices[place], values[place]) = (i32::cast(row), value);
            next[col] += 1;
        }
    }
    Csr::new_unsorted(a.ncols(), a.nrows(), offsets, indices, values)
}
