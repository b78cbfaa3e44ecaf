//! Products over semirings: searches and shortest paths, against the serial reference and textbook algorithms.

use crate::common::*;
use backend_cpu::Cpu;
use sparse_core::op::{MinPlus, OrAnd, Semiring, SemiringProducts};
use sparse_core::reference::Reference;
use sparse_core::{Csr, Error, SparseFormat};
use sparse_generate::{stencil_5, uniform};
use std::array;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// A graph with integer lengths of edges, whose element (i, j) is the edge from j to i, and a zero for staying.
fn roads() -> Csr<f64> {
    let edges = uniform::<f64>(300, 300, 3, 7).unwrap();
    let edges = edges.triplets().map(|(i, j, _)| (i, j, ((7 * i + 13 * j) % 20 + 1) as f64));
    let edges = edges.filter(|&(i, j, _)| i != j);
    Csr::from_triplets(300, 300, edges.chain((0..300).map(|i| (i, i, 0.0)))).unwrap()
}

/// The lengths of shortest paths from `source`, by Dijkstra's algorithm.
fn dijkstra(roads: &Csr<f64>, source: usize) -> Vec<f64> {
    let mut neighbours = vec![vec![]; roads.nrows()];
    roads.triplets().for_each(|(to, from, length)| neighbours[from].push((to, length as u64)));
    let mut best = vec![u64::MAX; roads.nrows()];
    let mut queue = BinaryHeap::from([Reverse((0, source))]);
    best[source] = 0;
    while let Some(Reverse((length, node))) = queue.pop() {
        for &(to, step) in &neighbours[node] {
            if length == best[node] && length + step < best[to] {
                best[to] = length + step;
                queue.push(Reverse((best[to], to)));
            }
        }
    }
    best.into_iter().map(|length| if length == u64::MAX { f64::INFINITY } else { length as f64 }).collect()
}

#[test]
fn repeated_min_plus_products_are_shortest_paths() {
    let roads = roads();
    for cpu in backends() {
        let mut lengths = vec![f64::INFINITY; 300];
        lengths[5] = 0.0;
        loop {
            let mut next = vec![f64::NAN; 300];
            cpu.semiring_spmv(&MinPlus, &roads, &lengths, &mut next).unwrap();
            if next == lengths {
                break;
            }
            lengths = next;
        }
        assert_eq!(lengths, dijkstra(&roads, 5));
        assert!(lengths.iter().filter(|length| length.is_finite()).count() > 100);
    }
}

#[test]
fn repeated_or_and_products_reach_what_paths_do() {
    let roads = roads();
    let lengths = dijkstra(&roads, 8);
    let cpu = Cpu::new().unwrap();
    let mut reached: Vec<bool> = (0..300).map(|node| node == 8).collect();
    for _ in 0..300 {
        let mut next = vec![true; 300];
        cpu.semiring_spmv(&OrAnd, &roads, &reached, &mut next).unwrap();
        reached = next;
    }
    assert!(reached.iter().zip(&lengths).all(|(&reached, length)| reached == length.is_finite()));
}

/// Strings under concatenation and choice of the longer one: neither numbers nor commutative.
struct Longest;

impl Semiring<f64> for Longest {
    type Element = (usize, u64);

    fn zero(&self) -> (usize, u64) {
        (0, 0)
    }

    fn add(&self, a: (usize, u64), b: (usize, u64)) -> (usize, u64) {
        if b.0 > a.0 { b } else { (a.0, a.1.rotate_left(1) ^ b.1) }
    }

    fn multiply(&self, value: f64, (length, hash): (usize, u64)) -> (usize, u64) {
        (length + 1, hash.rotate_left(3) ^ value.to_bits())
    }
}

#[test]
fn sums_have_the_order_of_entries_whatever_the_threads() {
    let a: Csr<f64> = stencil_5(120, 110).unwrap();
    for columns in [0, 1, 3] {
        let b: Vec<_> = (0..a.ncols() * columns).map(|k| (k % 5, k as u64)).collect();
        let mut expected = vec![(9, 9); a.nrows() * columns];
        Reference.semiring_spmm(&Longest, &a, &b, columns, &mut expected).unwrap();
        for cpu in backends() {
            let mut found = vec![(9, 9); a.nrows() * columns];
            cpu.semiring_spmm(&Longest, &a, &b, columns, &mut found).unwrap();
            assert!(found == expected, "{columns} columns");
        }
    }
}

