//! Generators: exact sizes, the statistics that recipes promise, and checksums that hold on every machine.

use proptest::prelude::*;
use sparse_core::{Csr, IndexOrder, bf16, c64};
use sparse_generate::*;

fn graph(name: &str, divisor: usize) -> Csr<f32> {
    stand_in::find(name).unwrap().generate(divisor).unwrap()
}

fn longest(a: &Csr<f32>) -> usize {
    a.row_lengths().into_iter().max().unwrap()
}

/// The number of rows whose length `accept`s.
fn count(a: &Csr<f32>, accept: impl Fn(usize) -> bool) -> usize {
    a.row_lengths().into_iter().filter(|&length| accept(length)).count()
}

/// The fraction of rows whose length `accept`s.
fn share(a: &Csr<f32>, accept: impl Fn(usize) -> bool) -> f64 {
    count(a, accept) as f64 / a.nrows() as f64
}

/// The fraction of entries that merging would remove.
fn duplicates(a: &Csr<f32>) -> f64 {
    let twice = |row: usize| {
        let columns: Vec<usize> = a.major_entries(row).map(|entry| entry.0).collect();
        columns.windows(2).filter(|pair| pair[0] == pair[1]).count()
    };
    (0..a.nrows()).map(twice).sum::<usize>() as f64 / a.nnz() as f64
}

fn column_counts(a: &Csr<f32>) -> Vec<usize> {
    let mut counts = vec![0; a.ncols()];
    a.col_idx().iter().for_each(|&col| counts[col as usize] += 1);
    counts
}

fn correlation(x: &[usize], y: &[usize]) -> f64 {
    let mean = |v: &[usize]| v.iter().sum::<usize>() as f64 / v.len() as f64;
    let (mx, my) = (mean(x), mean(y));
    let product = |u: &[usize], mu: f64, v: &[usize], mv: f64| -> f64 {
        u.iter().zip(v).map(|(&a, &b)| (a as f64 - mu) * (b as f64 - mv)).sum()
    };
    product(x, mx, y, my) / (product(x, mx, x, mx) * product(y, my, y, my)).sqrt()
}

fn strings(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|&text| text.into()).collect()
}

#[test]
fn rows_can_be_drawn_in_pieces() {
    let recipe = stand_in::find("arxiv").unwrap().recipe;
    let whole: Csr<f32> = recipe.generate(64).unwrap();
    let graph = recipe.prepare(64).unwrap();
    let row_ptr = graph.row_ptr();
    let (mut col_idx, mut values) = (vec![0; whole.nnz()], vec![0.0; whole.nnz()]);
    let middle = graph.nrows() / 3;
    let (first, second) = col_idx.split_at_mut(row_ptr[middle] as usize);
    let (first_values, second_values) = values.split_at_mut(first.len());
    graph.draw(middle..graph.nrows(), second, second_values);
    graph.draw(0..middle, first, first_values);
    assert_eq!(Csr::new_unsorted(graph.nrows(), graph.nrows(), row_ptr, col_idx, values).unwrap(), whole);
}

#[test]
fn stencil_5_is_the_laplacian() {
    let a = stencil_5::<f64>(2, 2).unwrap();
    assert_eq!(a.row_ptr(), &[0, 3, 6, 9, 12]);
    assert_eq!(a.col_idx(), &[0, 1, 2, 0, 1, 3, 0, 2, 3, 1, 2, 3]);
    assert_eq!(a.values(), &[4.0, -1.0, -1.0, -1.0, 4.0, -1.0, -1.0, 4.0, -1.0, -1.0, -1.0, 4.0]);
}

