//! Matrices and vectors on several devices and ranks.

use super::cpu;
use nnz::distrib::{Local, SharedTransport, Transport};
use nnz::prelude::*;
use nnz::{IndexType, MatrixOnRanks, Method, SolveOptions};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The products of exact entries are those of one device, whatever the type, the operation and the number of devices.
#[test]
fn rows_on_several_devices_multiply_and_refuse_as_on_one() {
    let entries = [(0, 0, 1.0), (0, 2, 2.0), (2, 1, -3.0), (3, 0, 4.0), (3, 2, 5.0)];
    for dtype in [DType::F32, DType::F64, DType::C32, DType::C64] {
        let triplets = entries.map(|(i, j, v)| (i, j, c64::new(v, 0.0)));
        let a = Matrix::from_triplets(&cpu(), dtype, IndexType::I32, (4, 3), &triplets).unwrap();
        for (devices, op) in [(1, Op::None), (2, Op::None), (6, Op::None), (3, Op::Transpose)] {
            let mut divided = a.distribute(&vec![cpu(); devices]).unwrap();
            assert_eq!(divided.rows().last().unwrap().end, 4);
            let (rows, columns) = a.shape_of(op);
            let numbers = |len: usize| Vector::from_vec(&cpu(), (0..len).map(|k| k as f64 + 1.0).collect());
            let x = numbers(columns).unwrap().cast(dtype).unwrap();
            let (mut y, mut z) =
                (numbers(rows).unwrap().cast(dtype).unwrap(), Vector::zeros(&cpu(), dtype, rows).unwrap());
            z.axpby(1.0, &y, 0.0).unwrap();
            for _ in 0..2 {
                a.spmv(op, 2.0, &x, -1.0, &mut y).unwrap();
                divided.spmv(op, 2.0, &x, -1.0, &mut z).unwrap();
            }
            z.axpby(-1.0, &y, 1.0).unwrap();
            assert_eq!(z.nrm2().unwrap(), 0.0, "{dtype}, {devices} devices, {op:?}");
        }
    }
    let a = Matrix::from_typed(&cpu(), nnz::generate::stencil_5::<f64>(2, 2).unwrap()).unwrap();
    let refused = |result: nnz::Result<Vector>| result.unwrap_err().to_string();
    let mut divided = a.distribute(&[cpu(), cpu()]).unwrap();
    let short = Vector::zeros(&cpu(), DType::F64, 3).unwrap();
    assert_eq!(refused(divided.matvec(&short)), "spmv: the length of x is 3 where 4 is needed");
    let single = Vector::zeros(&cpu(), DType::F32, 4).unwrap();
    assert!(refused(divided.matvec(&single)).contains("x as f64 would fit"));
    let b = Vector::zeros(&cpu(), DType::F64, 4).unwrap();
    let enqueued = divided.solve(&b, &SolveOptions::new(Method::EnqueuedCg));
    assert!(enqueued.unwrap_err().to_string().contains("CG and BiCGSTAB run on several"));
    assert!(a.distribute(&[]).unwrap_err().to_string().contains("no devices"));
}

#[test]
fn a_callback_that_panics_ends_the_solver_on_all_devices() {
    let a = Matrix::from_typed(&cpu(), nnz::generate::stencil_5::<f64>(4, 4).unwrap()).unwrap();
    let mut divided = a.distribute(&[cpu(), cpu()]).unwrap();
    let b = Vector::from_vec(&cpu(), vec![1.0; 16]).unwrap();
    let mut x = Vector::zeros(&cpu(), DType::F64, 16).unwrap();
    let options = SolveOptions::new(Method::Cg);
    let solve = AssertUnwindSafe(|| divided.solve_from(&b, &mut x, &options, |_| panic!("planned")));
    let panic = catch_unwind(solve).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"planned"));
    assert!(divided.solve(&b, &options).unwrap().1.converged());
}

/// Products, sums and norms of vectors on several devices, which have the bits of those that pass through the host.
#[test]
fn vectors_stay_on_the_devices_of_a_matrix() {
    let entries = [(0, 0, 1.0), (0, 2, 0.3), (2, 1, -3.0), (3, 0, 4.0), (3, 2, 0.7)];
    for dtype in [DType::F32, DType::F64, DType::C32, DType::C64] {
        let triplets = entries.map(|(i, j, v)| (i, j, c64::new(v, 0.0)));
        let a = Matrix::from_triplets(&cpu(), dtype, IndexType::I32, (4, 3), &triplets).unwrap();
        let numbers = |len: usize| Vector::from_vec(&cpu(), (0..len).map(|k| 0.1 * k as f64 + 1.0).collect());
        let numbers = |len| numbers(len).unwrap().cast(dtype).unwrap();
        let bits = |x: &Vector| x.cast(DType::C64).unwrap().to_vec::<c64>().unwrap();
        for devices in [1, 2, 5] {
            let mut divided = a.distribute(&vec![cpu(); devices]).unwrap();
            let (rows, columns) = (numbers(4), numbers(3));
            let on_rows = divided.upload_rows(&rows).unwrap();
            let on_columns = divided.upload_columns(&columns).unwrap();
            for op in Op::ALL {
                let (x, mut y) = if op.transposes() { (&rows, numbers(3)) } else { (&columns, numbers(4)) };
                let resident = if op.transposes() { &on_rows } else { &on_columns };
                let upload =
                    if op.transposes() { divided.upload_columns(&y) } else { divided.upload_rows(&y) };
                let mut z = upload.unwrap();
                for _ in 0..2 {
                    divided.spmv(op, 2.0, x, -1.0, &mut y).unwrap();
                    divided.spmv_resident(op, 2.0, resident, -1.0, &mut z).unwrap();
                }
                assert_eq!(bits(&z.to_host().unwrap()), bits(&y), "{dtype}, {devices} devices, {op:?}");
            }
            let mut sum = divided.matvec_resident(&on_columns).unwrap();
            assert_eq!(bits(&sum.to_host().unwrap()), bits(&divided.matvec(&columns).unwrap()));
            sum.axpby(2.0, &on_rows, 0.0).unwrap();
            assert!((sum.dot(&on_rows).unwrap().re - 2.0 * rows.dot(&rows).unwrap().re).abs() < 1e-5);
            assert!((sum.nrm2().unwrap() - 2.0 * rows.nrm2().unwrap()).abs() < 1e-5);
            assert_eq!((sum.len(), sum.dtype()), (4, dtype));
        }
    }
}