/// Vectors of four 64-bit words under wrapping addition and multiplication, which no scalar type holds.
struct Words;

impl Semiring<[u64; 4]> for Words {
    type Element = [u64; 4];

    fn zero(&self) -> [u64; 4] {
        [0; 4]
    }

    fn add(&self, a: [u64; 4], b: [u64; 4]) -> [u64; 4] {
        array::from_fn(|k| a[k].wrapping_add(b[k]))
    }

    fn multiply(&self, a: [u64; 4], b: [u64; 4]) -> [u64; 4] {
        array::from_fn(|k| a[k].wrapping_mul(b[k]))
    }
}

#[test]
fn values_may_be_of_any_type() {
    let a: Csr<f32> = stencil_5(120, 110).unwrap();
    let words = |k: usize| array::from_fn(|word| (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 << word));
    let values: Vec<[u64; 4]> = (0..a.nnz()).map(words).collect();
    let b: Vec<[u64; 4]> = (0..2 * a.ncols()).map(words).collect();
    let mut expected = vec![[0; 4]; 2 * a.nrows()];
    for ((i, j, _), &value) in a.triplets().zip(&values) {
        for column in 0..2 {
            let sum = &mut expected[2 * i + column];
            *sum = Words.add(*sum, Words.multiply(value, b[2 * j + column]));
        }
    }
    for cpu in backends() {
        let mut found = vec![[9; 4]; 2 * a.nrows()];
        cpu.semiring_spmm_with(&Words, (a.pattern(), &values), &b, 2, &mut found).unwrap();
        assert!(found == expected);
    }
    let few = Reference.semiring_spmm_with(&Words, (a.pattern(), &values[1..]), &b, 2, &mut expected);
    let reason =
        format!("semiring: the number of values of A is {} where {} is needed", a.nnz() - 1, a.nnz());
    assert_eq!(few.unwrap_err().to_string(), reason);
}

/// The elements of a sparse product, by a map for each row.
fn sparse_product<S: Semiring<V>, V: Copy>(
    semiring: &S,
    (a, values): (&Csr<f64>, &[V]),
    (b, elements): (&Csr<f64>, &[S::Element]),
) -> Vec<BTreeMap<i32, S::Element>> {
    let row = |i| {
        let mut sums = BTreeMap::new();
        for k in a.pattern().range(i) {
            for j in b.pattern().range(a.col_idx()[k] as usize) {
                let sum = sums.entry(b.col_idx()[j]).or_insert(semiring.zero());
                *sum = semiring.add(*sum, semiring.multiply(values[k], elements[j]));
            }
        }
        sums
    };
    (0..a.nrows()).map(row).collect()
}

#[test]
fn sparse_products_are_those_of_their_rows_whatever_the_threads() {
    let (a, b) = (uniform::<f64>(700, 300, 5, 1).unwrap(), uniform::<f64>(300, 900, 6, 2).unwrap());
    let (wide, hub) = (
        stencil_5(90, 80).unwrap(),
        Csr::<f64>::from_triplets(1, 7200, (0..7200).map(|j| (0, j, 1.0))).unwrap(),
    );
    let empty = [Csr::<f64>::zeros(0, 4).unwrap(), Csr::zeros(4, 0).unwrap(), Csr::zeros(0, 0).unwrap()];
    let [no_rows, no_columns, nothing] = &empty;
    let pairs = [
        (&a, &b),
        (&wide, &wide),
        (&hub, &wide),
        (no_rows, no_columns),
        (no_columns, no_rows),
        (nothing, nothing),
    ];
    for (a, b) in pairs {
        let elements: Vec<_> = (0..b.nnz()).map(|k| (k % 5, k as u64)).collect();
        let (left, right) = ((&**a.pattern(), &a.values()[..]), (&**b.pattern(), &elements[..]));
        let expected = sparse_product(&Longest, (a, a.values()), (b, &elements));
        let flat = |rows: &[BTreeMap<i32, (usize, u64)>]| -> (Vec<i32>, Vec<_>) {
            rows.iter().flat_map(|row| row.iter().map(|(&j, &element)| (j, element))).unzip()
        };
        // Every second column of the product, and a column beside it.
        let mask = expected
            .iter()
            .enumerate()
            .flat_map(|(i, row)| row.keys().step_by(2).map(move |&j| (i, j as usize, 1.0)));
        let beside = (a.nrows() > 0 && b.ncols() > 0).then(|| (0, b.ncols() - 1, 1.0));
        let mask: BTreeSet<_> = mask.chain(beside).map(|(i, j, _)| (i, j)).collect();
        let mask =
            Csr::<f64>::from_triplets(a.nrows(), b.ncols(), mask.into_iter().map(|(i, j)| (i, j, 1.0)))
                .unwrap();
        let at_mask: Vec<_> = mask
            .triplets()
            .map(|(i, j, _)| expected[i].get(&(j as i32)).copied().unwrap_or(Semiring::<f64>::zero(&Longest)))
            .collect();
        for cpu in backends() {
            let (pattern, found) = cpu.semiring_spgemm_with(&Longest, left, right, None).unwrap();
            assert_eq!((pattern.major(), pattern.minor()), (a.nrows(), b.ncols()));
            let lengths: Vec<_> = (0..pattern.major()).map(|i| pattern.range(i).len()).collect();
            assert!(lengths.iter().copied().eq(expected.iter().map(BTreeMap::len)));
            assert!((pattern.indices().clone(), found) == flat(&expected));
            let (pattern, found) =
                cpu.semiring_spgemm_with(&Longest, left, right, Some(mask.pattern())).unwrap();
            assert!(pattern.id() == mask.pattern().id() && found == at_mask);
        }
    }
}