#[test]
fn stencils_are_symmetric_and_their_interior_rows_sum_to_zero() {
    let cases = [
        (stencil_5::<f64>(5, 4), 5, 6),
        (stencil_9(5, 4), 9, 6),
        (stencil_7(5, 4, 3), 7, 6),
        (stencil_27(5, 4, 3), 27, 6),
    ];
    for (a, points, interior) in cases {
        let a = a.unwrap();
        assert_eq!(a.order(), IndexOrder::CANONICAL);
        let mut transposed: Vec<_> = a.triplets().map(|(i, j, v)| (j, i, v)).collect();
        transposed.sort_by_key(|&(i, j, _)| (i, j));
        assert!(transposed.into_iter().eq(a.triplets()), "{points} points");
        let full: Vec<usize> = (0..a.nrows()).filter(|&i| a.major_entries(i).count() == points).collect();
        assert_eq!(full.len(), interior, "{points} points");
        assert!(full.iter().all(|&i| a.major_entries(i).map(|e| e.1).sum::<f64>() == 0.0));
    }
}

#[test]
fn stencils_on_thin_empty_and_huge_grids() {
    assert_eq!(stencil_7::<f32>(0, 3, 3).unwrap().nrows(), 0);
    assert_eq!(stencil_27::<f32>(4, 1, 1).unwrap().nnz(), 10);
    insta::assert_snapshot!(stencil_5::<f32>(1 << 16, 1 << 16).unwrap_err(), @"rows = 4294967296 does not fit i32");
    insta::assert_snapshot!(stencil_7::<f32>(usize::MAX, 2, 1).unwrap_err(), @"nx x ny (18446744073709551615 x 2) = 36893488147419103230 does not fit usize");
}

#[test]
fn band_stores_exactly_the_band() {
    let cases = [(0, 1, 1), (1, 0, 0), (9, 2, 3), (9, 0, 8), (9, 100, 0), (9, usize::MAX, usize::MAX)];
    for (n, lower, upper) in cases {
        let a = band::<f64>(n, lower, upper, 1).unwrap();
        let inside = |i: usize, j: usize| if j < i { i - j <= lower } else { j - i <= upper };
        let expected: Vec<_> =
            (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|&(i, j)| inside(i, j)).collect();
        assert_eq!(a.triplets().map(|(i, j, _)| (i, j)).collect::<Vec<_>>(), expected);
        assert!(a.values().iter().all(|v| *v != 0.0 && v.abs() <= 4.0 && v.fract() == 0.0));
    }
}

#[test]
fn uniform_rows_have_the_length_that_was_asked_for() {
    for per_row in [0, 1, 20, 39, 40] {
        let a = uniform::<f32>(30, 40, per_row, 3).unwrap();
        assert_eq!(a.order(), IndexOrder::CANONICAL);
        assert!(a.row_lengths().iter().all(|&length| length == per_row));
    }
    let error = with_row_lengths::<f32>(&[3, 5], 4, 0).unwrap_err();
    insta::assert_snapshot!(error, @"uniform: row 1: 5 entries do not fit 4 columns");
}

#[test]
fn uniform_columns_are_equally_likely() {
    for per_row in [3, 17] {
        let a = uniform::<f32>(10_000, 20, per_row, 3).unwrap();
        let expected = 500.0 * per_row as f64;
        assert!(column_counts(&a).iter().all(|&hits| (hits as f64 / expected - 1.0).abs() < 0.1));
    }
}

#[test]
fn power_law_is_exact_and_chung_lu() {
    let a = power_law::<f32>(20_000, 8, 2.2, 900, 5).unwrap();
    assert_eq!((a.nrows(), a.nnz(), longest(&a)), (20_000, 160_000, 900));
    assert_eq!(a.order(), IndexOrder::CANONICAL);
    assert_eq!(count(&a, |length| length == 0), 0);
    assert!(correlation(&a.row_lengths(), &column_counts(&a)) > 0.9);
    let (above_20, above_80) = (count(&a, |length| length > 20), count(&a, |length| length > 80));
    let exponent = (above_20 as f64 / above_80 as f64).log2() / 2.0;
    assert!((exponent - 1.2).abs() < 0.25, "the tail falls with exponent {exponent}");
    assert!(power_law::<f32>(100, 50, 2.0, 10, 0).is_err());
    assert!(power_law::<f32>(100, 5, 1.0, 10, 0).is_err());
}

