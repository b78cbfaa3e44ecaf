//! Matrices over the caller's arrays, and arguments that are refused.

use super::*;

#[test]
fn products_read_the_values_of_the_moment() {
    let device = Cpu::open();
    let mut values = VALUES;
    let values = (&raw mut values).cast::<f64>();
    let (status, matrix) = borrow(&device, &arrays(values));
    drop(device);
    assert_eq!(status, Status::Ok);
    let x = [1.0, 10.0, 100.0];
    let mut y = [1.0; 3];
    // SAFETY: the arrays have the lengths of the matrix.
    unsafe {
        assert_eq!(nnz_spmv(matrix, 2.0, address(&x), 3.0, y.as_mut_ptr().cast()), Status::Ok);
        assert_eq!(y, [405.0, 603.0, 111.0]);
        values.add(2).write(-3.0);
        assert_eq!(nnz_spmv(matrix, 1.0, address(&x), 0.0, y.as_mut_ptr().cast()), Status::Ok);
    }
    assert_eq!(y, [201.0, -300.0, 54.0]);

    // B and C have 2 columns and a third that is padding.
    let b = [1.0, 2.0, f64::NAN, 10.0, 20.0, f64::NAN, 100.0, 200.0, f64::NAN];
    let mut c = [-1.0; 9];
    // SAFETY: as above.
    unsafe {
        let status = nnz_spmm(matrix, 2, 1.0, address(&b), 3, 0.0, c.as_mut_ptr().cast(), 3);
        assert_eq!(status, Status::Ok);
    }
    assert_eq!(c, [201.0, 402.0, -1.0, -300.0, -600.0, -1.0, 54.0, 108.0, -1.0]);

    // The entries times products of B's rows: of the first column, and with the pattern alone of both.
    let one = complex(1.0, 0.0);
    let mut scores = [1.0; 5];
    // SAFETY: as above, and there are 5 values.
    unsafe {
        let (b, scores) = (address(&b), scores.as_mut_ptr().cast());
        assert_eq!(nnz_sddmm(matrix, 0, 1, one, b, 3, b, 3, complex(0.0, 0.0), scores), Status::Ok);
        assert_eq!(nnz_sddmm(matrix, 1, 2, one, b, 3, b, 3, one, scores), Status::Ok);
        assert_eq!(nnz_sddmm(matrix, 2, 2, one, b, 3, b, 3, one, scores), Status::Unsupported);
        nnz_release(matrix);
    }
    assert_eq!(scores, [200.0 + 500.0, 1.0 + 5.0, -3000.0 + 5000.0, 400.0 + 500.0, 5000.0 + 5000.0]);
}

#[test]
fn a_dense_matrix_is_compressed() {
    let device = Cpu::open();
    let dense = [0.0_f32, 7.0, 9.0, 0.0, 0.0, 9.0, 5.0, 6.0, 9.0];
    let mut matrix = null_mut();
    let mut csr = Arrays { scalar: F64, ..arrays(null()) };
    // SAFETY: the 3 x 2 elements exist, and the arrays of the matrix as long as it does.
    unsafe {
        let made = nnz_dense_to_csr(device.0, F32, 3, 2, address(&dense), 3, &raw mut matrix);
        assert_eq!(made, Status::Ok);
        assert_eq!(nnz_arrays(matrix, &raw mut csr), Status::Ok);
        assert_eq!((csr.scalar, csr.rows, csr.cols, csr.nnz), (F32, 3, 2, 3));
        assert_eq!(std::slice::from_raw_parts(csr.offsets, 4), [0, 1, 1, 3]);
        assert_eq!(std::slice::from_raw_parts(csr.indices, 3), [1, 0, 1]);
        assert_eq!(std::slice::from_raw_parts(csr.values.cast::<f32>(), 3), [7.0, 5.0, 6.0]);
        let (x, mut y) = ([1.0_f32, 10.0], [f32::NAN; 3]);
        assert_eq!(nnz_spmv(matrix, 1.0, address(&x), 0.0, y.as_mut_ptr().cast()), Status::Ok);
        assert_eq!(y, [70.0, 0.0, 65.0]);
        nnz_release(matrix);
    }
}

