//! The operands of the suites.

use crate::arguments::Arguments;
use anyhow::Result;
use sparse_core::{Coo, Csr, Scalar, c64};
use sparse_generate::stand_in::{self, StandIn};
use sparse_generate::{band, stencil_5, stencil_27, uniform};
use sparse_io::MatrixFile;
use std::ffi::OsStr;
use std::ops::Range;
use std::path::Path;
use std::thread;

/// A named matrix, generated when it is needed.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    build: fn(smoke: bool) -> sparse_core::Result<Csr<f32>>,
}

/// Regular and irregular matrices; the stand-ins are those that `performance.md` runs whole on two cores.
const SPARSE: &[Workload] = &[
    Workload { name: "stencil_5", build: |smoke| side(smoke, 1200, |n| stencil_5(n, n)) },
    Workload { name: "stencil_27", build: |smoke| side(smoke, 64, |n| stencil_27(n, n, n)) },
    Workload { name: "band_40", build: |smoke| side(smoke, 300_000, |n| band(n, 20, 20, 1)) },
    Workload { name: "uniform_8", build: |smoke| side(smoke, 1_000_000, |n| uniform(n, n, 8, 1)) },
    Workload { name: "arxiv", build: |smoke| whole("arxiv", smoke) },
    Workload { name: "ddi", build: |smoke| whole("ddi", smoke) },
    Workload { name: "yelp", build: |smoke| whole("yelp", smoke) },
];

/// Regular matrices of 20 M entries, for devices.
pub(crate) const REGULAR: &[Workload] = &[
    Workload { name: "stencil_5", build: |smoke| side(smoke, 2048, |n| stencil_5(n, n)) },
    Workload { name: "band_40", build: |smoke| side(smoke, 500_000, |n| band(n, 20, 20, 1)) },
];

impl Workload {
    /// The matrix, or a small one of its kind.
    pub(crate) fn matrix(&self, smoke: bool) -> sparse_core::Result<Csr<f32>> {
        (self.build)(smoke)
    }
}

fn side(
    smoke: bool,
    n: usize,
    build: fn(usize) -> sparse_core::Result<Csr<f32>>,
) -> sparse_core::Result<Csr<f32>> {
    build(if smoke { n.min(20) } else { n })
}

fn whole(name: &str, smoke: bool) -> sparse_core::Result<Csr<f32>> {
    draw(stand_in::find(name)?, if smoke { small(name) } else { 1 })
}

/// Calls `work` for every selected matrix of the CPU's suite, and for the selected files.
pub(crate) fn for_each_sparse(
    arguments: &Arguments,
    mut work: impl FnMut(&str, &Csr<f32>) -> Result<()>,
) -> Result<()> {
    for workload in SPARSE.iter().filter(|w| arguments.wants(w.name)) {
        work(workload.name, &workload.matrix(arguments.smoke)?)?;
    }
    for_each_file(arguments, work)
}

/// Square matrices whose products with themselves fit the memory of a host.
pub(crate) const SQUARED: &[&str] = &["stencil_5", "stencil_27", "band_40", "uniform_8", "arxiv"];

/// Square matrices whose triangles have few levels, and some with many.
pub(crate) const TRIANGLES: &[&str] = &["stencil_5", "stencil_27", "uniform_8", "arxiv"];

/// [`for_each_sparse`] for the square matrices among those of these names and the selected files.
pub(crate) fn for_each_square(
    arguments: &Arguments,
    names: &[&str],
    mut work: impl FnMut(&str, &Csr<f32>) -> Result<()>,
) -> Result<()> {
    for workload in SPARSE.iter().filter(|w| names.contains(&w.name) && arguments.wants(w.name)) {
        work(workload.name, &workload.matrix(arguments.smoke)?)?;
    }
    for_each_file(arguments, |name, a| if a.nrows() == a.ncols() { work(name, a) } else { Ok(()) })
}

/// The matrix with small integers for values, whose sums are exact in any order.
pub(crate) fn of_integers(a: &Csr<f32>) -> sparse_core::Result<Csr<f32>> {
    a.with_values((0..a.nnz()).map(|k| (k % 4) as f32 + 1.0).collect())
}

/// Aᵀ.
pub(crate) fn transposed(a: &Csr<f32>) -> sparse_core::Result<Csr<f32>> {
    Csr::from_triplets(a.ncols(), a.nrows(), a.triplets().map(|(i, j, value)| (j, i, value)))
}