#[test]
fn rmat_prefers_its_heavy_quadrants() {
    let a = rmat::<f32>(12, 8, GRAPH500, 9).unwrap();
    assert_eq!((a.nrows(), a.ncols(), a.order()), (4096, 4096, IndexOrder::CANONICAL));
    assert!((24_000..=32_768).contains(&a.nnz()));
    let quadrant = |low_row: bool, low_col: bool| {
        let hits = a.triplets().filter(|&(i, j, _)| (i < 2048) == low_row && (j < 2048) == low_col).count();
        hits as f64 / a.nnz() as f64
    };
    assert!((quadrant(true, false) - 0.19).abs() < 0.03 && (quadrant(false, true) - 0.19).abs() < 0.03);
    assert!(quadrant(true, true) > 0.5 && quadrant(false, false) < 0.08);
    assert!(rmat::<f32>(3, 2, [0.5, 0.5, 0.5, 0.0], 0).is_err());
    for scale in [31, 64, u32::MAX] {
        let refused = rmat::<f32>(scale, 1, GRAPH500, 0).unwrap_err().to_string();
        let reason = "it is at most 30, since 2^scale vertices have to fit i32";
        assert_eq!(refused, format!("an R-MAT graph of scale {scale} is not supported: {reason}"));
    }
    assert_eq!(rmat::<f32>(0, 2, GRAPH500, 0).unwrap().nnz(), 1);
}

#[test]
fn communities_keep_their_share_of_entries() {
    let columns =
        Columns::Weighted { weight: Weight::LogNormal { sigma: 0.5 }, communities: 10, inside: 0.7 };
    let law = Law::LogNormal { mu: 2.0, sigma: 0.5 };
    let lengths = RowLengths { n: 5000, nnz: 40_000, longest: 50, tails: &[], law, least: 1, most: 50 };
    let recipe = Recipe { lengths, columns, repeats: None, shuffled: false, seed: 1 };
    let a: Csr<f32> = recipe.generate(1).unwrap();
    let inside = a.triplets().filter(|&(i, j, _)| i / 500 == j / 500).count() as f64 / a.nnz() as f64;
    assert!((inside - 0.73).abs() < 0.02, "{inside} of the entries are inside");
}

/// Checksums of the stand-ins, divided until about 1024 rows are left.
const STAND_INS: [(&str, u64); 13] = [
    ("arxiv", 0xfc7d_dac2_ab32_beaf),
    ("collab", 0xd670_f9b4_7ef7_0b3f),
    ("citation", 0x4076_79f2_9d23_889e),
    ("ddi", 0x3d8c_443f_9dfd_32f6),
    ("protein", 0x6d81_5f56_1aee_53e0),
    ("ppa", 0x10e4_de71_19d9_2025),
    ("reddit", 0x6ca3_d7c2_0e2c_a977),
    ("products", 0x6fc3_dc95_c58d_acb0),
    ("youtube", 0xc57b_54fd_866f_916f),
    ("amazon_cogdl", 0x5769_afb3_a3ab_603c),
    ("yelp", 0x5a14_78f2_39e7_0d22),
    ("wikikg2", 0xe348_ab3f_f2fa_8c09),
    ("am", 0x2545_d55a_6db2_72be),
];

#[test]
fn stand_ins_are_exact_and_reproducible() {
    for (graph, (name, expected)) in stand_in::ALL.iter().zip(STAND_INS) {
        assert_eq!(graph.name, name);
        let lengths = &graph.recipe.lengths;
        let divisor = lengths.n / 1024;
        let a = graph.generate::<f32>(divisor).unwrap();
        assert_eq!((a.nrows(), a.ncols()), (lengths.n / divisor, lengths.n / divisor), "{name}");
        assert_eq!((a.nnz(), longest(&a)), (lengths.nnz / divisor, lengths.longest(divisor)), "{name}");
        assert!(a.order().sorted);
        assert_eq!(a.order().unique, graph.recipe.repeats.is_none(), "{name}");
        assert!(a.values().iter().all(|v| *v != 0.0 && v.abs() < 1.0 && (v * 128.0).fract() == 0.0));
        assert_eq!(checksum(&a), expected, "{name} has {:#x}", checksum(&a));
    }
}