#[test]
fn an_empty_matrix_needs_no_pointers() {
    let device = Cpu::open();
    let offsets = [0];
    let (indices, values) = (null(), null());
    let csr = Arrays { scalar: F64, rows: 0, cols: 0, nnz: 0, offsets: offsets.as_ptr(), indices, values };
    let (status, matrix) = borrow(&device, &csr);
    assert_eq!(status, Status::Ok, "{}", message());
    // SAFETY: there are no elements.
    unsafe {
        assert_eq!(nnz_spmv(matrix, 1.0, null(), 0.0, null_mut()), Status::Ok);
        nnz_release(matrix);
    }
}

#[test]
fn a_null_pointer_is_named() {
    let device = Cpu::open();
    let mut opened = null_mut();
    let no_values = Arrays { values: null(), ..arrays(VALUES.as_ptr()) };
    // SAFETY: null pointers are allowed.
    let calls = unsafe {
        [
            (nnz_open_cpu(0, null_mut()), message(), "device is null"),
            (nnz_open(null(), null_mut()), message(), "device is null"),
            (nnz_open(null(), &raw mut opened), message(), "queue is null"),
            (nnz_borrow_csr(null(), null(), null_mut()), message(), "matrix is null"),
            (borrow(&device, &no_values).0, message(), "values is null"),
            (nnz_arrays(null(), null_mut()), message(), "csr is null"),
            (nnz_spmv(null_mut(), 1.0, null(), 0.0, null_mut()), message(), "matrix is null"),
        ]
    };
    for (status, found, expected) in calls {
        assert_eq!((status, found.as_str()), (Status::Null, expected));
    }
    assert!(opened.is_null());
    // SAFETY: as above.
    unsafe {
        nnz_close(null_mut());
        nnz_release(null_mut());
    }
}

#[test]
fn more_threads_than_can_be_had_are_refused() {
    for threads in [100_000, usize::MAX] {
        let mut device = null_mut();
        // SAFETY: the pointer may be written.
        assert_eq!(unsafe { nnz_open_cpu(threads, &raw mut device) }, Status::Unsupported);
        assert!(message().starts_with(&format!("a CPU backend of {threads} threads")), "{}", message());
        assert!(device.is_null());
    }
}

#[test]
fn arrays_that_are_no_matrix_are_refused() {
    let device = Cpu::open();
    let good = arrays(VALUES.as_ptr());
    let (falling, short, wide) = ([0, 3, 2, 5], [0, 2, 3, 4], [2, 0, 2, 0, 3]);
    let misaligned = good.offsets.wrapping_byte_add(1);
    let refusals = [
        (Arrays { offsets: falling.as_ptr(), ..good }, Status::Format, "csr: row 1: the offset falls"),
        (Arrays { offsets: short.as_ptr(), ..good }, Status::Format, "csr: the last offset is 4"),
        (Arrays { indices: wide.as_ptr(), ..good }, Status::Format, "csr: row 2: column 3 is not below 3"),
        (Arrays { cols: 2, ..good }, Status::Format, "csr: row 0: column 2 is not below 2"),
        (Arrays { rows: usize::MAX, ..good }, Status::Overflow, "rows = "),
        (Arrays { nnz: 1 << 31, ..good }, Status::Overflow, "nnz = 2147483648 does not fit i32"),
        (Arrays { offsets: misaligned, ..good }, Status::WrongMemory, "offsets: "),
        (Arrays { scalar: 7, ..good }, Status::Unsupported, "nnz_type 7"),
    ];
    for (csr, expected, text) in refusals {
        let (status, matrix) = borrow(&device, &csr);
        assert_eq!(status, expected, "{text}");
        assert!(message().starts_with(text), "{} does not begin with {text}", message());
        assert!(matrix.is_null(), "{text}");
    }
}

