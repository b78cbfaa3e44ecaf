//! Products of sparse matrices whose rows need every method, in columns far apart.

use crate::{each_device, values};
use sparse_core::op::{Duplicates, Operations, SpgemmKernel, SpgemmPlan};
use sparse_core::reference::Reference;
use sparse_core::{Backend, Coo, Csr, Error, Host, PlanOptions, SparseFormat, kron};
use sparse_device::{Device, Library};

type Wide<S> = Csr<f64, S, i64, i64>;

/// Rows of B.
const INNER: usize = 500;

/// Three rows: every row of B, none, and every seventh.
fn left() -> Wide<Host> {
    let columns: Vec<i64> = (0..INNER as i64).chain((0..INNER as i64).step_by(7)).collect();
    let offsets = vec![0, INNER as i64, INNER as i64, columns.len() as i64];
    let count = columns.len();
    Csr::new(3, INNER, offsets, columns, values(count, 1)).unwrap()
}

/// Rows of five columns in three clusters, 2^38 columns apart.
fn right() -> Wide<Host> {
    let column = |row: usize, k: usize| (((row + k) % 3) << 38) + (row * 37 + k * 1001) % 2999;
    let entries = (0..INNER).flat_map(|row| (0..5).map(move |k| (row, column(row, k), 1.0 + k as f64)));
    let coo = Coo::<f64, Host, i64>::from_triplets(INNER, 1 << 40, entries).unwrap();
    Reference.convert(&coo, &Duplicates::Sum).unwrap()
}

/// All algorithms, with other values in the same plan, with and without memory for columns before they are counted.
pub fn products_of_far_columns_are_those_of_the_reference(library: &Library) {
    compare(library, &left(), &right(), |_| true);
}

/// Rows of A with more than a thousand entries, and long rows of B, whose products several work-groups share.
pub fn products_of_long_rows_are_those_of_the_reference(library: &Library) {
    let counts = [1100, 40, 0, 3];
    let columns: Vec<i64> = counts.iter().flat_map(|&count| 0..count).collect();
    let offsets = counts.iter().scan(0, |end, count| {
        *end += count;
        Some(*end)
    });
    let offsets: Vec<i64> = std::iter::once(0).chain(offsets).collect();
    let count = columns.len();
    let a = Csr::new(counts.len(), 1100, offsets, columns, values(count, 1)).unwrap();
    let entries = (0..1100)
        .flat_map(|row| (0..200).map(move |k| (row, (row * 37 + k * 15) % 3001, 1.0 + (k % 5) as f64)));
    let b = Coo::<f64, Host, i64>::from_triplets(1100, 3001, entries).unwrap();
    compare(library, &a, &Reference.convert(&b, &Duplicates::Sum).unwrap(), |_| true);
}

/// Rows of C with products in the same column from every row of B, or from 30 after the other: exact products, whose
/// sum depends on the order, which is that of the reference but in `places` and `chunks`, where several lanes share the
/// products of an element.
pub fn products_that_meet_are_added_in_order(library: &Library) {
    let inner = 900;
    let columns: Vec<i64> = (0..inner as i64).chain((0..inner as i64).step_by(3)).collect();
    let offsets = vec![0, inner as i64, columns.len() as i64];
    let count = columns.len();
    let a = Csr::new(2, inner, offsets, columns, values(count, 1)).unwrap();
    let shared = |row: usize| (1 + row % 7) as f64 * 2_f64.powi((row * 23 % 61) as i32 - 30);
    let right = |meet: &dyn Fn(usize) -> usize| {
        let entries = (0..inner)
            .flat_map(|row| [(row, meet(row), shared(row)), (row, 100 + row * 37 % 2999, row as f64)]);
        let b = Coo::<f64, Host, i64>::from_triplets(inner, 3100, entries).unwrap();
        Reference.convert(&b, &Duplicates::Sum).unwrap()
    };
    let adds_in_order = |algorithm: &str| !["places", "chunks", "strips"].contains(&algorithm);
    compare(library, &a, &right(&|_| 7), adds_in_order);
    compare(library, &a, &right(&|row| row / 30), adds_in_order);
}

