//! Memory and threads: arrays of others, clones, devices.

use super::{cpu, dense, formats};
use nnz::prelude::*;
use nnz::{HostCsr, MatrixSpmmPlan, MatrixSpmvPlan};

#[test]
fn values_may_be_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<(Matrix, Vector, DenseMatrix, Device)>();
    sent::<(MatrixSpmvPlan, MatrixSpmmPlan)>();
}

#[test]
fn a_matrix_computes_with_the_threads_of_its_device() {
    let a = Matrix::from_typed(&cpu().with_threads(1).unwrap(), Csr::<f64>::identity(2).unwrap()).unwrap();
    let two = cpu().with_threads(2).unwrap();
    assert_eq!(a.to_device(&two).unwrap().device().caps().compute_units, 2);
    assert_eq!(a.device().caps().compute_units, 1);
}

/// A matrix and vectors over arrays of this test: products read and write them in place, and what is made of the matrix
/// owns its arrays.
#[test]
fn arrays_of_others_are_used_where_they_lie() {
    let device = cpu();
    let (offsets, columns) = ([0, 2, 3], [2, 0, 1]);
    let mut values = [1.0, 2.0, 3.0];
    let (x, mut y) = ([1.0, 10.0, 100.0], [f64::NAN; 2]);
    let values = &raw mut values[..];
    // SAFETY: the arrays outlive the matrix and the vectors, and no code uses them during a call.
    unsafe {
        let csr = HostCsr::<f64>::borrow(2, 3, &offsets, &columns, values).unwrap();
        let a = Matrix::wrap(&device, csr).unwrap();
        assert_eq!((a.format(), a.bytes()), (Format::Csr, 3 * 4 + 3 * 4 + 3 * 8));
        let made: Vec<_> = formats().skip(1).map(|format| a.to_format(format).unwrap()).collect();
        let transpose = a.transpose().unwrap();
        let (sorted, pruned) = (a.sort().unwrap(), a.prune(Some(1.5)).unwrap());
        let (doubled, single) = ((&a * 2.0).unwrap(), a.cast(DType::F32).unwrap());

        let x = Vector::borrow(&device, (&raw const x[..]).cast_mut()).unwrap();
        let mut result = Vector::borrow(&device, &raw mut y[..]).unwrap();
        a.spmv(Op::None, 1.0, &x, 0.0, &mut result).unwrap();
        assert_eq!(y, [102.0, 30.0]);
        (&mut *values)[0] = -1.0;
        a.spmv(Op::None, 1.0, &x, 0.0, &mut result).unwrap();
        assert_eq!(y, [-98.0, 30.0]);
        assert_eq!(a.values().unwrap().to_vec::<f64>().unwrap()[0], -1.0);

        let folder = tempfile::tempdir().unwrap();
        a.write(&folder.path().join("a.mtx")).unwrap();
        assert_eq!(dense(&Matrix::read(&device, folder.path().join("a.mtx")).unwrap())[2], -1.0);

        let elements = [2.0, 0.0, 1.0, 0.0, 3.0, 0.0];
        assert_eq!(dense(&a), [2.0, 0.0, -1.0, 0.0, 3.0, 0.0]);
        assert!(made.iter().all(|b| dense(b) == elements));
        assert_eq!(dense(&transpose), [2.0, 0.0, 0.0, 3.0, 1.0, 0.0]);
        assert_eq!((dense(&sorted), dense(&pruned)[2]), (elements.to_vec(), 0.0));
        assert_eq!(dense(&doubled), elements.map(|value| 2.0 * value));
        assert_eq!((single.format(), single.row_statistics().unwrap().longest), (Format::Csr, 2));
    }
    // SAFETY: the pointer is refused.
    let null = unsafe {
        Vector::borrow::<f64>(&device, std::ptr::slice_from_raw_parts_mut(std::ptr::null_mut(), 0))
    };
    assert_eq!(null.unwrap_err().to_string(), "borrow: the pointer to the elements is null");
}

#[test]
fn clones_are_written_apart() {
    let device = cpu();
    let mut memory = [1.0, 2.0];
    // SAFETY: the memory outlives the vector, and no other code uses it in that time.
    let mut x = unsafe { Vector::borrow(&device, &raw mut memory[..]).unwrap() };
    let copy = x.clone();
    x.scale(3.0).unwrap();
    drop(x);
    assert_eq!((memory, copy.to_vec::<f64>().unwrap()), ([3.0, 6.0], vec![1.0, 2.0]));

    let b = DenseMatrix::from_vec(&device, vec![1.0, 2.0], 1, 2, Order::RowMajor).unwrap();
    let mut c = b.clone();
    c.set_column(0, &Vector::from_vec(&device, vec![5.0]).unwrap()).unwrap();
    assert_eq!(c.values().to_vec::<f64>().unwrap(), [5.0, 2.0]);
    assert_eq!(b.values().to_vec::<f64>().unwrap(), [1.0, 2.0]);
}
