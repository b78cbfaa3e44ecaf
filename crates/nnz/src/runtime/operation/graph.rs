//! The graph of a square matrix.

use crate::runtime::Matrix;
use sparse_core::Result;
use sparse_core::error::check_square;
use sparse_core::graph::{Components, Connection, Graph};

/// Graphs. The host computes; see [`Graph`] for bandwidth and profile.
impl Matrix {
    /// The graph of the matrix: an edge from i to j for an entry in row i and column j.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::from_triplets(3, 3, [(0, 0, 2.0), (0, 2, 1.0), (2, 0, 1.0)])?;
    /// let graph = Matrix::from_typed(&Device::host()?, a)?.graph()?;
    /// assert_eq!((graph.bandwidth(), graph.profile()), ((2, 2), 2));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) if the matrix is not square; an error of the device's runtime.
    pub fn graph(&self) -> Result<Graph> {
        check_square("graph", self.shape())?;
        let mut edges = Vec::with_capacity(self.nnz());
        self.for_each_entry(&mut |row, col, _| edges.push((row, col)))?;
        Graph::from_edges(self.nrows(), edges)
    }

    /// The reverse Cuthill–McKee order of A + Aᵀ, which makes its bandwidth small: `a.permute(&p, &p)`.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::from_triplets(3, 3, [(0, 2, 1.0), (2, 0, 1.0), (2, 1, 1.0), (1, 2, 1.0)])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?;
    /// let p = a.reverse_cuthill_mckee()?;
    /// assert_eq!(p, [0, 2, 1]);
    /// assert_eq!(a.permute(&p, &p)?.graph()?.bandwidth(), (1, 1));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`graph`](Self::graph).
    #[doc(alias("rcm", "symrcm"))]
    pub fn reverse_cuthill_mckee(&self) -> Result<Vec<usize>> {
        Ok(self.graph()?.reverse_cuthill_mckee())
    }

    /// The connected components, numbered in the order of their first rows.
    ///
    /// ```
    /// use nnz::{graph::Connection, prelude::*};
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::from_triplets(3, 3, [(0, 2, 1.0)])?)?;
    /// let components = a.connected_components(Connection::Weak)?;
    /// assert_eq!((components.count, components.labels), (2, vec![0, 1, 0]));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`graph`](Self::graph).
    pub fn connected_components(&self, connection: Connection) -> Result<Components> {
        Ok(self.graph()?.connected_components(connection))
    }
}