/// A result in the arrays that the matrix borrows would be written while they are read, and columns would be wrong ever
/// after.
#[test]
fn no_result_is_written_to_the_arrays_of_the_matrix() {
    let device = Cpu::open();
    let (offsets, indices) = (vec![0, 2, 3, 5], vec![0, 2, 2, 0, 1]);
    let values = vec![1.0, 2.0, 3.0, 4.0, 5.0];
    let addresses = [offsets.as_ptr().cast::<c_void>(), indices.as_ptr().cast(), values.as_ptr().cast()];
    let arrays = Arrays {
        scalar: F64,
        rows: 3,
        cols: 3,
        nnz: 5,
        offsets: offsets.as_ptr(),
        indices: indices.as_ptr(),
        values: addresses[2],
    };
    let (status, matrix) = borrow(&device, &arrays);
    assert_eq!(status, Status::Ok);
    let one = Complex { re: 1.0, im: 0.0 };
    let dense = [1.0_f64; 9];
    let x = dense.as_ptr().cast::<c_void>();
    let options = SolverOptions {
        method: 1,
        preconditioner: 0,
        block_rows: 0,
        tolerance: 0.0,
        max_iterations: 1,
        restart: 0,
        damp: 0.0,
    };
    let mut solution = Solution { converged: 0, iterations: 0, relative_residual: 0.0 };
    for (name, address) in ["offsets", "indices", "values"].into_iter().zip(addresses) {
        let y = address.cast_mut();
        // SAFETY: every call is refused before anything is written.
        let statuses = unsafe {
            [
                nnz_spmv(matrix, 1.0, x, 0.0, y),
                nnz_spmm(matrix, 2, 1.0, x, 3, 0.0, y, 2),
                nnz_trisolve(matrix, 0, 1, 0, 1, x, 1, y, 1),
                nnz_sddmm(matrix, 0, 2, one, x, 2, x, 2, one, y),
                nnz_to_dense(matrix, 3, y),
                nnz_solve(matrix, &raw const options, x, y, &raw mut solution),
            ]
        };
        assert_eq!(statuses, [Status::WrongMemory; 6], "{name}: {}", message());
        assert!(message().ends_with(&format!("it shares memory with the matrix's {name}")), "{}", message());
    }
    assert_eq!(
        (offsets, indices, values),
        (vec![0, 2, 3, 5], vec![0, 2, 2, 0, 1], vec![1.0, 2.0, 3.0, 4.0, 5.0],)
    );
    // SAFETY: the matrix is alive.
    unsafe { nnz_release(matrix) };
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let device = Cpu::open();
    let (status, matrix) = borrow(&device, &arrays(VALUES.as_ptr()));
    assert_eq!(status, Status::Ok);
    let mut dense = [0.0; 6];
    let (first, mut made) = (dense.as_mut_ptr(), null_mut());
    let (x, middle) = (first.cast::<c_void>(), first.wrapping_add(2).cast::<c_void>());
    let halves = |step| {
        // SAFETY: calls that would leave the arrays are refused.
        unsafe { nnz_spmm(matrix, 2, 1.0, x, step, 0.0, null_mut(), 2) }
    };
    // SAFETY: as above.
    let refusals = unsafe {
        [
            (nnz_spmv(matrix, 1.0, null(), 0.0, x), Status::Null, message(), "x is null"),
            (nnz_spmv(matrix, 1.0, x, 0.0, null_mut()), Status::Null, message(), "y is null"),
            (
                nnz_spmv(matrix, 1.0, x, 0.0, middle),
                Status::WrongMemory,
                message(),
                "y: it shares memory with x",
            ),
            (
                nnz_spmv(matrix, 1.0, x, 0.0, first.wrapping_byte_add(28).cast()),
                Status::WrongMemory,
                message(),
                "y: the caller's memory is not supported: ",
            ),
            (halves(2), Status::Null, message(), "C is null"),
            (halves(usize::MAX), Status::Shape, message(), "dense: 3 rows, "),
            (nnz_dense_to_csr(device.0, F64, 2, 3, x, 2, &raw mut made), Status::Format, message(), "dense"),
            (
                nnz_dense_to_csr(device.0, F64, 1, usize::MAX, x, usize::MAX, &raw mut made),
                Status::Overflow,
                message(),
                "the number of elements of dense = ",
            ),
        ]
    };
    for (status, expected, found, text) in refusals {
        assert_eq!(status, expected, "{found}");
        assert!(found.starts_with(text), "{found} does not begin with {text}");
    }
    assert!(made.is_null());
    assert_eq!(dense, [0.0; 6]);
    // SAFETY: the matrix is used no more.
    unsafe { nnz_release(matrix) }
}
