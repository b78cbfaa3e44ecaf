//! Values of types known at run time give what the typed layer gives, in every format and type.
#![cfg(feature = "cpu")]

mod batches;
mod chunks;
mod sets;

use batches::batch;
use nnz::prelude::*;
use nnz::reference::Reference;
use nnz::{
    EllLayout, Host, HybWidth, Index, IndexType, Layout, Method, PreconditionerKind, SellLayout,
    SolveOptions, bf16, f16, generate,
};

/// Entries of 4 x 3 matrix whose products are exact in every type; row 1 is empty.
const ENTRIES: [(usize, usize, c64); 5] = [
    (0, 0, c64::new(1.0, 1.0)),
    (0, 2, c64::new(2.0, 0.0)),
    (2, 1, c64::new(-3.0, 2.0)),
    (3, 0, c64::new(4.0, 0.0)),
    (3, 2, c64::new(0.0, -1.0)),
];

/// The methods that this build has.
fn methods() -> impl Iterator<Item = Method> {
    Method::ALL.iter().copied().filter(|&method| method != Method::Direct || cfg!(feature = "direct"))
}

fn cpu() -> Device {
    "cpu".parse().unwrap()
}

fn values<T: Scalar>(len: usize) -> Vec<T> {
    (0..len).map(|k| T::from_c64(c64::new(k as f64 - 1.0, k as f64))).collect()
}

fn typed<T: Scalar, I: Index, O: Index>() -> Csr<T, Host, I, O> {
    let triplets = ENTRIES.map(|(row, col, value)| (row, col, T::from_c64(value)));
    let offsets = [0, 2, 2, 3, 5].map(O::cast).to_vec();
    let columns = triplets.map(|(_, col, _)| I::cast(col)).to_vec();
    Csr::<T, Host, I, O>::new(4, 3, offsets, columns, triplets.map(|(_, _, value)| value).to_vec()).unwrap()
}

fn example() -> Matrix {
    Matrix::from_typed(&cpu(), typed::<f64, i32, i32>()).unwrap()
}

fn dense<T: Scalar>(a: &Matrix) -> Vec<T> {
    a.to_dense().unwrap().values().to_vec().unwrap()
}

/// The formats of one matrix.
fn formats() -> impl Iterator<Item = Format> {
    Format::ALL.iter().copied().filter(|&format| Layout::try_from(format).is_ok())
}

/// Both products of one triple of types in every format, by every op, against the typed layer's.
fn check_products<T: Scalar, I: Index, O: Index>() {
    let (device, csr) = (cpu(), typed::<T, I, O>());
    let (two, minus_one) = (c64::new(2.0, 0.0), c64::new(-1.0, 0.0));
    let (alpha, beta) = (T::Acc::from_c64(two), T::Acc::from_c64(minus_one));
    let a = Matrix::from_typed(&device, csr.clone()).unwrap();
    for format in formats() {
        let a = a.to_format(format).unwrap();
        let what = format!("{a:?}");
        assert_eq!((a.format(), a.dtype(), a.shape(), a.nnz()), (format, T::DTYPE, (4, 3), 5), "{what}");
        assert_eq!(a.index_type(), IndexType::of::<I>(), "{what}");
        assert_eq!(dense::<T>(&a), dense::<T>(&a.transpose().unwrap().transpose().unwrap()), "{what}");
        assert_eq!(a.row_statistics().unwrap(), Reference.row_statistics(&csr).unwrap(), "{what}");
        for op in Op::ALL {
            let (rows, cols) = a.shape_of(op);
            let mut expected = values::<T>(rows);
            Reference.spmv(op, alpha, &csr, &values(cols), beta, &mut expected).unwrap();
            let x = Vector::from_vec(&device, values::<T>(cols)).unwrap();
            for run in 0..2 {
                let mut y = Vector::from_vec(&device, values::<T>(rows)).unwrap();
                a.spmv(op, two, &x, minus_one, &mut y).unwrap();
                assert_eq!(y.to_vec::<T>().unwrap(), expected, "{what}, {op}, run {run}");
            }
            let b = DenseMatrix::from_vec(&device, values::<T>(2 * cols), cols, 2, Order::ColMajor).unwrap();
            let mut c =
                DenseMatrix::from_vec(&device, values::<T>(2 * rows), rows, 2, Order::RowMajor).unwrap();
            a.spmm(op, two, &b, minus_one, &mut c).unwrap();
            let mut expected = values::<T>(2 * rows);
            let b = values::<T>(2 * cols);
            let b = DenseView::col_major(&b, cols, 2).unwrap();
            let c_view = DenseViewMut::row_major(&mut expected, rows, 2).unwrap();
            Reference.spmm(op, alpha, &csr, b, beta, c_view).unwrap();
            assert_eq!(c.values().to_vec::<T>().unwrap(), expected, "{what}, {op}");
        }
    }
}

