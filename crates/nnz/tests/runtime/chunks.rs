//! Products of two sparse matrices by chunks of rows.

use super::cpu;
use nnz::prelude::*;
use nnz::{Error, generate};

/// Factors whose rows differ in length, the second with other columns than rows.
fn factors(format: Format) -> [Matrix; 2] {
    let a: Csr<f64> = generate::stencil_5(20, 15).unwrap();
    let b = (0..300).flat_map(|i| (0..i % 7).map(move |j| (i, (i * j) % 40, (i + j) as f64 / 3.0)));
    let b = Csr::<f64>::from_triplets(300, 40, b).unwrap();
    [a, b].map(|matrix| Matrix::from_typed(&cpu(), matrix).unwrap().to_format(format).unwrap())
}

#[test]
fn chunks_of_any_size_give_the_bits_of_the_whole() {
    for format in [Format::Csr, Format::Csc] {
        let [a, b] = factors(format);
        let whole = (&a * &b).unwrap();
        for limit in [None, Some(0), Some(700), Some(5000), Some(1 << 40)] {
            let product = a.matmul_in_chunks(&b, limit).unwrap();
            assert_eq!(product.downcast_ref::<Csr<f64>>(), whole.downcast_ref(), "{limit:?}");
            assert_eq!(product.downcast_ref::<Csc<f64>>(), whole.downcast_ref(), "{limit:?}");
            assert_eq!((product.format(), product.shape()), (format, (300, 40)));
        }
    }
}

#[test]
fn masked_chunks_of_any_size_give_the_bits_of_the_whole() {
    for format in [Format::Csr, Format::Csc] {
        let [a, b] = factors(format);
        let mask = (0..300).flat_map(|i| (i % 3..40).step_by(7).map(move |j| (i, j, 1.0)));
        let mask = Csr::<f64>::from_triplets(300, 40, mask).unwrap();
        let mask = Matrix::from_typed(&cpu(), mask).unwrap().to_format(format).unwrap();
        let whole = a.matmul_masked(&b, &mask).unwrap();
        for limit in [None, Some(0), Some(700), Some(9000), Some(1 << 40)] {
            let product = a.matmul_masked_in_chunks(&b, &mask, limit).unwrap();
            assert_eq!(product.downcast_ref::<Csr<f64>>(), whole.downcast_ref(), "{limit:?}");
            assert_eq!(product.downcast_ref::<Csc<f64>>(), whole.downcast_ref(), "{limit:?}");
            assert_eq!((product.format(), product.nnz()), (format, mask.nnz()));
        }
        let error = a.matmul_masked_in_chunks(&b, &a, Some(0)).unwrap_err();
        assert_eq!(error.to_string(), "spgemm: the number of columns of the mask is 300 where 40 is needed");
    }
}

#[test]
fn factors_without_rows_or_entries_have_a_product() {
    for (rows, inner, cols) in [(0, 3, 2), (3, 0, 2), (3, 2, 0), (3, 2, 2)] {
        let a = Matrix::from_typed(&cpu(), Csr::<f64>::zeros(rows, inner).unwrap()).unwrap();
        let b = Matrix::from_typed(&cpu(), Csr::<f64>::zeros(inner, cols).unwrap()).unwrap();
        let product = a.matmul_in_chunks(&b, Some(0)).unwrap();
        assert_eq!((product.shape(), product.nnz()), ((rows, cols), 0));
    }
}

#[test]
fn factors_that_do_not_fit_are_refused() {
    let [a, b] = factors(Format::Csr);
    assert!(matches!(b.matmul_in_chunks(&a, Some(0)), Err(Error::Shape { .. })));
    let error = a.matmul_in_chunks(&b.to_format(Format::Csc).unwrap(), Some(0)).unwrap_err();
    assert_eq!(error.to_string(), "spgemm: A is csr, B is csc; B as csr would fit");
    assert!(matches!(a.matmul_in_chunks(&b.cast(DType::F32).unwrap(), None), Err(Error::Operands { .. })));
}
