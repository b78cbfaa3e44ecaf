//! The operands of the suites.

use crate::arguments::Arguments;
use crate::value::Value;
use anyhow::Result;
use sparse_core::{Coo, Csr, Real, Scalar, c64};
use sparse_generate::stand_in::{self, StandIn};
use sparse_generate::{band, stencil_5, stencil_27, uniform};
use sparse_io::MatrixFile;
use std::ffi::OsStr;
use std::ops::Range;
use std::path::Path;
use std::thread;

/// A named matrix, generated when it is needed.
struct Workload {
    name: &'static str,
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
const REGULAR: &[Workload] = &[
    Workload { name: "stencil_5", build: |smoke| side(smoke, 2048, |n| stencil_5(n, n)) },
    Workload { name: "band_40", build: |smoke| side(smoke, 500_000, |n| band(n, 20, 20, 1)) },
];

impl Workload {
    /// The matrix, or a small one of its kind.
    fn matrix<T: Value>(&self, smoke: bool) -> sparse_core::Result<Csr<T>> {
        Ok(in_type(&(self.build)(smoke)?))
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

/// The matrix with values of another type; complex ones have small integers for imaginary parts.
pub(crate) fn in_type<R: Real, T: Value>(a: &Csr<R>) -> Csr<T> {
    let mut imaginary = (-2_i32..=2).cycle();
    let mut parts = |re: R| c64::new(re.to_c64().re, imaginary.next().unwrap_or(0).into());
    a.map_values(|value| T::from_c64(parts(value)))
}

/// Calls `work` for every selected matrix of the CPU's suite, and for the selected files, that run in this type.
pub(crate) fn for_each_sparse<T: Value>(
    arguments: &Arguments,
    mut work: impl FnMut(&str, &Csr<T>) -> Result<()>,
) -> Result<()> {
    for_each_of(SPARSE.iter(), arguments, &mut work)?;
    for_each_file(arguments, work)
}

/// Square matrices whose products with themselves fit the memory of a host.
pub(crate) const SQUARED: &[&str] = &["stencil_5", "stencil_27", "band_40", "uniform_8", "arxiv"];

/// Square matrices whose triangles have few levels, and some with many.
pub(crate) const TRIANGLES: &[&str] = &["stencil_5", "stencil_27", "uniform_8", "arxiv"];

/// [`for_each_sparse`] for the matrices of these names and the selected files.
pub(crate) fn for_each_named<T: Value>(
    arguments: &Arguments,
    names: &[&str],
    mut work: impl FnMut(&str, &Csr<T>) -> Result<()>,
) -> Result<()> {
    let named = SPARSE.iter().filter(|workload| names.contains(&workload.name));
    for_each_of(named, arguments, &mut work)?;
    for_each_file(arguments, work)
}

/// [`for_each_named`] for those that are square.
pub(crate) fn for_each_square<T: Value>(
    arguments: &Arguments,
    names: &[&str],
    mut work: impl FnMut(&str, &Csr<T>) -> Result<()>,
) -> Result<()> {
    for_each_named(arguments, names, |name, a| if a.nrows() == a.ncols() { work(name, a) } else { Ok(()) })
}

/// Calls `work` for every selected regular matrix of devices.
pub(crate) fn for_each_regular<T: Value>(
    arguments: &Arguments,
    work: impl FnMut(&str, &Csr<T>) -> Result<()>,
) -> Result<()> {
    for_each_of(REGULAR.iter(), arguments, work)
}

/// Calls `work` for the selected ones of these workloads, if they run in this type.
fn for_each_of<T: Value>(
    workloads: impl Iterator<Item = &'static Workload>,
    arguments: &Arguments,
    mut work: impl FnMut(&str, &Csr<T>) -> Result<()>,
) -> Result<()> {
    for workload in workloads.filter(|workload| arguments.generates::<T>(workload.name)) {
        work(workload.name, &workload.matrix(arguments.smoke)?)?;
    }
    Ok(())
}

/// The matrix with small integers for values, whose sums are exact in any order.
pub(crate) fn of_integers<T: Value>(a: &Csr<T>) -> sparse_core::Result<Csr<T>> {
    a.with_values((0..a.nnz()).map(|k| T::from_parts((k % 4) as f32 + 1.0, (k % 3) as f32)).collect())
}

/// Aᵀ.
pub(crate) fn transposed<T: Value>(a: &Csr<T>) -> sparse_core::Result<Csr<T>> {
    Csr::from_triplets(a.ncols(), a.nrows(), a.triplets().map(|(i, j, value)| (j, i, value)))
}

/// The lower triangle of a square matrix with small integers for values and 2 on its diagonal: solutions of integers
/// have no rounding error.
pub(crate) fn lower_triangle<T: Value>(a: &Csr<T>) -> sparse_core::Result<Csr<T>> {
    let small = |k: usize| (k % 3) as f32 - 1.0;
    let value = |i, j| T::from_parts(small(i + j), small(i + 2 * j));
    let below = a.triplets().filter(|&(i, j, _)| j < i).map(|(i, j, _)| (i, j, value(i, j)));
    let diagonal = (0..a.nrows()).map(|i| (i, i, T::from_parts(2.0, 0.0)));
    Csr::from_triplets(a.nrows(), a.ncols(), below.chain(diagonal))
}

/// The 5-point Laplacian on a square grid. A complex one is `D·A·Dᴴ` with powers of i on the diagonal of D, which is
/// Hermitian and has the same eigenvalues.
pub(crate) fn laplacian<T: Value>(side: usize) -> sparse_core::Result<Csr<T>> {
    let a: Csr<T> = stencil_5(side, side)?;
    let turn = |k: usize| if T::COMPLEX { c64::I.powu(k as u32 % 4) } else { c64::ONE };
    let turned = |(i, j, value): (_, _, T)| value * T::from_c64(turn(i) * turn(j).conj());
    a.with_values(a.triplets().map(turned).collect())
}

/// `len` small integers, from −2 to 2.
pub(crate) fn small_integers<T: Value>(len: usize) -> Vec<T> {
    let small = |k: usize| (k % 5) as f32 - 2.0;
    (0..len).map(|k| T::from_parts(small(7 * k), small(3 * k))).collect()
}

/// The stand-ins of a smoke run: rows of a power law, and a dense graph.
const SMOKE_GRAPHS: [&str; 2] = ["arxiv", "ddi"];

/// Calls `work` for every selected stand-in, divided by `divisor` of its name, and for the selected files.
pub(crate) fn for_each_graph<T: Value>(
    arguments: &Arguments,
    divisor: fn(&str) -> usize,
    mut work: impl FnMut(&str, &Csr<T>) -> Result<()>,
) -> Result<()> {
    let is_wanted = |graph: &&StandIn| {
        arguments.generates::<T>(graph.name) && (!arguments.smoke || SMOKE_GRAPHS.contains(&graph.name))
    };
    for graph in stand_in::ALL.iter().filter(is_wanted) {
        let divisor = if arguments.smoke { small(graph.name) } else { divisor(graph.name) };
        work(graph.name, &in_type(&draw(graph, divisor)?))?;
    }
    for_each_file(arguments, work)
}

/// The divisor of a stand-in where speed does not matter. ddi is too dense for more.
fn small(name: &str) -> usize {
    if name == "ddi" { 4 } else { 64 }
}

/// Calls `work` for the selected files that run in this type.
fn for_each_file<T: Value>(
    arguments: &Arguments,
    mut work: impl FnMut(&str, &Csr<T>) -> Result<()>,
) -> Result<()> {
    for path in arguments.files() {
        if arguments.type_of(path)? == T::TYPE {
            let name = Path::new(path).file_name().map_or(path.into(), OsStr::to_string_lossy);
            work(&name, &read(path.as_ref())?)?;
        }
    }
    Ok(())
}

/// The matrix of a file. In a real type it has the magnitudes of complex values; in a complex type real values get
/// imaginary parts.
pub(crate) fn read<T: Value>(path: &Path) -> sparse_core::Result<Csr<T>> {
    let file = MatrixFile::open(path)?;
    match (file.value_type()?.is_complex(), T::COMPLEX) {
        (true, false) => {
            Ok(file.read_csr::<c64, _, _>()?.map_values(|value| T::from_c64(value.norm().into())))
        }
        (false, true) => Ok(in_type::<f64, _>(&file.read_csr()?)),
        _ => file.read_csr(),
    }
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
pub(crate) struct Pattern<T> {
    elements: Vec<T>,
}

/// The period of a [`Pattern`], a prime.
const PERIOD: usize = 1_000_003;

impl<T: Value> Pattern<T> {
    /// A pattern from which up to `most` elements are taken at once.
    pub(crate) fn new(most: usize) -> Self {
        let mut next = random(3);
        let mut small = || (next() % 9) as f32 - 4.0;
        let mut element = || T::from_parts(small(), if T::COMPLEX { small() } else { 0.0 });
        let mut elements: Vec<_> = (0..PERIOD).map(|_| element()).collect();
        elements.extend_from_within(..most);
        Self { elements }
    }

    /// `len` elements from a position on.
    pub(crate) fn at(&self, position: usize, len: usize) -> &[T] {
        &self.elements[position % PERIOD..][..len]
    }

    /// `len` elements from the first on.
    pub(crate) fn filled(&self, len: usize) -> Vec<T> {
        self.period().iter().copied().cycle().take(len).collect()
    }

    /// One period.
    pub(crate) fn period(&self) -> &[T] {
        &self.elements[..PERIOD]
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
pub(crate) fn dense<T: Value>(rows: usize, cols: usize, percent: u32, seed: u32) -> Vec<T> {
    let mut next = random(seed);
    let mut element = || match next() % 100 < percent {
        true => {
            let small = 1.0 + (next() % 8) as f32;
            T::from_parts(small, small - 4.0)
        }
        false => T::ZERO,
    };
    (0..rows * cols).map(|_| element()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_generate::stand_in;

    #[test]
    fn files_are_read_in_any_type() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("complex.mtx");
        let text = "%%MatrixMarket matrix coordinate complex general\n2 3 2\n1 3 3 4\n2 1 -5 0\n";
        std::fs::write(&path, text).unwrap();
        assert_eq!(read::<f32>(&path).unwrap().values(), &[5.0, 5.0]);
        assert_eq!(read::<c64>(&path).unwrap().values(), &[c64::new(3.0, 4.0), c64::new(-5.0, 0.0)]);
        let real = text.replace("complex", "real").replace("3 4\n", "3\n").replace("-5 0\n", "-5\n");
        std::fs::write(&path, real).unwrap();
        assert_eq!(read::<f32>(&path).unwrap().values(), &[3.0, -5.0]);
        let made_complex = read::<c64>(&path).unwrap();
        assert!(made_complex.values().iter().map(|value| value.re).eq([3.0, -5.0]));
        assert!(made_complex.values().iter().all(|value| value.im != 0.0));
    }

    #[test]
    fn complex_laplacians_are_hermitian() {
        let a = laplacian::<c64>(3).unwrap();
        let adjoint = transposed(&a).unwrap().map_values(|value| value.conj());
        assert_eq!(adjoint, a);
        assert!(a.values().iter().any(|value| value.im != 0.0));
        assert_eq!(laplacian::<f32>(3).unwrap(), stencil_5(3, 3).unwrap());
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
        let pattern = Pattern::<f32>::new(20);
        let at = |position: usize| pattern.period()[position % PERIOD];
        for position in [0, 7, PERIOD - 1, 3 * PERIOD - 5] {
            let expected: Vec<_> = (position..position + 20).map(at).collect();
            assert_eq!(pattern.at(position, 20), expected);
        }
    }
}