macro_rules! check_all {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
        $(check_products::<$t, $i, $o>();)*
    };
}

#[test]
fn products_are_those_of_the_typed_layer_in_every_format_and_type() {
    nnz::for_all_types!(check_all);
}

#[test]
fn every_format_becomes_every_other_without_a_change() {
    let a = example();
    for from in formats() {
        for to in formats() {
            let b = a.to_format(from).unwrap().to_layout(&Layout::try_from(to).unwrap()).unwrap();
            assert_eq!((b.format(), b.nnz()), (to, 5), "{from} to {to}");
            assert_eq!(dense::<f64>(&b), dense::<f64>(&a), "{from} to {to}");
            let bytes = b.bytes();
            assert!(bytes >= 5 * (8 + 4), "{to}: {bytes}");
        }
        let transpose = a.to_format(from).unwrap().transpose().unwrap();
        let expected = [1.0, 0.0, 0.0, 4.0, 0.0, 0.0, -3.0, 0.0, 2.0, 0.0, 0.0, 0.0];
        assert_eq!((transpose.shape(), dense::<f64>(&transpose)), ((3, 4), expected.to_vec()), "{from}");
    }
}

#[test]
fn values_are_cast_in_every_format_and_keep_their_pattern() {
    let types = [DType::F16, DType::Bf16, DType::F32, DType::F64, DType::C32, DType::C64];
    for format in formats() {
        let a = example().to_format(format).unwrap();
        for dtype in types {
            let b = a.cast(dtype).unwrap();
            assert_eq!((b.dtype(), b.format()), (dtype, format));
            assert_eq!(
                dense::<c64>(&b.cast(DType::C64).unwrap()),
                dense::<c64>(&a.cast(DType::C64).unwrap())
            );
        }
        let complex = a.cast(DType::C64).unwrap();
        let error = complex.cast(DType::F64).unwrap_err().to_string();
        assert!(error.contains("the imaginary parts would be lost"), "{error}");
    }
    let wide = Matrix::from_typed(&cpu(), typed::<f32, i64, i64>()).unwrap();
    let error = wide.cast(DType::F16).unwrap_err().to_string();
    assert!(error.starts_with("a matrix of csr and f16 with these index types is not supported"), "{error}");
}

#[test]
fn operands_that_do_not_fit_are_named_with_what_would_fit() {
    let (device, a) = (cpu(), example());
    let x = Vector::zeros(&device, DType::F32, 3).unwrap();
    let error = |result: nnz::Result<Vector>| result.unwrap_err().to_string();
    assert_eq!(error(a.matvec(&x)), "spmv: the matrix is f64 on cpu, x is f32 on cpu; x as f64 would fit");
    let x = Vector::zeros(&device, DType::F64, 4).unwrap();
    assert_eq!(error(&a * &x), "spmv: the length of x is 4 where 3 is needed");
    let b = DenseMatrix::zeros(&device, DType::C64, 3, 2, Order::RowMajor).unwrap();
    assert_eq!(
        (&a * &b).unwrap_err().to_string(),
        "spmm: the matrix is f64 on cpu, B is c64 on cpu; the matrix as c64 would fit"
    );
    assert_eq!(
        (&a * c64::new(0.0, 1.0)).unwrap_err().to_string(),
        "scale: the factor = 0+1i is complex, the operands are real; values of c64 would fit"
    );
    let single = a.cast(DType::F32).unwrap();
    assert_eq!((&single * 1e300).unwrap_err().to_string().split(" = ").next(), Some("scale: the factor"));
    let ell = a.to_format(Format::Ell).unwrap();
    assert_eq!(ell.sort().unwrap_err().to_string(), "sort of ell is not supported: csr, csc and coo have it");
    let mut plan = a.plan_spmv(Op::None, &PlanOptions::default()).unwrap();
    let (x, mut y) = (x.cast(DType::F32).unwrap(), Vector::zeros(&device, DType::F32, 4).unwrap());
    let error = plan.run(1.0, &single, &x, 0.0, &mut y).unwrap_err();
    assert_eq!(
        error.to_string(),
        "spmv: the plan was made for csr of f64, the matrix is csr of f32 with i32 indices on cpu"
    );
    let other = plan.run(1.0, &example(), &x, 0.0, &mut y).unwrap_err();
    assert!(other.to_string().starts_with("spmv: the matrix is f64"), "{other}");
}