/// Rows of C with elements of one product, of 16 after each other, and of every other row of B, whose sums round: runs
/// of a plan that keeps where products belong, and a plan made anew, give the same bits.
pub fn runs_of_a_plan_give_the_same_bits(library: &Library) {
    let fractions = |count: usize| (0..count).map(|k| 1.0 / (k % 89 + 3) as f64).collect();
    let a = left();
    let a = a.with_values(fractions(a.nnz())).unwrap();
    let columns = |row: usize| [row / 16, 40 + row % 2, 50 + 3 * row, 51 + 3 * row, 52 + 3 * row];
    let indices: Vec<i64> = (0..INNER).flat_map(columns).map(|column| column as i64).collect();
    let offsets = (0..=INNER as i64).map(|row| 5 * row).collect();
    let values = fractions(indices.len());
    let b = Csr::new(INNER, 50 + 3 * INNER, offsets, indices, values).unwrap();
    each_device(library, |backend| {
        let (a, b) = (a.to_device(backend).unwrap(), b.to_device(backend).unwrap());
        for algorithm in ["places", "chunks"] {
            let plan = || SpgemmPlan::new(backend, &a, &b, &PlanOptions::forced(algorithm)).unwrap();
            let mut reused = plan();
            let mut c = reused.run(&a, &b).unwrap();
            let first = c.to_host(backend).unwrap();
            reused.run_into(&a, &b, &mut c).unwrap();
            assert_eq!(c.to_host(backend).unwrap(), first, "{algorithm}: the second run");
            let anew = plan().run(&a, &b).unwrap();
            assert_eq!(anew.to_host(backend).unwrap(), first, "{algorithm}: a plan made anew");
        }
    });
}

/// The matrix of a stencil on a grid: entries at `steps` from a point of `extents`, where they are in the grid.
fn stencil(extents: [usize; 3], steps: &[[isize; 3]]) -> Wide<Host> {
    let count = extents.iter().product();
    let entries = (0..count).flat_map(|row| {
        let point = [row / extents[2] / extents[1], row / extents[2] % extents[1], row % extents[2]];
        steps.iter().enumerate().filter_map(move |(k, step)| {
            let mut col = 0;
            for axis in 0..3 {
                let at = point[axis].checked_add_signed(step[axis]).filter(|&at| at < extents[axis])?;
                col = col * extents[axis] + at;
            }
            Some((row, col, ((row * 7 + k * 3) % 11) as f64 - 4.0))
        })
    });
    let coo = Coo::<f64, Host, i64>::from_triplets(count, count, entries).unwrap();
    Reference.convert(&coo, &Duplicates::Sum).unwrap()
}

/// P to the points of a grid from those of a grid of half the extents: pairs of neighbours are one, or, where
/// `is_between`, every other point is one and those between have two neighbours along each axis.
fn prolongation(extents: [usize; 3], is_between: bool) -> Wide<Host> {
    let coarse = extents.map(|extent| extent.div_ceil(2));
    let count = extents.iter().product();
    let entries = (0..count).flat_map(|row| {
        let point = [row / extents[2] / extents[1], row / extents[2] % extents[1], row % extents[2]];
        (0..8).filter_map(move |corner| {
            let mut col = 0;
            for axis in 0..3 {
                let step = corner >> axis & 1;
                let at = point[axis] / 2 + step;
                let is_there = step == 0 || (is_between && point[axis] % 2 == 1 && at < coarse[axis]);
                col = col * coarse[axis] + is_there.then_some(at)?;
            }
            Some((row, col, ((row * 5 + corner) % 7) as f64 - 2.0))
        })
    });
    let cols = coarse.iter().product();
    let coo = Coo::<f64, Host, i64>::from_triplets(count, cols, entries).unwrap();
    Reference.convert(&coo, &Duplicates::Sum).unwrap()
}

/// A matrix with a dense block of `unknowns` × `unknowns` in place of each entry.
fn with_unknowns(a: &Wide<Host>, unknowns: usize) -> Wide<Host> {
    let places = (0..unknowns * unknowns).map(|at| (at / unknowns, at % unknowns, at as f64 - 1.0));
    let block = Coo::<f64, Host, i64>::from_triplets(unknowns, unknowns, places).unwrap();
    kron(a, &Reference.convert(&block, &Duplicates::Sum).unwrap()).unwrap()
}