#[test]
fn arxiv_has_the_published_rows() {
    let a = graph("arxiv", 1);
    assert_eq!((a.nrows(), a.nnz(), longest(&a)), (169_343, 1_166_243, 13_161));
    assert_eq!((count(&a, |length| length == 0), count(&a, |length| length == 1)), (62_006, 31_101));
    assert_eq!(count(&a, |length| length >= 5000), 30);
    assert!(count(&a, |length| length > 300) > 100);
    assert_eq!(checksum(&a), 0xf89f_a2c0_7e9e_1c10);
}

#[test]
fn ddi_is_dense_and_cannot_be_divided_much() {
    let a = graph("ddi", 1);
    assert_eq!((a.nrows(), a.nnz(), longest(&a)), (4_267, 2_135_822, 2_234));
    assert!(correlation(&a.row_lengths(), &column_counts(&a)) > 0.9);
    assert_eq!(checksum(&a), 0x7702_e641_7a08_ee48);
    let ddi = stand_in::find("ddi").unwrap();
    assert!(ddi.generate::<f32>(5).is_ok());
    insta::assert_snapshot!(ddi.generate::<f32>(6).unwrap_err(), @"a graph of 711 rows and 355970 entries by a log-normal law of mu 5.9 and sigma 0.8 is not supported: 1 rows are pinned to 426 entries, and the others, of 1 to 426 each, cannot hold the rest");
    insta::assert_snapshot!(ddi.generate::<f32>(0).unwrap_err(), @"a graph divided by 0 is not supported: the divisor must be at least 1");
}

#[test]
fn statistics_of_stand_ins_are_near_the_table() {
    assert!((duplicates(&graph("collab", 16)) - 0.18).abs() < 0.02);
    let wikikg2 = graph("wikikg2", 16);
    assert!((duplicates(&wikikg2) - 0.5).abs() < 0.02);
    assert!((share(&wikikg2, |length| length == 0) - 0.1).abs() < 0.001);
    assert!((share(&wikikg2, |length| length > 30) - 0.001).abs() < 0.0001);
    assert!((share(&graph("citation", 64), |length| length == 0) - 0.1).abs() < 0.001);
    assert_eq!(share(&graph("youtube", 64), |length| length == 0), 0.0);
}

#[test]
fn near_columns_stay_in_their_window_and_block() {
    let law = Law::LogNormal { mu: 2.0, sigma: 0.8 };
    let lengths = RowLengths { n: 4000, nnz: 40_000, longest: 90, tails: &[], law, least: 1, most: 90 };
    let columns = Columns::Near { blocks: 8 };
    let recipe = Recipe { lengths, columns, repeats: None, shuffled: false, seed: 1 };
    let a = recipe.generate::<f32>(1).unwrap();
    let lengths = a.row_lengths();
    assert!(a.triplets().all(|(i, j, _)| i / 500 == j / 500 && i.abs_diff(j) <= 4 * lengths[i]));
}

/// A generator's arguments and the checksum of its matrix.
const CHECKSUMS: &[(&str, &[&str], u64)] = &[
    ("stencil_5", &["7", "5"], 0xfaec_af26_69c1_3c1f),
    ("stencil_9", &["7", "5"], 0xc11e_7bf6_1b67_f4cc),
    ("stencil_7", &["4", "3", "5"], 0x271b_4a43_7679_2522),
    ("stencil_27", &["4", "3", "5"], 0xdb7c_ffd7_2465_0cee),
    ("band", &["50", "3", "2"], 0xc9bd_aa0e_3107_7162),
    ("uniform", &["40", "60", "8", "7"], 0xb45d_86e0_8dbd_a351),
    ("power_law", &["500", "6", "2.1", "80", "7"], 0x60b7_d3c4_8b15_38d4),
    ("rmat", &["8", "8"], 0x278c_de6a_b4ec_fd53),
    ("rmat", &["8", "8", "7", "0.25", "0.25", "0.25", "0.25"], 0xc71c_9012_e3b8_9539),
    ("stand_in", &["youtube", "256"], 0xdbcd_4613_baad_e152),
    ("adversarial", &["varying_lengths"], 0xf1ec_736b_1f21_252a),
];

