//! The graph of a square matrix: orderings, components, bandwidth and profile.
//!
//! Node k is row and column k; an entry in row i and column j is an edge from i to j.

mod components;
mod order;

use crate::backend::zeroed_vec;
use crate::error::{Error, Result, check_square};
use crate::format::{Axis, Compressed, inverse_permutation};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::Host;
pub use components::{Components, Connection};

/// A directed graph: the pattern of a square matrix, sorted, without duplicates.
///
/// ```
/// use sparse_core::{Csr, graph::Graph};
/// // A path of five nodes: 3 - 0 - 4 - 1 - 2.
/// let edges = [(3, 0), (0, 4), (4, 1), (1, 2)];
/// let a = Csr::<f64>::from_triplets(5, 5, edges.map(|(i, j)| (i, j, 1.0)))?;
/// let graph = Graph::of(&a)?;
/// assert_eq!(graph.bandwidth(), (3, 4));
/// let p = graph.reverse_cuthill_mckee();
/// assert_eq!(p, [2, 1, 4, 0, 3]);
/// let permuted = Graph::of(&a.select(&p, &p)?)?;
/// assert_eq!(permuted.bandwidth(), (1, 0));
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    offsets: Vec<usize>,
    targets: Vec<usize>,
}

impl Graph {
    /// The graph of a matrix. O(rows + nnz·log nnz).
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if the matrix is not square; [`OutOfMemory`](Error::OutOfMemory) if the host cannot
    /// allocate an offset for each row.
    pub fn of<A: Axis, T: Scalar, I: Index, O: Index>(a: &Compressed<A, T, Host, I, O>) -> Result<Self> {
        check_square("graph", a.shape())?;
        Self::from_edges(a.nrows(), a.triplets().map(|(i, j, _)| (i, j)).collect())
    }

    /// The graph of (from, to) edges in any order, repeated ones counting once. O(nodes + edges·log edges).
    ///
    /// ```
    /// use sparse_core::graph::Graph;
    /// let graph = Graph::from_edges(3, vec![(2, 1), (0, 2), (2, 1)])?;
    /// assert_eq!((graph.nodes(), graph.neighbours(2)), (3, &[1][..]));
    /// assert!(Graph::from_edges(3, vec![(0, 3)]).is_err());
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) for an edge from or to a node that is not below `nodes`;
    /// [`OutOfMemory`](Error::OutOfMemory) if the host cannot allocate an offset for each node.
    pub fn from_edges(nodes: usize, edges: Vec<(usize, usize)>) -> Result<Self> {
        if let Some((from, to)) = edges.iter().find(|&&(from, to)| from.max(to) >= nodes) {
            let reason = format!("the edge from {from} to {to} has a node that is not below {nodes}");
            return Err(Error::shape("graph", reason));
        }
        Ok(Self::from_own_edges(zeroed_vec(nodes.saturating_add(1))?, edges))
    }

    /// The graph of edges whose nodes all have one of the `offsets`, which are 0 and one more than the nodes.
    fn from_own_edges(mut offsets: Vec<usize>, mut edges: Vec<(usize, usize)>) -> Self {
        edges.sort_unstable();
        edges.dedup();
        edges.iter().for_each(|&(from, _)| offsets[from + 1] += 1);
        (1..offsets.len()).for_each(|node| offsets[node] += offsets[node - 1]);
        Self { offsets, targets: edges.into_iter().map(|(_, to)| to).collect() }
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The nodes that edges of `node` lead to, ascending.
    ///
    /// # Panics
    /// If `node` is not below the number of nodes.
    pub fn neighbours(&self, node: usize) -> &[usize] {
        &self.targets[self.offsets[node]..self.offsets[node + 1]]
    }

    /// (from, to) of all edges, ascending.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.nodes()).flat_map(|from| self.neighbours(from).iter().map(move |&to| (from, to)))
    }

    /// The graph with every edge in both directions, without loops: the pattern of A + Aᵀ off the diagonal.
    ///
    /// ```
    /// use sparse_core::graph::Graph;
    /// let graph = Graph::from_edges(3, vec![(0, 0), (0, 1), (2, 1)])?;
    /// assert!(graph.symmetrized().edges().eq([(0, 1), (1, 0), (1, 2), (2, 1)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[must_use]
    pub fn symmetrized(&self) -> Self {
        let edges = self.edges().filter(|(from, to)| from != to);
        let edges = edges.flat_map(|(from, to)| [(from, to), (to, from)]).collect();
        Self::from_own_edges(vec![0; self.offsets.len()], edges)
    }

    /// The graph of the permuted matrix, whose row and column `k` are row and column `order[k]`.
    ///
    /// ```
    /// use sparse_core::graph::Graph;
    /// let graph = Graph::from_edges(3, vec![(0, 2)])?;
    /// assert!(graph.permuted(&[2, 1, 0])?.edges().eq([(2, 0)]));
    /// assert!(graph.permuted(&[0, 0, 1]).is_err());
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if `order` is not a permutation of the nodes.
    pub fn permuted(&self, order: &[usize]) -> Result<Self> {
        let places = inverse_permutation(order, self.nodes())?;
        let edges = self.edges().map(|(i, j)| (places[i], places[j])).collect();
        Ok(Self::from_own_edges(vec![0; self.offsets.len()], edges))
    }

    /// The lower and the upper bandwidth: the largest i − j and the largest j − i of all entries, at least 0. O(nnz).
    pub fn bandwidth(&self) -> (usize, usize) {
        self.edges().fold((0, 0), |(lower, upper), (i, j)| {
            (lower.max(i.saturating_sub(j)), upper.max(j.saturating_sub(i)))
        })
    }

    /// The profile of the lower triangle: the sum over rows of the distance from the first entry to the diagonal.
    /// O(rows).
    ///
    /// It is the memory that an envelope factorization takes beside the diagonal.
    ///
    /// ```
    /// use sparse_core::graph::Graph;
    /// let graph = Graph::from_edges(4, vec![(1, 0), (3, 1), (3, 2), (0, 3)])?;
    /// assert_eq!((graph.profile(), graph.bandwidth()), (1 + 2, (2, 3)));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[doc(alias = "envelope")]
    pub fn profile(&self) -> usize {
        let first = |row| self.neighbours(row).first().copied().unwrap_or(row);
        (0..self.nodes()).map(|row| row.saturating_sub(first(row))).sum()
    }
}