/// Products of stencils, bands, blocks of unknowns and grids of half the extents, whose rows repeat: lengths of rows
/// that are odd, even and unlike, steps of rows that are alike and unlike, several segments of B, and strips of fewer
/// rows than they can have.
pub fn strips_are_those_of_the_reference(library: &Library) {
    let cube: Vec<_> = (0..27).map(|k| [k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1]).collect();
    let cross: Vec<_> = cube.iter().copied().filter(|step| step.iter().all(|&d| d >= 0)).collect();
    let band = |first: isize, end: isize| (first..end).map(|step| [0, 0, step]).collect::<Vec<_>>();
    let square = |a: Wide<Host>| (a.clone(), a);
    let grid = [3, 4, 80];
    let on_grid = stencil(grid, &cube);
    let between = prolongation(grid, true);
    let product = Operations::spgemm(&Reference, &on_grid, &between).unwrap();
    let swapped = between.triplets().map(|(row, col, value)| (col, row, value));
    let restriction = Coo::from_triplets(between.ncols(), between.nrows(), swapped).unwrap();
    let restriction: Wide<Host> = Reference.convert(&restriction, &Duplicates::Sum).unwrap();
    let factors = [
        square(stencil([5, 6, 45], &cube)),
        square(stencil([4, 7, 300], &cross)),
        square(stencil([1, 1, 700], &band(-3, 3))),
        square(stencil([1, 1, 400], &band(-20, 21))),
        square(stencil([1, 20, 12], &[[0, -1, 0], [0, 0, 0], [0, 1, 0]])),
        square(with_unknowns(&stencil([1, 9, 40], &band(-1, 2)), 3)),
        (on_grid.clone(), prolongation(grid, false)),
        (on_grid, between.clone()),
        (restriction, product),
    ];
    for (a, b) in factors {
        let expected = Operations::spgemm(&Reference, &a, &b).unwrap();
        let twice: Vec<_> = a.values().iter().map(|value| 2.0 * value).collect();
        let doubled = a.with_values(twice.clone()).unwrap();
        let of_doubled = Operations::spgemm(&Reference, &doubled, &b).unwrap();
        each_device(library, |backend| {
            let is_there = |algorithm: &sparse_core::Algorithm| algorithm.name == "strips";
            if !SpgemmKernel::<Wide<Device>>::spgemm_algorithms(backend).iter().any(is_there) {
                return;
            }
            let (a, b) = (a.to_device(backend).unwrap(), b.to_device(backend).unwrap());
            let doubled = a.with_values(backend.upload(&twice).unwrap()).unwrap();
            let mut plan = SpgemmPlan::new(backend, &a, &b, &PlanOptions::forced("strips")).unwrap();
            assert_eq!(plan.choice().to_string(), "strips: forced by PlanOptions::algorithm");
            assert_eq!(plan.run(&a, &b).unwrap().to_host(backend).unwrap(), expected);
            assert_eq!(plan.run(&doubled, &b).unwrap().to_host(backend).unwrap(), of_doubled);
        });
    }
}

/// A plan of strips keeps the places of the products of other rows alone, which are few.
pub fn strips_keep_no_places(library: &Library) {
    let steps: Vec<_> = (-20..21).map(|step| [0, 0, step]).collect();
    let a = stencil([1, 1, 2000], &steps);
    each_device(library, |backend| {
        let a = a.to_device(backend).unwrap();
        let bytes = |algorithm| {
            let plan = SpgemmPlan::new(backend, &a, &a, &PlanOptions::forced(algorithm)).unwrap();
            (plan.choice().algorithm == algorithm).then(|| plan.workspace_bytes())
        };
        let is_there = |algorithm: &sparse_core::Algorithm| algorithm.name == "strips";
        if !SpgemmKernel::<Wide<Device>>::spgemm_algorithms(backend).iter().any(is_there) {
            return;
        }
        let products = SpgemmPlan::bound(backend, &a, &a).unwrap().products as usize;
        let (strips, places) = (bytes("strips").unwrap(), bytes("places").unwrap());
        assert!(strips + products / 2 < places, "{strips} bytes by strips, {places} by places");
    });
}