#[test]
fn a_plan_takes_other_values_and_no_other_pattern() {
    let (device, a) = (cpu(), example());
    let x = Vector::from_slice(&device, &[1.0, 1.0, 1.0]).unwrap();
    let mut y = Vector::zeros(&device, DType::F64, 4).unwrap();
    let mut plan = a.plan_spmv(Op::None, &PlanOptions::default()).unwrap();
    plan.run(1.0, &(&a * 2.0).unwrap(), &x, 0.0, &mut y).unwrap();
    assert_eq!(y.to_vec::<f64>().unwrap(), [6.0, 0.0, -6.0, 8.0]);
    assert!(matches!(plan.run(1.0, &example(), &x, 0.0, &mut y), Err(Error::PlanMismatch { .. })));
}

#[test]
fn threads_multiply_with_one_matrix_at_a_time() {
    let a = example();
    let x = Vector::from_slice(&cpu(), &[1.0, 1.0, 1.0]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(a.matvec(&x).unwrap().to_vec::<f64>().unwrap(), [3.0, 0.0, -3.0, 4.0]);
                }
            });
        }
    });
}

#[test]
fn vectors_compute_in_every_type() {
    fn check<T: Scalar>() {
        let x = Vector::from_vec(&cpu(), values::<T>(5)).unwrap();
        let mut y = x.to_device(&cpu()).unwrap();
        y.axpby(2.0, &x, 1.0).unwrap();
        y.scale(0.5).unwrap();
        let doubled = x.to_vec::<T>().unwrap().iter().map(|v| v.to_c64() * 1.5).collect::<Vec<_>>();
        assert_eq!(y.to_vec::<T>().unwrap().iter().map(|v| v.to_c64()).collect::<Vec<_>>(), doubled);
        let squares: f64 = x.to_vec::<T>().unwrap().iter().map(|v| v.to_c64().norm_sqr()).sum();
        assert!((x.dot(&x).unwrap().re - squares).abs() < 1e-9, "{}", T::DTYPE);
        assert!((x.nrm2().unwrap() - squares.sqrt()).abs() < 1e-5, "{}", T::DTYPE);
    }
    check::<f16>();
    check::<bf16>();
    check::<f32>();
    check::<f64>();
    check::<c32>();
    check::<c64>();
}

#[test]
fn dense_operands_may_have_padding() {
    let device = cpu();
    let padded = Vector::from_slice(&device, &[1.0, 2.0, 9.0, 3.0, 4.0, 9.0]).unwrap();
    let b = DenseMatrix::new(padded, 2, 2, 3, Order::RowMajor).unwrap();
    let a = b.to_sparse(Format::Coo, Some(1.0)).unwrap();
    assert_eq!((a.nnz(), dense::<f64>(&a)), (3, vec![0.0, 2.0, 3.0, 4.0]));
    assert_eq!(a.matmul(&b).unwrap().values().to_vec::<f64>().unwrap(), [6.0, 8.0, 15.0, 22.0]);
    let values = Vector::zeros(&device, DType::F32, 5).unwrap();
    let error = DenseMatrix::new(values, 2, 2, 4, Order::ColMajor).unwrap_err().to_string();
    assert_eq!(error, "dense: 5 elements where 2 x 2 needs 6");
}

#[test]
fn systems_are_solved_in_every_format_and_type() {
    let device = cpu();
    let a: Csr<f64> = generate::stencil_5(6, 5).unwrap();
    let a = Matrix::from_typed(&device, a).unwrap();
    for (format, dtype) in formats().zip([DType::F32, DType::F64, DType::C32, DType::C64].repeat(2)) {
        let a = a.cast(dtype).unwrap().to_format(format).unwrap();
        let ones = Vector::from_slice(&device, &[1.0; 30]).unwrap();
        let b = (&a * &ones.cast(dtype).unwrap()).unwrap();
        for method in methods() {
            let mut options = SolveOptions::new(method);
            options.preconditioner = match (method.takes_preconditioner(), format) {
                (false, _) => PreconditionerKind::None,
                (true, Format::Csr) => PreconditionerKind::BlockJacobi(7),
                (true, Format::Csc) => PreconditionerKind::Ilu0,
                (true, Format::Coo) => PreconditionerKind::Ic0,
                _ => PreconditionerKind::Jacobi,
            };
            options.solver.tolerance = 1e-5;
            // Relative to the norm of A, which is larger than that of b.
            options.solver.least_squares.atol = Some(1e-6);
            let (x, solution) = a.solve(&b, &options).unwrap();
            assert!(solution.converged(), "{a:?}, {method:?}: {solution}");
            let x = x.cast(DType::C64).unwrap().to_vec::<c64>().unwrap();
            assert!(x.iter().all(|x| (x - c64::ONE).norm() < 1e-3), "{a:?}, {method:?}: {x:?}");
        }
    }
    let b = Vector::zeros(&device, DType::F32, 30).unwrap();
    let error = a.solve(&b, &SolveOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("solve: the matrix is f64 on cpu, b is f32"), "{error}");
    let half = a.cast(DType::F16).unwrap();
    let error = half.solve(&b, &SolveOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "a solver of f16 values is not supported: f32, f64, c32 and c64 have them");
    let preconditioner = PreconditionerKind::Jacobi;
    let options = SolveOptions { preconditioner, ..SolveOptions::new(Method::Lsqr) };
    let b = b.cast(DType::F64).unwrap();
    assert!(matches!(a.solve(&b, &options), Err(Error::Unsupported { .. })));
}