/// The lower triangle of a square matrix with small integers for values and 2 on its diagonal: solutions of integers
/// have no rounding error.
pub(crate) fn lower_triangle(a: &Csr<f32>) -> sparse_core::Result<Csr<f32>> {
    let below = a.triplets().filter(|&(i, j, _)| j < i).map(|(i, j, _)| (i, j, ((i + j) % 3) as f32 - 1.0));
    let diagonal = (0..a.nrows()).map(|i| (i, i, 2.0));
    Csr::from_triplets(a.nrows(), a.ncols(), below.chain(diagonal))
}

/// A solution of `n` small integers.
pub(crate) fn solution(n: usize) -> Vec<f32> {
    (0..n).map(|k| (k % 5) as f32 - 2.0).collect()
}

/// A row-major operand of `len` small integers.
pub(crate) fn small_integers(len: usize) -> Vec<f32> {
    (0..len).map(|k| (k * 7 % 5) as f32 - 2.0).collect()
}

/// The stand-ins of a smoke run: rows of a power law, and a dense graph.
const SMOKE_GRAPHS: [&str; 2] = ["arxiv", "ddi"];

/// Calls `work` for every selected stand-in, divided by `divisor` of its name, and for the selected files.
pub(crate) fn for_each_graph(
    arguments: &Arguments,
    divisor: fn(&str) -> usize,
    mut work: impl FnMut(&str, &Csr<f32>) -> Result<()>,
) -> Result<()> {
    let is_wanted = |graph: &&StandIn| {
        arguments.wants(graph.name) && (!arguments.smoke || SMOKE_GRAPHS.contains(&graph.name))
    };
    for graph in stand_in::ALL.iter().filter(is_wanted) {
        let divisor = if arguments.smoke { small(graph.name) } else { divisor(graph.name) };
        work(graph.name, &draw(graph, divisor)?)?;
    }
    for_each_file(arguments, work)
}

/// The divisor of a stand-in where speed does not matter. ddi is too dense for more.
fn small(name: &str) -> usize {
    if name == "ddi" { 4 } else { 64 }
}

fn for_each_file(arguments: &Arguments, mut work: impl FnMut(&str, &Csr<f32>) -> Result<()>) -> Result<()> {
    for path in arguments.files() {
        let name = Path::new(path).file_name().map_or(path.into(), OsStr::to_string_lossy);
        work(&name, &read_real(path.as_ref())?)?;
    }
    Ok(())
}

/// The matrix of a file. The suites compute with real numbers: of complex values it has the magnitudes.
pub(crate) fn read_real(path: &Path) -> sparse_core::Result<Csr<f32>> {
    let file = MatrixFile::open(path)?;
    if !file.value_type()?.is_complex() {
        return file.read_csr();
    }
    Ok(file.read_csr::<c64, _, _>()?.map_values(|value| value.norm() as f32))
}

/// The entries of `a` in random order (Durstenfeld: Algorithm 235, 1964).
pub(crate) fn shuffled<T: Scalar>(a: &Csr<T>) -> sparse_core::Result<Coo<T>> {
    let mut entries: Vec<_> = a.triplets().collect();
    let mut next = random(1);
    for end in (1..entries.len()).rev() {
        let drawn = (u64::from(next()) << 32 | u64::from(next())) % (end as u64 + 1);
        entries.swap(end, drawn as usize);
    }
    Coo::from_triplets(a.nrows(), a.ncols(), entries)
}

/// Threads of this process that can run at once.
pub(crate) fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// A stand-in, drawn by all threads.
pub(crate) fn draw(graph: &StandIn, divisor: usize) -> sparse_core::Result<Csr<f32>> {
    let graph = graph.recipe.prepare(divisor)?;
    let row_ptr = graph.row_ptr();
    let nnz = row_ptr[graph.nrows()] as usize;
    let (mut col_idx, mut values) = (vec![0; nnz], vec![0.0; nnz]);
    thread::scope(|scope| {
        let (mut cols, mut vals) = (&mut col_idx[..], &mut values[..]);
        for rows in row_parts(&row_ptr, 4 * threads()) {
            let entries = (row_ptr[rows.end] - row_ptr[rows.start]) as usize;
            let (own_cols, own_vals);
            (own_cols, cols) = cols.split_at_mut(entries);
            (own_vals, vals) = vals.split_at_mut(entries);
            let graph = &graph;
            scope.spawn(move || graph.draw(rows, own_cols, own_vals));
        }
    });
    Csr::new_unsorted(graph.nrows(), graph.nrows(), row_ptr, col_idx, values)
}

