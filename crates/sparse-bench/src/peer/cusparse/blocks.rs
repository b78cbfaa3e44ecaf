//! Block rows (BSR) of cuSPARSE on the host: square blocks with an entry somewhere, each row-major.

use rayon::prelude::*;
use sparse_core::{Csr, Index, Scalar};

/// The edges of blocks that are looked for.
const EDGES: [usize; 8] = [2, 3, 4, 5, 6, 8, 16, 32];

/// The most block rows in which an edge is tried.
const MAX_TRIED: usize = 4096;

/// Block rows that a thread converts at once.
const CHUNK: usize = 256;

/// The arrays of block rows.
pub(super) struct Blocks<T> {
    pub(super) edge: usize,
    pub(super) offsets: Vec<i32>,
    pub(super) columns: Vec<i32>,
    pub(super) values: Vec<T>,
}

/// The edge of the blocks with which BSR takes the fewest bytes, if those are fewer than CSR takes.
pub(super) fn best_edge<T: Scalar>(a: &Csr<T>) -> Option<usize> {
    let sizes = EDGES.into_iter().filter_map(|edge| Some((edge, bytes_of_entry(a, edge)?)));
    let (edge, bytes) = sizes.min_by(|one, other| one.1.total_cmp(&other.1))?;
    (bytes < (size_of::<i32>() + size_of::<T>()) as f64).then_some(edge)
}

/// Bytes of blocks for each entry, on a sample of the rows; `None` if the matrix cannot be cut into blocks.
fn bytes_of_entry<T: Scalar>(a: &Csr<T>, edge: usize) -> Option<f64> {
    if !a.nrows().is_multiple_of(edge) || !a.ncols().is_multiple_of(edge) {
        return None;
    }
    let block_rows = a.nrows() / edge;
    let (mut blocks, mut entries, mut columns) = (0, 0, vec![]);
    for block_row in (0..block_rows).step_by(block_rows.div_ceil(MAX_TRIED).max(1)) {
        entries += block_columns(a, edge, block_row, &mut columns);
        blocks += columns.len();
    }
    let block = size_of::<i32>() + edge * edge * size_of::<T>();
    (entries > 0).then(|| (blocks * block) as f64 / entries as f64)
}

/// Sets the block columns of a block row, ascending. Returns its number of entries.
fn block_columns<T: Scalar>(a: &Csr<T>, edge: usize, block_row: usize, columns: &mut Vec<usize>) -> usize {
    columns.clear();
    for row in block_row * edge..(block_row + 1) * edge {
        columns.extend(a.major_entries(row).map(|(col, _)| col / edge));
    }
    let entries = columns.len();
    columns.sort_unstable();
    columns.dedup();
    entries
}

impl<T: Scalar> Blocks<T> {
    /// The matrix in blocks whose edge divides its rows and columns.
    pub(super) fn new(a: &Csr<T>, edge: usize) -> Self {
        let block_rows = a.nrows() / edge;
        let chunks: Vec<_> = (0..block_rows)
            .collect::<Vec<_>>()
            .par_chunks(CHUNK)
            .map(|block_rows| {
                let mut chunk = Self { edge, offsets: vec![], columns: vec![], values: vec![] };
                block_rows.iter().for_each(|&block_row| chunk.append(a, block_row));
                chunk
            })
            .collect();
        let mut whole = Self { edge, offsets: vec![0], columns: vec![], values: vec![] };
        for chunk in chunks {
            let first = i32::cast(whole.columns.len());
            whole.offsets.extend(chunk.offsets.iter().map(|end| first + end));
            whole.columns.extend(chunk.columns);
            whole.values.extend(chunk.values);
        }
        whole
    }

    /// Appends the blocks of a block row, and their end.
    fn append(&mut self, a: &Csr<T>, block_row: usize) {
        let Self { edge, offsets, columns, values } = self;
        let edge = *edge;
        let mut own = vec![];
        block_columns(a, edge, block_row, &mut own);
        let first = values.len();
        values.resize(first + own.len() * edge * edge, T::ZERO);
        for row in 0..edge {
            for (col, value) in a.major_entries(block_row * edge + row) {
                let block = own.partition_point(|&column| column < col / edge);
                values[first + (block * edge + row) * edge + col % edge] = value;
            }
        }
        columns.extend(own.iter().map(|&column| i32::cast(column)));
        offsets.push(i32::cast(columns.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_generate::families::{Member, Structure, members};

    fn mesh_of(unknowns: usize) -> Csr<f32> {
        let is_it = |member: &Member| match member.structure {
            Structure::Mesh(mesh) => mesh.unknowns == unknowns,
            _ => false,
        };
        members().find(is_it).unwrap().generate(64).unwrap()
    }

    #[test]
    fn the_edge_is_that_of_the_dense_blocks() {
        assert_eq!(best_edge(&mesh_of(3)), Some(3));
        assert_eq!(best_edge(&mesh_of(6)), Some(6));
        let scattered: Csr<f32> = sparse_generate::uniform(600, 600, 4, 1).unwrap();
        assert_eq!(best_edge(&scattered), None);
    }

    #[test]
    fn blocks_hold_every_entry() {
        let a: Csr<f32> = sparse_generate::power_law(60, 5, 2.2, 20, 1).unwrap();
        let blocks = Blocks::new(&a, 3);
        let mut found = vec![];
        for block_row in 0..20 {
            for block in blocks.offsets[block_row] as usize..blocks.offsets[block_row + 1] as usize {
                for (place, &value) in blocks.values[9 * block..][..9].iter().enumerate() {
                    let (row, col) =
                        (3 * block_row + place / 3, 3 * blocks.columns[block] as usize + place % 3);
                    found.push((row, col, value));
                }
            }
        }
        found.retain(|&(.., value)| value != 0.0);
        found.sort_by_key(|&(row, col, _)| (row, col));
        assert_eq!(found, a.triplets().collect::<Vec<_>>());
    }
}