#[test]
fn a_rectangular_system_is_solved_in_the_least_squares_sense() {
    let device = cpu();
    let entries = [(0, 0, 1.0), (1, 0, 1.0), (1, 1, 1.0), (2, 0, 1.0), (2, 1, 2.0)];
    let a = Matrix::from_typed(&device, Csr::<f64>::from_triplets(3, 2, entries).unwrap()).unwrap();
    let b = Vector::from_slice(&device, &[1.0, 2.0, 4.0]).unwrap();
    for method in ["lsqr", "LSMR"] {
        let method: Method = method.parse().unwrap();
        let (x, solution) = a.solve(&b, &SolveOptions::new(method)).unwrap();
        assert!(solution.converged() && solution.residual > 0.4, "{method}: {solution}");
        let x = x.to_vec::<f64>().unwrap();
        assert!((x[0] - 5.0 / 6.0).abs() < 1e-9 && (x[1] - 1.5).abs() < 1e-9, "{method}: {x:?}");
    }
    let error = "qmr".parse::<Method>().unwrap_err().to_string();
    assert!(error.starts_with("method `qmr` is not supported: the methods are cg, bicgstab,"), "{error}");
}

#[test]
fn padding_that_is_not_a_number_is_never_read() {
    let entries = [(0, 0, 1.0), (0, 2, 2.0), (2, 1, -3.0), (3, 0, 4.0)];
    let a = Matrix::from_typed(&cpu(), Csr::<f64>::from_triplets(4, 3, entries).unwrap()).unwrap();
    let layouts = [
        Layout::Ell(EllLayout::default()),
        Layout::Hyb(HybWidth::Width(2)),
        Layout::Sell(SellLayout::default()),
    ];
    const INF: f64 = f64::INFINITY;
    for layout in layouts {
        let a = a.to_layout(&layout).unwrap().scaled(INF).unwrap();
        let values = match layout {
            Layout::Ell(_) => a.downcast_ref::<Ell<f64>>().unwrap().values(),
            Layout::Hyb(_) => a.downcast_ref::<Hyb<f64>>().unwrap().ell().values(),
            _ => a.downcast_ref::<Sell<f64>>().unwrap().values(),
        };
        assert!(values.iter().any(|value| value.is_nan()), "{layout:?} has padding");
        let [x, ones] = [3, 4].map(|len| Vector::from_vec(&cpu(), vec![1.0; len]).unwrap());
        assert_eq!(a.matvec(&x).unwrap().to_vec::<f64>().unwrap(), [INF, 0.0, -INF, INF], "{layout:?}");
        let mut y = Vector::zeros(&cpu(), DType::F64, 3).unwrap();
        a.spmv(Op::Transpose, 1.0, &ones, 0.0, &mut y).unwrap();
        assert_eq!(y.to_vec::<f64>().unwrap(), [INF, -INF, INF], "{layout:?}");
        let b = DenseMatrix::from_vec(&cpu(), vec![1.0; 6], 3, 2, Order::ColMajor).unwrap();
        let c = a.matmul(&b).unwrap().into_values().to_vec::<f64>().unwrap();
        assert_eq!(c, [INF, 0.0, -INF, INF].repeat(2), "{layout:?}");
        let expected = [INF, 0.0, INF, 0.0, 0.0, 0.0, 0.0, -INF, 0.0, INF, 0.0, 0.0];
        assert_eq!(dense::<f64>(&a), expected, "{layout:?}");
        let mut visited = vec![];
        a.for_each_entry(&mut |row, col, value| visited.push((row, col, value.re))).unwrap();
        visited.sort_by_key(|&(row, col, _)| (row, col));
        assert_eq!(visited, entries.map(|(row, col, value)| (row, col, value * INF)), "{layout:?}");
        let transpose = a.transpose().unwrap().transpose().unwrap();
        for other in formats().map(|format| a.to_format(format).unwrap()).chain([transpose]) {
            assert_eq!(dense::<f64>(&other), expected, "{layout:?} to {}", other.format());
        }
    }
}