/// All rows in `parts` ranges with about equal numbers of entries.
fn row_parts(row_ptr: &[i32], parts: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let rows = row_ptr.len() - 1;
    let entries = row_ptr[rows] as usize;
    let first = move |part: usize| match part {
        0 => 0,
        _ if part == parts => rows,
        _ => row_ptr[..rows].partition_point(|&at| (at as usize) < part * (entries / parts)),
    };
    (0..parts).map(move |part| first(part)..first(part + 1))
}

/// Elements of dense operands: small integers with a period so long that no two rows of an operand are equal.
pub(crate) struct Pattern {
    elements: Vec<f32>,
}

impl Pattern {
    /// A prime.
    const PERIOD: usize = 1_000_003;

    /// A pattern from which up to `most` elements are taken at once.
    pub(crate) fn new(most: usize) -> Self {
        let mut next = random(3);
        let mut elements: Vec<_> = (0..Self::PERIOD).map(|_| (next() % 9) as f32 - 4.0).collect();
        elements.extend_from_within(..most);
        Self { elements }
    }

    /// `len` elements from a position on.
    pub(crate) fn at(&self, position: usize, len: usize) -> &[f32] {
        &self.elements[position % Self::PERIOD..][..len]
    }

    /// `len` elements from the first on.
    pub(crate) fn filled(&self, len: usize) -> Vec<f32> {
        self.period().iter().copied().cycle().take(len).collect()
    }

    /// One period.
    pub(crate) fn period(&self) -> &[f32] {
        &self.elements[..Self::PERIOD]
    }
}

/// Random numbers, the same for the same seed (Marsaglia: Xorshift RNGs, 2003).
pub(crate) fn random(seed: u32) -> impl FnMut() -> u32 {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    }
}

/// A dense row-major matrix whose elements are non-zero with a probability of `percent` / 100.
pub(crate) fn dense(rows: usize, cols: usize, percent: u32, seed: u32) -> Vec<f32> {
    let mut next = random(seed);
    (0..rows * cols).map(|_| if next() % 100 < percent { 1.0 + (next() % 8) as f32 } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_generate::stand_in;

    #[test]
    fn complex_files_run_by_their_magnitudes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("complex.mtx");
        let text = "%%MatrixMarket matrix coordinate complex general\n2 3 2\n1 3 3 4\n2 1 -5 0\n";
        std::fs::write(&path, text).unwrap();
        let magnitudes = Csr::from_triplets(2, 3, [(0, 2, 5.0_f32), (1, 0, 5.0)]).unwrap();
        assert_eq!(read_real(&path).unwrap(), magnitudes);
        let real = text.replace("complex", "real").replace("3 4\n", "3\n").replace("-5 0\n", "-5\n");
        std::fs::write(&path, real).unwrap();
        let values = Csr::from_triplets(2, 3, [(0, 2, 3.0_f32), (1, 0, -5.0)]).unwrap();
        assert_eq!(read_real(&path).unwrap(), values);
    }

    #[test]
    fn all_threads_draw_what_one_draws() {
        for name in ["arxiv", "protein"] {
            let graph = stand_in::find(name).unwrap();
            assert_eq!(draw(graph, 64).unwrap(), graph.generate(64).unwrap(), "{name}");
        }
    }

    #[test]
    fn shares_cover_all_rows_in_order() {
        for row_ptr in [vec![0], vec![0, 0, 0], vec![0, 5, 5, 6, 100, 100]] {
            for parts in [1, 3, 8] {
                let rows: Vec<_> = row_parts(&row_ptr, parts).flatten().collect();
                assert_eq!(rows, (0..row_ptr.len() - 1).collect::<Vec<_>>(), "{row_ptr:?} in {parts}");
            }
        }
    }

    #[test]
    fn a_pattern_repeats_from_any_position_on() {
        let pattern = Pattern::new(20);
        let at = |position: usize| pattern.period()[position % Pattern::PERIOD];
        for position in [0, 7, Pattern::PERIOD - 1, 3 * Pattern::PERIOD - 5] {
            let expected: Vec<_> = (position..position + 20).map(at).collect();
            assert_eq!(pattern.at(position, 20), expected);
        }
    }
}
