//! The examples, as functions: `cargo test` compiles each as a program, too.
#![allow(dead_code, reason = "the programs' `main` functions are not called")]

#[path = "../../examples/compress_batch.rs"]
mod compress_batch;
#[path = "../../examples/compress_in_place.rs"]
mod compress_in_place;
#[path = "../../examples/from_ndarray.rs"]
mod from_ndarray;
#[path = "../../examples/gpu.rs"]
mod gpu;
#[path = "../../examples/graph_features.rs"]
mod graph_features;
#[path = "../../examples/multigrid.rs"]
mod multigrid;
#[path = "../../examples/own_backend.rs"]
mod own_backend;
#[path = "../../examples/pagerank.rs"]
mod pagerank;
#[path = "../../examples/poisson.rs"]
mod poisson;
#[path = "../../examples/prime_field.rs"]
mod prime_field;
#[path = "../../examples/several_devices.rs"]
mod several_devices;
#[path = "../../examples/single_cell.rs"]
mod single_cell;
#[path = "../../examples/which_format.rs"]
mod which_format;

use ndarray::{Array2, ShapeBuilder, array, s};
use nnz::generate;
use nnz::prelude::*;
use sparse_conformance::Status;

fn device() -> Device {
    "cpu".parse().unwrap()
}

#[test]
fn poisson_has_the_height_of_the_series() {
    let (middle, solution) = poisson::solve(&device(), 31).unwrap();
    assert!(solution.converged() && (middle - 0.07367).abs() < 2e-4, "{middle}, {solution}");
}

/// V-cycles of a finer grid reduce the residual as much as those of a coarser one.
#[test]
fn multigrid_converges_alike_on_all_grids() {
    for n in [15, 63] {
        let (middle, residuals) = multigrid::solve(&device(), n).unwrap();
        assert!((middle - 0.07367).abs() < 5e-4, "{n}: {middle}");
        assert!(
            residuals.len() <= 10 && residuals.windows(2).all(|pair| pair[1] < 0.15 * pair[0]),
            "{residuals:?}"
        );
    }
}

#[test]
fn several_devices_solve_as_one() {
    let (solution, error) = several_devices::solve(&[device(), device(), device()], 15).unwrap();
    assert!(solution.converged() && error < 1e-8, "{solution}, {error}");
}

/// Pages 1 and 2 have a link to page 0, which has one to page 1; page 3 has none, and none leads there.
#[test]
fn pagerank_prefers_the_page_that_all_link_to() {
    let links = Csr::new(4, 4, vec![0, 1, 2, 3, 3], vec![1, 0, 0], vec![1.0; 3]).unwrap();
    let ranks = pagerank::rank(&device(), links).unwrap();
    assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{ranks:?}");
    assert!(ranks[0] > ranks[1] && ranks[1] > ranks[2] && (ranks[2] - ranks[3]).abs() < 1e-10, "{ranks:?}");
}