/// Products of matrices whose nodes have 2 to 6 unknowns each: by name, by plans of many calls where rows do not
/// repeat, of two matrices with blocks of several sizes, of matrices that lack some unknowns, also of a node alone, and
/// of rows that are in no blocks, each entry of which is one.
pub fn blocks_of_unknowns_are_those_of_the_reference(library: &Library) {
    let nodes = rows_from(90, 90, |row| row * 5 % 7);
    let in_blocks = |unknowns| with_unknowns(&nodes, unknowns);
    let squares = (2..=6).map(|unknowns| (in_blocks(unknowns), in_blocks(unknowns), true));
    let mixed = [
        (with_unknowns(&rows_from(40, 45, |row| row % 5), 6), with_unknowns(&nodes, 3), true),
        (nodes.clone(), nodes.clone(), false),
    ];
    let lacking = |a: Wide<Host>| without(&a, |row| row % 29 == 4, |column| column % 29 == 4);
    let uneven = (2..=6).map(|unknowns| (lacking(in_blocks(unknowns)), lacking(in_blocks(unknowns)), true));
    let left = with_unknowns(&rows_from(40, 45, |row| row % 5), 3);
    let right = with_unknowns(&rows_from(45, 50, |row| 1 + row % 4), 3);
    let thirds = without(&in_blocks(2), |row| row % 3 == 0, |column| column % 3 == 0);
    let unlike = [
        (
            without(&left, |_| false, |column| column % 31 == 7),
            without(&right, |row| row % 31 == 7, |_| false),
            true,
        ),
        (
            without(&left, |_| false, |column| column == 90),
            without(&right, |row| row == 90, |column| column % 37 < 2),
            true,
        ),
        (thirds.clone(), thirds, false),
    ];
    for (a, b, are_in_blocks) in squares.chain(mixed).chain(uneven).chain(unlike) {
        compare(library, &a, &b, |algorithm| algorithm == "node_blocks");
        each_device(library, |backend| {
            let is_there = |algorithm: &sparse_core::Algorithm| algorithm.name == "node_blocks";
            if !SpgemmKernel::<Wide<Device>>::spgemm_algorithms(backend).iter().any(is_there) {
                return;
            }
            let (a, b) = (a.to_device(backend).unwrap(), b.to_device(backend).unwrap());
            let choice = |options| SpgemmPlan::new(backend, &a, &b, &options).unwrap().choice().to_string();
            let forced = choice(PlanOptions::forced("node_blocks"));
            assert_eq!(forced, "node_blocks: forced by PlanOptions::algorithm");
            assert_eq!(choice(PlanOptions::often()).starts_with("node_blocks: "), are_in_blocks);
        });
    }
}

/// A matrix without these rows and columns.
fn without(a: &Wide<Host>, row_is_out: fn(usize) -> bool, column_is_out: fn(usize) -> bool) -> Wide<Host> {
    let places = |n: usize, is_out: fn(usize) -> bool| -> Vec<Option<usize>> {
        let mut left = 0..;
        let place = |at| if is_out(at) { None } else { left.next() };
        (0..n).map(place).collect()
    };
    let (rows, columns) = (places(a.nrows(), row_is_out), places(a.ncols(), column_is_out));
    let entries = a.triplets().filter_map(|(row, column, value)| Some((rows[row]?, columns[column]?, value)));
    let count = |places: &[Option<usize>]| places.iter().flatten().count();
    let coo = Coo::<f64, Host, i64>::from_triplets(count(&rows), count(&columns), entries).unwrap();
    Reference.convert(&coo, &Duplicates::Sum).unwrap()
}

/// First calls with rows of up to 256 products, most of which have few, so that teams of several sizes sort and add
/// them; 16-bit numbers of products with more columns, for which keys have no bits.
pub fn short_rows_of_unlike_lengths_are_those_of_the_reference(library: &Library) {
    let length = |row: usize| match row {
        _ if row % 97 == 3 => 32,
        _ if row % 23 == 5 => 13,
        _ if row % 5 == 1 => 6,
        _ => row % 3,
    };
    let a = rows_from(3000, 400, length);
    let is_by_row = |algorithm: &str| algorithm == "by_row" || algorithm == "sort";
    for cols in [200, 1 << 20, 1 << 60] {
        compare(library, &a, &rows_from(400, cols, |row| 1 + row % 8), is_by_row);
    }
}

/// Rows with `length` entries each, in columns far from those of the row before.
fn rows_from(rows: usize, cols: usize, length: impl Fn(usize) -> usize) -> Wide<Host> {
    let length = &length;
    let column = move |row: usize, k: usize| (row * 7919 + k * 31) % cols;
    let entries =
        (0..rows).flat_map(|row| (0..length(row)).map(move |k| (row, column(row, k), 1.0 + k as f64)));
    let coo = Coo::<f64, Host, i64>::from_triplets(rows, cols, entries).unwrap();
    Reference.convert(&coo, &Duplicates::Sum).unwrap()
}

