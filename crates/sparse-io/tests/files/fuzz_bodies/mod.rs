//! The bodies of the fuzz targets. `fuzz/fuzz_targets` includes this file; `fuzz_replay.rs` runs it on stable.
//!
//! A target must return for any bytes, and an accepted matrix must be valid.

use sparse_core::{Coo, Csc, Csr, Ell, Host, Result, Sell, c64};
use sparse_io::stream::{Decoded, Decoder, HEAD_BYTES};
use sparse_io::{FileKind, matrix_market, npy, npz};

/// Reads Matrix Market in every way; CSR has at most the entries of COO.
pub(crate) fn matrix_market(data: &[u8]) {
    let coo = matrix_market::parse_coo::<c64, i64>(data);
    if let Ok(csr) = matrix_market::parse_csr::<c64, i32, i64>(data) {
        let coo = coo.expect("what is read to CSR is read to COO");
        assert!(csr.nnz() <= coo.nnz());
        walk(csr.nrows(), csr.ncols(), csr.triplets());
    }
    let _ = matrix_market::parse_csr::<f32, i32, i32>(data);
    let _ = matrix_market::parse_dense::<f64>(data);
}

/// Reads `.npz` and converts it, and decodes it in parts.
pub(crate) fn npz(data: &[u8]) {
    if let Ok(Some(Decoded::Sparse(sparse))) = decode(FileKind::Npz, data)
        && let Ok(csr) = sparse.into_sorted_csr::<c64, i64, i64>()
    {
        walk(csr.nrows(), csr.ncols(), csr.triplets());
    }
    let Ok(sparse) = npz::parse(data) else { return };
    if let Ok(csr) = sparse.clone().into_csr::<c64, i64, i64>() {
        walk(csr.nrows(), csr.ncols(), csr.triplets());
    }
    let _ = sparse.into_csr::<f32, i32, i32>();
}

/// Decodes a file in parts, of which each is larger than the one before; nothing if it is not decoded so.
fn decode(kind: FileKind, data: &[u8]) -> Result<Option<Decoded>> {
    let Some(mut decoder) = Decoder::new(kind, &data[..data.len().min(HEAD_BYTES)])? else { return Ok(None) };
    let (mut rest, mut size) = (data, 1);
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(size.min(rest.len()));
        let copied = decoder.copy(part);
        decoder.push(&part[copied..], &mut |_| Ok(()))?;
        (rest, size) = (behind, 2 * size);
    }
    decoder.finish(&mut |_| Ok(())).map(Some)
}

/// Reads `.npy` and converts it; what is decoded in parts has the same elements.
pub(crate) fn npy(data: &[u8]) {
    let decoded = decode(FileKind::Npy, data);
    let Ok(array) = npy::parse(data) else { return };
    if let Some(Decoded::Sparse(sparse)) = decoded.expect("what is read whole is decoded in parts")
        && let Ok(csr) = sparse.into_sorted_csr::<c64, i64, i64>()
    {
        walk(csr.nrows(), csr.ncols(), csr.triplets());
        let dense = array.clone().into_dense::<c64>().expect("it is a matrix");
        assert_eq!(csr.nnz(), dense.data().iter().filter(|value| **value != c64::ZERO).count());
    }
    assert_eq!(array.values.len(), array.shape.iter().product::<usize>());
    let _ = array.clone().into_dense::<c64>();
    let _ = array.into_dense::<f32>();
}

/// Gives small arrays to the checked constructors and walks through every accepted matrix.
pub(crate) fn constructors(data: &[u8]) {
    let [rows, cols, width, split, rest @ ..] = data else { return };
    let (rows, cols, width) = (usize::from(*rows), usize::from(*cols), usize::from(*width));
    let (first, second) = rest.split_at(usize::from(*split).min(rest.len()));
    let signed = |bytes: &[u8]| -> Vec<i32> { bytes.iter().map(|&byte| i32::from(byte as i8)).collect() };
    let (first, second) = (signed(first), signed(second));
    let values = vec![1.0; second.len()];

    if let Ok(csr) = Csr::<f64>::new_unsorted(rows, cols, first.clone(), second.clone(), values.clone()) {
        walk(rows, cols, csr.triplets());
        let sorted = Csr::<f64>::new(rows, cols, first.clone(), second.clone(), values.clone()).is_ok();
        assert_eq!(sorted, csr.order().sorted && csr.order().unique);
    }
    if let Ok(csc) = Csc::<f64>::new_unsorted(rows, cols, first.clone(), second.clone(), values.clone()) {
        walk(rows, cols, csc.triplets());
    }
    if let Ok(coo) = Coo::<f64>::new(rows, cols, first.clone(), second.clone(), values.clone()) {
        walk(rows, cols, coo.triplets());
    }
    if let Ok(ell) = Ell::<f64>::new(rows, cols, width, second.clone(), values.clone()) {
        assert!(ell.nnz() <= rows * width);
    }
    let order = (0..rows as i32).collect();
    if let Ok(sell) = Sell::<f64, Host, i32, i32>::new((rows, cols), width, first, order, second, values) {
        assert!(sell.nnz() <= sell.values().len());
    }
}

fn walk<T>(rows: usize, cols: usize, triplets: impl Iterator<Item = (usize, usize, T)>) {
    triplets.for_each(|(row, col, _)| assert!(row < rows && col < cols));
}