#[test]
fn checksums_are_pinned() {
    for &(name, arguments, expected) in CHECKSUMS {
        let found = checksum(&by_name(name, &strings(arguments)).unwrap());
        assert_eq!(found, expected, "{name} {arguments:?} has {found:#x}");
    }
    let pinned = |name: &str| CHECKSUMS.iter().any(|entry| entry.0 == name);
    assert!(catalogue().iter().all(|generator| pinned(generator.name)));
}

#[test]
fn adversarial_checksums_are_pinned() {
    let cases = adversarial::all::<f64>().unwrap();
    let all = cases.iter().map(|(_, a)| checksum(a)).fold(0u64, |all, sum| all.rotate_left(1) ^ sum);
    assert_eq!(all, 0xd59b_305d_c69a_03aa, "{all:#x}");
}

#[test]
fn a_checksum_sees_every_part_and_no_type() {
    let a = Csr::<f64>::new(2, 3, vec![0, 1, 2], vec![0, 2], vec![1.0, 2.0]).unwrap();
    let others = [
        Csr::new(2, 4, vec![0, 1, 2], vec![0, 2], vec![1.0, 2.0]),
        Csr::new(2, 3, vec![0, 2, 2], vec![0, 2], vec![1.0, 2.0]),
        Csr::new(2, 3, vec![0, 1, 2], vec![0, 1], vec![1.0, 2.0]),
        Csr::new(2, 3, vec![0, 1, 2], vec![0, 2], vec![1.0, -2.0]),
        Csr::new(2, 3, vec![0, 1, 2], vec![0, 2], vec![2.0, 1.0]),
    ];
    assert!(others.into_iter().all(|other| checksum(&other.unwrap()) != checksum(&a)));
    let half = a.with_values(vec![bf16::ONE, bf16::ONE + bf16::ONE]).unwrap();
    assert_eq!(checksum(&half), checksum(&a));
}

#[test]
fn one_seed_gives_one_matrix_in_every_type() {
    let reference = checksum(&uniform::<f64>(50, 60, 7, 1).unwrap());
    assert_eq!(checksum(&uniform::<f64>(50, 60, 7, 1).unwrap()), reference);
    assert_eq!(checksum(&uniform::<bf16>(50, 60, 7, 1).unwrap()), reference);
    assert_ne!(checksum(&uniform::<f64>(50, 60, 7, 2).unwrap()), reference);
    let complex = uniform::<c64>(50, 60, 7, 1).unwrap();
    let real: Vec<f64> = complex.values().iter().map(|v| v.re).collect();
    assert_eq!(checksum(&complex.with_values(real).unwrap()), reference);
    assert!(complex.values().iter().all(|v| v.im != 0.0));
}