#[test]
fn every_format_is_written_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let read = |name: &str| nnz::io::MatrixFile::open(path(name)).unwrap();
    for format in formats() {
        let a = example().to_format(format).unwrap();
        for name in ["a.mtx", "a.mtx.gz", "a.npz", "a.npy"] {
            a.write(&path(name)).unwrap();
            let file = read(name);
            let b = Matrix::read_csr(&cpu(), &file, DType::C64).unwrap();
            let c = Matrix::read_coo(&cpu(), &file, DType::F64).unwrap();
            assert_eq!((b.format(), b.index_type(), c.format()), (Format::Csr, IndexType::I32, Format::Coo));
            assert_eq!(dense::<c64>(&b), dense::<c64>(&a.cast(DType::C64).unwrap()), "{format}, {name}");
            assert_eq!(dense::<f64>(&c), dense::<f64>(&a), "{format}, {name}");
        }
    }
    for a in [
        Matrix::from_typed(&cpu(), batch::<nnz::Row, f32, i64, i64>()),
        Matrix::from_typed(&cpu(), batch::<nnz::Col, f32, i32, i64>()),
    ] {
        let a = a.unwrap();
        a.write(&path("batch.npz")).unwrap();
        let b = Matrix::read_batch(&cpu(), &read("batch.npz"), DType::F64).unwrap();
        assert_eq!((b.format(), b.members(), b.index_type()), (a.format(), Some(2), IndexType::I32));
        assert_eq!(dense::<f64>(&b.member(1).unwrap()), [0.0, 1.0, 0.0, 0.0, 0.0, 2.0]);
        let error = a.write(&path("batch.mtx")).unwrap_err().to_string();
        assert_eq!(error, "a batch in a file of one matrix is not supported: choose .npz");
    }
    let error = Matrix::read_batch(&cpu(), &read("a.npz"), DType::F64).unwrap_err().to_string();
    assert!(error.ends_with("as a batch is not supported: it has one matrix"), "{error}");
}

#[test]
fn symmetries_are_told_apart_in_every_order_of_entries() {
    let symmetry = |entries: &[(usize, usize, c64)], n| {
        let a = Matrix::from_triplets(&cpu(), DType::C64, IndexType::I32, (n, n), entries).unwrap();
        let found = a.symmetry().unwrap().unwrap();
        let transposed = a.transpose().unwrap().to_format(Format::Sell).unwrap();
        assert_eq!(transposed.symmetry().unwrap(), Some(found));
        (found.mirrored, [found.pattern, found.symmetric, found.skew, found.hermitian])
    };
    let z = c64::new(1.0, 2.0);
    for (lower, expected) in [
        (z, [true, true, false, false]),
        (-z, [true, false, true, false]),
        (z.conj(), [true, false, false, true]),
        (z + z, [true, false, false, false]),
    ] {
        assert_eq!(symmetry(&[(1, 0, lower), (0, 1, z)], 2), (2, expected));
    }
    assert_eq!(symmetry(&[], 0), (0, [true; 4]));
    let full = [(0, 1, z), (0, 2, z), (1, 0, z), (1, 2, z), (2, 0, z), (2, 1, z)];
    for missing in 0..full.len() {
        let rest: Vec<_> = full.iter().copied().filter(|entry| entry != &full[missing]).collect();
        assert_eq!(symmetry(&rest, 3), (4, [false; 4]), "without {:?}", full[missing]);
    }
    assert_eq!(example().symmetry().unwrap(), None);
    let unsorted = Csr::<f64>::new_unsorted(2, 2, vec![0, 2, 3], vec![1, 0, 0], vec![5.0, 1.0, 5.0]).unwrap();
    assert!(Matrix::from_typed(&cpu(), unsorted).unwrap().symmetry().unwrap().unwrap().symmetric);
    let twice = Csr::<f64>::new_unsorted(1, 1, vec![0, 2], vec![0, 0], vec![1.0, 1.0]).unwrap();
    assert!(Matrix::from_typed(&cpu(), twice).unwrap().symmetry().is_err());
}