#[test]
fn vectors_on_devices_refuse_what_is_not_their_matrix() {
    let a =
        Matrix::from_typed(&cpu(), Csr::<f64>::new(2, 3, vec![0, 1, 2], vec![0, 2], vec![1.0; 2]).unwrap());
    let a = a.unwrap();
    let [mut first, mut second] = [(), ()].map(|()| a.distribute(&[cpu(), cpu()]).unwrap());
    let (three, two) = ([1.0; 3], [1.0; 2]);
    let [three, two] = [&three[..], &two[..]].map(|x| Vector::from_slice(&cpu(), x).unwrap());
    let x = first.upload_columns(&three).unwrap();
    let mut y = first.upload_rows(&two).unwrap();
    let foreign = second.upload_columns(&three).unwrap();
    let refused = |result: nnz::Result<()>| result.unwrap_err().to_string();
    let reported = refused(first.spmv_resident(Op::None, 1.0, &foreign, 0.0, &mut y));
    assert!(reported.contains("goes with the matrix that it was made for"), "{reported}");
    let mut other_x = first.upload_columns(&three).unwrap();
    assert!(refused(other_x.axpby(1.0, &foreign, 1.0)).contains("the matrix that it was made for"));
    let reported = refused(first.spmv_resident(Op::Transpose, 1.0, &x, 0.0, &mut y));
    assert!(reported.contains("x is not divided as the rows of the matrix"), "{reported}");
    assert!(refused(y.axpby(1.0, &x, 1.0)).contains("one vector is divided as the rows"));
    assert!(refused(first.spmv_resident(Op::None, c64::new(0.0, 1.0), &x, 0.0, &mut y)).contains("complex"));
    assert!(first.upload_rows(&three).unwrap_err().to_string().contains("the length of y is 3 where 2"));
    first.spmv_resident(Op::None, 1.0, &x, 0.0, &mut y).unwrap();
    assert_eq!(y.to_host().unwrap().to_vec::<f64>().unwrap(), [1.0, 1.0]);
}

/// Every rank returns the same kind of error if the root lacks an operand or an operation, and none waits.
#[test]
fn rows_on_ranks_refuse_on_all_ranks() {
    let reported = Local::run(3, |rank| {
        let is_root = rank.rank() == 0;
        let rank: Arc<dyn SharedTransport> = Arc::new(rank);
        let a = Matrix::from_typed(&cpu(), nnz::generate::stencil_5::<f64>(2, 2).unwrap()).unwrap();
        let (half, a) = (a.cast(DType::F16).unwrap(), is_root.then_some(a));
        let refused =
            |a: Option<&Matrix>| MatrixOnRanks::from_root(rank.clone(), &cpu(), a).unwrap_err().to_string();
        let [none, half] = [refused(None), refused(is_root.then_some(&half))];
        let mut a = MatrixOnRanks::from_root(rank.clone(), &cpu(), a.as_ref()).unwrap();
        let zeros = |dtype, len| is_root.then(|| Vector::zeros(&cpu(), dtype, len).unwrap());
        let mut product = |x: Option<&Vector>| a.matvec(x).unwrap_err().to_string();
        let (short, single) = (zeros(DType::F64, 3), zeros(DType::F32, 4));
        let products = [product(None), product(short.as_ref()), product(single.as_ref())];
        let dense =
            |rows| is_root.then(|| DenseMatrix::zeros(&cpu(), DType::F64, rows, 2, Order::ColMajor).unwrap());
        let dense_products = [None, dense(3)].map(|b| a.matmul(b.as_ref()).unwrap_err().to_string());
        assert_eq!(
            a.matmul(dense(4).as_ref()).unwrap().map(|c| c.order()),
            is_root.then_some(Order::ColMajor)
        );
        let b = zeros(DType::F64, 4);
        let minres = a.solve(b.as_ref(), &SolveOptions::new(Method::Minres)).unwrap_err().to_string();
        let after = a.matvec(b.as_ref()).unwrap().map(|y| y.len());
        assert_eq!(after, is_root.then_some(4));
        [vec![none, half], products.to_vec(), dense_products.to_vec(), vec![minres]].concat()
    });
    let reasons = [
        "rank 0 has no matrix",
        "f32, f64, c32 and c64 can be distributed",
        "rank 0 has no vectors",
        "the length of x is 3 where 4 is needed",
        "x as f64 would fit",
        "rank 0 has no matrices",
        "B is 3 x 2 where 4 x 2 is needed",
        "CG and BiCGSTAB run on several",
    ];
    for reported in reported {
        for (reported, reason) in reported.iter().zip(reasons) {
            assert!(reported.contains(reason), "{reported}");
        }
    }
}
