//! Matrices from arrays that are on the device already.

use crate::each_device;
use sparse_core::{Backend, Csc, Csr, Error, SparseFormat};
use sparse_device::Library;

/// Offsets and indices of a matrix of 40 rows and 50 columns: row `i` has `i` entries.
fn arrays() -> (Vec<i64>, Vec<i32>) {
    let starts = (0..=40).map(|i| i * (i - 1) / 2);
    let rows = (0..40).flat_map(|i| (0..i).map(move |k| k * 50 / i));
    (starts.collect(), rows.collect())
}

/// Sound arrays make a matrix with the order that the host finds, wrong ones the error that the host gives.
pub fn arrays_on_the_device_are_checked_there(library: &Library) {
    type Change = fn(&mut Vec<i64>, &mut Vec<i32>);
    let changes: [(&str, Change); 11] = [
        ("none", |_, _| ()),
        ("a later first offset", |offsets, _| offsets[0] = 1),
        ("an offset that falls", |offsets, _| offsets[30] = 0),
        ("a last offset past the end", |offsets, _| *offsets.last_mut().unwrap() += 1),
        ("an offset too few", |offsets, _| offsets.truncate(40)),
        ("no offset", |offsets, _| offsets.clear()),
        ("an index too few", |_, indices| indices.truncate(779)),
        ("a negative index", |_, indices| indices[500] = -1),
        ("an index past the columns", |_, indices| indices[779] = 50),
        ("indices out of order", |_, indices| indices.swap(600, 601)),
        ("an index twice", |_, indices| indices[601] = indices[600]),
    ];
    each_device(library, |backend| {
        for (what, change) in changes {
            let (mut offsets, mut indices) = arrays();
            change(&mut offsets, &mut indices);
            let values = vec![1.0_f32; 780];
            let device = (backend.upload(&offsets), backend.upload(&indices), backend.upload(&values));
            let (o, i, v) = (device.0.unwrap(), device.1.unwrap(), device.2.unwrap());
            let found = backend.compressed((40, 50), o, i, v);
            match (found, Csr::<f32, _, i32, i64>::new_unsorted(40, 50, offsets, indices, values)) {
                (Ok(found), Ok(expected)) => {
                    assert_eq!(found.order(), expected.order(), "{what}");
                    assert_eq!(found.to_host(backend).unwrap(), expected, "{what}");
                }
                (found, expected) => {
                    assert_eq!(found.unwrap_err().to_string(), expected.unwrap_err().to_string(), "{what}");
                }
            }
        }
        let (offsets, indices) = (backend.upload(&[0_i32; 3]).unwrap(), backend.upload::<i32>(&[]).unwrap());
        let empty: Csc<f32, _> =
            backend.compressed((5, 2), offsets, indices, backend.upload(&[]).unwrap()).unwrap();
        assert_eq!((empty.nrows(), empty.ncols(), empty.nnz()), (5, 2, 0));
    });
}

/// Arrays of another context are refused.
pub fn arrays_of_another_device_are_refused(library: &Library) {
    each_device(library, |backend| {
        let other = library.open_preferred().unwrap();
        let (offsets, indices) = (backend.upload(&[0_i32, 0]).unwrap(), other.upload::<i32>(&[]).unwrap());
        let values = backend.upload::<f32>(&[]).unwrap();
        let refused = backend.compressed::<sparse_core::Row, _, _, _>((1, 1), offsets, indices, values);
        assert!(matches!(refused, Err(Error::WrongContext { operand: "indices", .. })));
    });
}