/// Products with few entries in each row of A: of stencils, of grids of half the extent, of rows of 0 to 16 and of 32
/// entries, and of blocks of rows with more elements of C than a work-group collects.
pub fn merges_are_those_of_the_reference(library: &Library) {
    let cross = [[0, -1, 0], [0, 0, -1], [0, 0, 0], [0, 0, 1], [0, 1, 0]];
    let grid = [1, 40, 37];
    let (a, between) = (stencil(grid, &cross), prolongation(grid, true));
    let product = Operations::spgemm(&Reference, &a, &between).unwrap();
    let swapped = between.triplets().map(|(row, col, value)| (col, row, value));
    let restriction = Coo::from_triplets(between.ncols(), between.nrows(), swapped).unwrap();
    let restriction: Wide<Host> = Reference.convert(&restriction, &Duplicates::Sum).unwrap();
    let from = |rows: usize, cols: usize, length: fn(usize) -> usize| {
        let entries = (0..rows)
            .flat_map(|row| (0..length(row)).map(move |k| (row, (row * 7 + k * 31) % cols, 1.0 + k as f64)));
        let coo = Coo::<f64, Host, i64>::from_triplets(rows, cols, entries).unwrap();
        let matrix: Wide<Host> = Reference.convert(&coo, &Duplicates::Sum).unwrap();
        matrix
    };
    let factors = [
        (a.clone(), a.clone()),
        (a, between),
        (restriction, product),
        (from(1000, 300, |row| row % 17), from(300, 1 << 20, |row| row % 16)),
        (from(600, 600, |_| 32), from(600, 5003, |_| 16)),
    ];
    for (a, b) in factors {
        compare(library, &a, &b, |algorithm| algorithm == "merge");
        each_device(library, |backend| {
            let is_there = |algorithm: &sparse_core::Algorithm| algorithm.name == "merge";
            if !SpgemmKernel::<Wide<Device>>::spgemm_algorithms(backend).iter().any(is_there) {
                return;
            }
            let (a, b) = (a.to_device(backend).unwrap(), b.to_device(backend).unwrap());
            let choice = |options| SpgemmPlan::new(backend, &a, &b, &options).unwrap().choice().to_string();
            assert_eq!(choice(PlanOptions::forced("merge")), "merge: forced by PlanOptions::algorithm");
            assert_eq!(choice(PlanOptions::once()).starts_with("merge: "), a.nnz() <= 10 * a.nrows());
        });
    }
}

/// First calls with more rows than a sample takes in place of all: those that are like their neighbours merge; rows in
/// a scattered order, most rows without entries, and a row that is too long and in no sample have bins.
pub fn merges_of_many_rows_are_those_of_the_reference(library: &Library) {
    let cross = [[0, -1, 0], [0, 0, -1], [0, 0, 0], [0, 0, 1], [0, 1, 0]];
    let grid = stencil([1, 150, 130], &cross);
    let n = grid.nrows();
    let square = |changed: &dyn Fn(usize, usize, f64) -> Option<(usize, usize, f64)>| {
        let entries = grid.triplets().filter_map(|(row, col, value)| changed(row, col, value));
        let coo = Coo::<f64, Host, i64>::from_triplets(n, n, entries).unwrap();
        let matrix: Wide<Host> = Reference.convert(&coo, &Duplicates::Sum).unwrap();
        matrix
    };
    let scattered = |at: usize| at * 7919 % n;
    let cases = [
        (grid.clone(), "merge"),
        (square(&|row, col, value| Some((scattered(row), col, value))), "by_row"),
        (square(&|row, col, value| (row % 3 == 0).then_some((row, col, value))), "by_row"),
        (
            square(&|row, col, value| Some((if (40..60).contains(&row) { 47 } else { row }, col, value))),
            "by_row",
        ),
    ];
    for (a, algorithm) in cases {
        let expected = Operations::spgemm(&Reference, &a, &a).unwrap();
        each_device(library, |backend| {
            let is_there = |algorithm: &sparse_core::Algorithm| algorithm.name == "merge";
            let has_merge = SpgemmKernel::<Wide<Device>>::spgemm_algorithms(backend).iter().any(is_there);
            let a = a.to_device(backend).unwrap();
            let mut plan = SpgemmPlan::new(backend, &a, &a, &PlanOptions::once()).unwrap();
            assert_eq!(plan.choice().algorithm, if has_merge { algorithm } else { "by_row" });
            assert_eq!(plan.run(&a, &a).unwrap().to_host(backend).unwrap(), expected);
        });
    }
}