/// In a ring whose vertices have their two neighbours, two means of (1, 0, 0, 0) reach the vertex itself and the
/// opposite one.
#[test]
fn graph_features_are_means_of_neighbours() {
    let graph = Csr::new(4, 4, vec![0, 2, 4, 6, 8], vec![1, 3, 0, 2, 1, 3, 0, 2], vec![1.0; 8]).unwrap();
    let features = vec![1.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let smooth = graph_features::propagate(&device(), graph, features, 2).unwrap();
    assert_eq!(smooth, [0.5, 2.0, 0.0, 0.0, 0.5, 2.0, 0.0, 0.0]);
}

/// Gene 1 is proportional to the totals of the cells, so that normalization makes it constant.
#[test]
fn single_cells_are_normalized_before_genes_are_compared() {
    let counts = [(0, 0, 1.0), (0, 2, 6.0), (1, 0, 1.0), (1, 1, 2.0), (1, 2, 2.0), (2, 1, 6.0), (3, 0, 2.0)];
    let counts = Csr::from_triplets(4, 3, counts).unwrap();
    let (genes, selected) = single_cell::variable_genes(&device(), counts, 3).unwrap();
    assert_eq!((genes, selected.shape()), (vec![2, 3, 0], (3, 3)));
    let values = selected.to_dense().unwrap().values().to_vec::<f32>().unwrap();
    let counts = [0.0_f32, 7500.0, 0.0, 5000.0, 0.0, 0.0, 2500.0, 0.0, 7500.0];
    for (found, count) in values.iter().zip(counts) {
        assert!((found - count.ln_1p()).abs() < 1e-5, "{values:?}");
    }
}

/// The cube and the product with −1 exceed the prime; no other y, x² or x³ satisfies the constraints.
#[test]
fn prime_field_products_are_exact() {
    let constraints = prime_field::cubic().unwrap();
    for x in [0, 3, u64::from(u32::MAX), 123_456_789_012_345] {
        let z = prime_field::witness(x);
        assert_eq!(prime_field::first_broken(&constraints, &z).unwrap(), None, "{x}");
        for (changed, broken) in [(2, 2), (3, 0), (4, 1)] {
            let mut wrong = z;
            wrong[changed] += 1;
            let found = prime_field::first_broken(&constraints, &wrong).unwrap();
            assert_eq!(found, Some(broken), "{x}, {changed}");
        }
    }
    assert_eq!(prime_field::witness(3)[2], 29);
}

#[test]
fn compress_batch_keeps_what_is_large() {
    let weights = vec![4.0, -1.0, 0.0, 2.0, -3.0, 0.5, 0.0, 0.0];
    let compress = compress_batch::Compress { weights, count: 2, n: 2, threshold: 1.5 };
    let batch = device().with(compress).unwrap();
    assert_eq!((batch.member_ptr(), batch.values()), (&[0, 2, 3][..], &vec![4.0, 2.0, -3.0]));
}

#[test]
fn compress_in_place_takes_a_tensor_over() {
    let elements = vec![1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0];
    let tensor = compress_in_place::Tensor::hand_over(elements, [2, 2, 3]);
    // SAFETY: the tensor is DLPack's, and its memory the host's.
    let set = unsafe { compress_in_place::compress(&device(), tensor) }.unwrap();
    assert_eq!((set.shape(1), set.nnz(0), set.nnz(1)), (Some((2, 3)), Some(3), Some(1)));
}

#[test]
fn which_format_refuses_what_is_mostly_padding() {
    let matrix = |a: Csr<f64>| Matrix::from_typed(&device(), a).unwrap();
    let compared = which_format::compare(&matrix(generate::stencil_5(40, 40).unwrap()));
    assert_eq!(compared.len(), 6);
    for (format, found) in &compared {
        assert!(found.as_ref().is_ok_and(|(bytes, _)| *bytes >= 12 * 7840), "{format}: {found:?}");
    }

    let mut lengths = vec![1; 50_000];
    lengths[7] = 50_000;
    let skewed = generate::with_row_lengths(&lengths, 50_000, 0).unwrap();
    for (format, found) in which_format::compare(&matrix(skewed)) {
        assert_eq!(found.is_err(), format == Format::Ell, "{format}: {found:?}");
    }
}

#[test]
fn gpu_products_are_those_of_the_reference() {
    let a = generate::uniform::<f32>(300, 200, 5, 1).unwrap();
    let sums: Vec<f32> = (0..300).map(|row| a.major_entries(row).map(|(_, value)| value).sum()).collect();
    let (y, _) = gpu::row_sums(&Matrix::from_typed(&device(), a).unwrap(), 2).unwrap();
    assert_eq!(y, sums);
}

#[test]
fn own_backend_conforms() {
    let records = own_backend::conform();
    let failed: Vec<_> = records.iter().filter(|record| record.status == Status::Fail).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(records.iter().filter(|record| record.status == Status::Pass).count() > 20);
}

#[test]
fn ndarrays_in_either_order_are_multiplied() {
    let cpu = Cpu::new().unwrap();
    let a = array![[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]];
    let b = array![[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]];
    let by_columns = |array: &Array2<f64>| {
        Array2::from_shape_vec(array.raw_dim().f(), array.t().iter().copied().collect()).unwrap()
    };
    for (a, b) in [(a.clone(), b.clone()), (by_columns(&a), by_columns(&b))] {
        let c = from_ndarray::multiply(&cpu, a.view(), b.view()).unwrap();
        assert_eq!(c, array![[7.0, 70.0], [6.0, 60.0]]);
    }
    let backwards = a.slice(s![.., ..;-1]);
    assert!(from_ndarray::multiply(&cpu, backwards, b.view()).is_err());
}
