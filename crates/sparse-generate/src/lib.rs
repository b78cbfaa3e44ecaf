//! Seeded test matrices.
//!
//! - Regular: [`stencil_5`], [`stencil_7`], [`stencil_9`], [`stencil_27`], [`band`].
//! - Random: [`uniform`], [`power_law`], [`rmat`], and any [`Recipe`] of row lengths and columns.
//! - Stand-ins for 13 well-known graphs: [`stand_in`].
//! - Small matrices that break kernels: [`adversarial`].
//! - Families of large matrices for fitting and judging choices of algorithms: [`families`].
//!
//! All have `i32` indices; rows are sorted, and columns unique in a row, except where that is said. A generator gives
//! the same matrix on every machine: randomness is ChaCha8, keyed by the seed and with a stream for each row (so that
//! rows do not depend on each other), and every logarithm and power is the `libm` crate's. [`checksum`] proves it.
//!
//! Values are exact in every scalar type: stencils hold the Laplacian, stand-ins and recipes odd multiples of 1/128 in
//! (−1, 1), all others integers from −4 to 4. Random values are never zero. Complex types get an imaginary part of the
//! same kind, real types the real part alone.

pub mod adversarial;
mod alias;
mod band;
mod builder;
mod catalogue;
mod checksum;
mod degree;
pub mod families;
mod random;
mod recipe;
mod rmat;
pub mod stand_in;
mod stencil;
mod uniform;

pub use band::band;
pub use catalogue::{Argument, Generator, by_name, catalogue};
pub use checksum::checksum;
pub use degree::{Law, RowLengths, Tail};
pub use recipe::{Columns, Graph, Recipe, Weight, power_law};
pub use rmat::{GRAPH500, rmat};
pub use stencil::{stencil_5, stencil_7, stencil_9, stencil_27};
pub use uniform::{uniform, with_row_lengths};