#[test]
fn adversarial_cases_are_what_their_names_say() {
    let cases = adversarial::all::<f32>().unwrap();
    let case = |name: &str| &cases.iter().find(|case| case.0 == name).unwrap().1;
    let lengths = |name: &str| case(name).row_lengths();
    assert_eq!(
        (case("0x2").nrows(), case("0x2").ncols(), case("2x0").nrows(), case("2x0").ncols()),
        (0, 2, 2, 0)
    );
    assert_eq!((case("0x0").nrows(), case("no_entries").nnz()), (0, 0));
    assert_eq!((case("1xn").nrows(), case("nx1").ncols()), (1, 1));
    assert_eq!(lengths("empty_first_row")[..2], [0, 3]);
    assert_eq!(lengths("empty_middle_row")[19..22], [3, 0, 3]);
    assert_eq!(lengths("empty_last_row")[38..], [3, 0]);
    assert_eq!(lengths("empty_every_third_row")[..5], [3, 0, 3, 3, 0]);
    assert_eq!(lengths("alternating_lengths")[..4], [0, 100, 0, 100]);
    assert_eq!(lengths("long_row_in_stencil")[199..202], [4, 400, 5]);
    assert_eq!(case("dense").nnz(), 33 * 17);
    assert!(case("one_column_hit_by_all").col_idx().iter().all(|&col| col == 4));
    assert_eq!(case("stored_zeros").values().iter().filter(|&&v| v == 0.0).count(), 200);
    assert!(!case("unsorted").order().sorted);
    assert!(case("duplicates").order().sorted && !case("duplicates").order().unique);
    for n in [31, 32, 33, 255, 256, 257, 1023, 1024, 1025] {
        assert_eq!(lengths(&format!("full_last_row_{n}")).last(), Some(&n));
    }
    let mut names: Vec<&String> = cases.iter().map(|case| &case.0).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), cases.len());
}

#[test]
fn wrong_calls_say_what_would_have_been_right() {
    let call = |name: &str, arguments: &[&str]| by_name(name, &strings(arguments)).unwrap_err();
    insta::assert_snapshot!(call("stencil_6", &[]), @"the generator `stencil_6` is not supported: there are stencil_5, stencil_9, stencil_7, stencil_27, band, uniform, power_law, rmat, stand_in, adversarial");
    insta::assert_snapshot!(call("band", &["4", "1"]), @"`band 4 1` is not supported: the number of arguments is wrong; usage: band N LOWER UPPER [SEED=0]");
    insta::assert_snapshot!(call("band", &["4", "1", "x"]), @"`band 4 1 x` is not supported: UPPER is `x`, not a whole number that fits 64 bits; usage: band N LOWER UPPER [SEED=0]");
    insta::assert_snapshot!(call("stand_in", &["cora"]), @"the graph `cora` is not supported: there are arxiv, collab, citation, ddi, protein, ppa, reddit, products, youtube, amazon_cogdl, yelp, wikikg2, am");
    insta::assert_snapshot!(call("adversarial", &["nice"]), @"the case `nice` is not supported: there are 0x0, 0x2, 2x0, no_entries, 1x1, 1xn, nx1, empty_first_row, empty_middle_row, empty_last_row, empty_every_third_row, fixed_lengths, varying_lengths, alternating_lengths, long_row_in_stencil, dense, one_column_hit_by_all, stored_zeros, unsorted, duplicates, full_last_row_31, full_last_row_32, full_last_row_33, full_last_row_255, full_last_row_256, full_last_row_257, full_last_row_1023, full_last_row_1024, full_last_row_1025");
}

proptest! {
    #[test]
    fn row_lengths_have_the_exact_sum(
        n in 1usize..400,
        average in 1usize..30,
        sigma in 0.0f64..3.0,
        divisor in 1usize..4,
        repeats in prop::option::of(0.0..1.0f64),
        seed: u64,
    ) {
        let tails = [Tail { rows: n / 10, least: 0, most: 0 }];
        let law = Law::LogNormal { mu: 1.0, sigma };
        let lengths = RowLengths { n, nnz: n * average, longest: 40, tails: &tails, law, least: 0, most: 35 };
        let columns = Columns::Weighted { weight: Weight::RowLength, communities: 3, inside: 0.5 };
        let recipe = Recipe { lengths, columns, repeats, shuffled: true, seed };
        match recipe.generate::<f32>(divisor) {
            Ok(a) => {
                prop_assert_eq!((a.nrows(), a.nnz()), (n / divisor, n * average / divisor));
                prop_assert_eq!(longest(&a), lengths.longest(divisor));
                prop_assert!(a.order().sorted && (repeats.is_some() || a.order().unique));
            }
            Err(error) => prop_assert!(error.to_string().contains("cannot hold the rest")),
        }
    }
}