/// Rows of A or of C that are too long to merge have bins, whatever is forced.
pub fn rows_that_do_not_merge_have_bins(library: &Library) {
    let columns = std::iter::once(0).chain(0..33).collect();
    let long = Csr::<f64>::new(5, 40, vec![0, 1, 34, 34, 34, 34], columns, vec![1.0; 34]).unwrap();
    let many = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0; 3]).unwrap();
    let wide = Csr::<f64>::new(2, 1200, vec![0, 600, 1200], (0..1200).collect(), vec![1.0; 1200]).unwrap();
    for (a, b) in [(long, Csr::identity(40).unwrap()), (many, wide)] {
        let expected = Operations::spgemm(&Reference, &a, &b).unwrap();
        each_device(library, |backend| {
            let (a, b) = (a.to_device(backend).unwrap(), b.to_device(backend).unwrap());
            let mut plan = SpgemmPlan::new(backend, &a, &b, &PlanOptions::once()).unwrap();
            assert_eq!(plan.choice().algorithm, "by_row");
            assert_eq!(plan.run(&a, &b).unwrap().to_host(backend).unwrap(), expected);
        });
    }
}

/// A plan says what runs where it cannot keep the products as it was told to.
pub fn plans_name_the_algorithm_that_runs(library: &Library) {
    let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0]).unwrap();
    let twice = Csr::<f64>::new_unsorted(2, 2, vec![0, 2, 3], vec![1, 1, 0], vec![1.0, 2.0, 3.0]).unwrap();
    each_device(library, |backend| {
        let (a, twice) = (a.to_device(backend).unwrap(), twice.to_device(backend).unwrap());
        let choice = |plan: Result<SpgemmPlan<_, _>, Error>| plan.unwrap().choice().to_string();
        let chunks = PlanOptions::forced("chunks");
        let whole = choice(SpgemmPlan::new(backend, &a, &a, &chunks));
        assert_eq!(whole, "chunks: forced by PlanOptions::algorithm");
        let masked = choice(SpgemmPlan::masked(backend, &a, &a, &a, &chunks));
        assert_eq!(masked, "places: in place of chunks, which takes no mask");
        let repeated = choice(SpgemmPlan::new(backend, &a, &twice, &chunks));
        let reason = "which takes no B whose rows may have a column twice";
        assert_eq!(repeated, format!("by_row: in place of chunks, {reason}"));
    });
}

/// Compares the bits of all products by the algorithms that are `compared`.
fn compare(library: &Library, a: &Wide<Host>, b: &Wide<Host>, compared: fn(&str) -> bool) {
    let other_values = values(a.nnz(), 2);
    let expected = Operations::spgemm(&Reference, a, b).unwrap();
    let changed = Operations::spgemm(&Reference, &a.with_values(other_values.clone()).unwrap(), b).unwrap();
    let bound = SpgemmPlan::bound(&Reference, a, b).unwrap();
    each_device(library, |backend| {
        let (first, right) = (a.to_device(backend).unwrap(), b.to_device(backend).unwrap());
        let second = first.with_values(backend.upload(&other_values).unwrap()).unwrap();
        assert_eq!(SpgemmPlan::bound(backend, &first, &right).unwrap(), bound);
        let usual_limit = backend.scratch_limit();
        for limit in [usual_limit, 0] {
            backend.set_scratch_limit(limit);
            let algorithms = SpgemmKernel::<Wide<Device>>::spgemm_algorithms(backend).iter();
            for algorithm in algorithms.filter(|algorithm| compared(algorithm.name)) {
                let options = PlanOptions::forced(algorithm.name);
                let mut plan = SpgemmPlan::new(backend, &first, &right, &options).unwrap();
                let mut c = plan.run(&first, &right).unwrap();
                assert_eq!(c.to_host(backend).unwrap(), expected, "{}, limit {limit}", algorithm.name);
                plan.run_into(&second, &right, &mut c).unwrap();
                assert_eq!(c.to_host(backend).unwrap(), changed, "{}, limit {limit}", algorithm.name);
            }
        }
        backend.set_scratch_limit(usual_limit);
    });
}