#[test]
fn powers_over_min_plus_are_shortest_paths_between_all_nodes() {
    let roads = roads();
    let cpu = Cpu::new().unwrap();
    let mut paths = roads.clone();
    for _ in 0..9 {
        paths = cpu.semiring_spgemm(&MinPlus, &paths, &paths).unwrap();
    }
    for source in [5, 8, 299] {
        let expected = dijkstra(&roads, source);
        let mut found = vec![f64::INFINITY; 300];
        paths
            .triplets()
            .filter(|&(_, from, _)| from == source)
            .for_each(|(to, _, length)| found[to] = length);
        assert_eq!(found, expected);
    }
    let direct = cpu.semiring_spgemm_masked(&MinPlus, &paths, &paths, &roads).unwrap();
    assert_eq!(direct.pattern_id(), roads.pattern_id());
    assert!(direct.values().iter().zip(roads.values()).all(|(path, road)| path <= road));
}

#[test]
fn sparse_operands_that_do_not_fit_are_refused() {
    let (cpu, a, b) =
        (Cpu::new().unwrap(), Csr::<f64>::zeros(2, 3).unwrap(), Csr::<f64>::zeros(2, 2).unwrap());
    let error = cpu.semiring_spgemm(&MinPlus, &a, &b).unwrap_err();
    assert_eq!(error.to_string(), "semiring: the number of rows of B is 2 where 3 is needed");
    let error = cpu.semiring_spgemm_masked(&MinPlus, &b, &a, &b).unwrap_err();
    assert_eq!(error.to_string(), "semiring: the number of columns of the mask is 2 where 3 is needed");
    let twice = Csr::<f64>::new_unsorted(2, 2, vec![0, 2, 2], vec![1, 1], vec![1.0; 2]).unwrap();
    let error = cpu.semiring_spgemm_masked(&MinPlus, &b, &b, &twice).unwrap_err();
    assert!(matches!(error, Error::Format { .. }), "{error}");
    let (left, right) = ((&**b.pattern(), &[1.0][..]), (&**b.pattern(), &[][..]));
    let error = cpu.semiring_spgemm_with(&MinPlus, left, right, None).unwrap_err();
    assert_eq!(error.to_string(), "semiring: the number of values of A is 1 where 0 is needed");
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let a = Csr::<f64>::zeros(2, 3).unwrap();
    let cpu = Cpu::new().unwrap();
    let mut c = [0.0; 4];
    for (b, columns) in [(vec![0.0; 5], 2), (vec![0.0; 3], 1), (vec![], usize::MAX)] {
        let error = cpu.semiring_spmm(&MinPlus, &a, &b, columns, &mut c).unwrap_err();
        assert!(matches!(error, Error::Shape { .. } | Error::IndexOverflow { .. }), "{error}");
    }
    cpu.semiring_spmm(&MinPlus, &a, &[0.0; 6], 2, &mut c).unwrap();
    assert_eq!(c, [f64::INFINITY; 4]);
}
