//! Matrices that the library makes: other formats and types, coordinates, plans and files.

use super::*;

/// The matrix of the tests, `1 0 2; 0 0 3; 4 5 0`, in every triple of types: its arrays are found again, and products
/// run.
fn check_types<T: Scalar, I: nnz::Index, O: nnz::Index>() {
    let types = [DType::F32, DType::F64, DType::C32, DType::C64, DType::F16, DType::Bf16];
    let scalar = types.iter().position(|&dtype| dtype == T::DTYPE).unwrap() as Type;
    let [index, offset] = [size_of::<I>() / 8, size_of::<O>() / 8].map(|wide| wide as Index);
    let value = |number| T::from_c64(c64::new(number, 0.0));
    let (offsets, indices) = (OFFSETS.map(|k| O::cast(k as usize)), INDICES.map(|k| I::cast(k as usize)));
    let (values, x) = (VALUES.map(value), [1.0, 10.0, 100.0].map(value));
    let csr = WideArrays {
        scalar,
        index,
        offset,
        rows: 3,
        cols: 3,
        nnz: 5,
        offsets: address(&offsets),
        indices: address(&indices),
        values: address(&values),
    };
    let (device, mut found, mut y) = (Cpu::open(), csr, [T::ZERO; 3]);
    // SAFETY: the device is open, and all arrays outlive the matrix.
    unsafe {
        let matrix = Owned::made(|matrix| nnz_borrow_wide_csr(device.0, &csr, matrix));
        let info = matrix.info();
        assert_eq!((info.format, info.scalar, info.index, info.offset), (0, scalar, index, offset));
        assert_eq!((info.rows, info.cols, info.nnz), (3, 3, 5));
        assert_eq!(nnz_wide_arrays(matrix.0, &raw mut found), Status::Ok);
        assert_eq!((found.offsets, found.indices, found.values), (csr.offsets, csr.indices, csr.values));
        assert_eq!((found.scalar, found.index, found.offset, found.nnz), (scalar, index, offset, 5));
        assert_eq!(nnz_spmv(matrix.0, 1.0, address(&x), 0.0, y.as_mut_ptr().cast()), Status::Ok);
    }
    assert_eq!(y, [201.0, 300.0, 54.0].map(value), "{:?}", T::DTYPE);
}

macro_rules! check_all_types {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
        $(check_types::<$t, $i, $o>();)*
    };
}

#[test]
fn every_triple_of_types_is_borrowed() {
    nnz::for_all_types!(check_all_types);
    let device = Cpu::open();
    let Arrays { rows, cols, nnz, offsets, indices, values, .. } = arrays(VALUES.as_ptr());
    let (offsets, indices) = (offsets.cast(), indices.cast());
    let csr = WideArrays { scalar: F16, index: 0, offset: I64, rows, cols, nnz, offsets, indices, values };
    for (csr, text) in [
        (
            csr,
            "a matrix of f16,i32,i64 is not supported: values, indices and offsets are one of f64,i32,i32 ",
        ),
        (WideArrays { scalar: F64, index: I64, offset: 0, ..csr }, "a matrix of f64,i64,i32 "),
        (WideArrays { index: 2, ..csr }, "nnz_index 2 is not supported: the constants are 0 to 1"),
    ] {
        let mut matrix = null_mut();
        // SAFETY: the device is open; the arrays are refused before they are read.
        let status = unsafe { nnz_borrow_wide_csr(device.0, &csr, &raw mut matrix) };
        assert_eq!((status, matrix), (Status::Unsupported, null_mut()));
        assert!(message().starts_with(text), "{}", message());
    }
}

#[test]
fn formats_become_each_other_and_multiply_in_every_way() {
    let a = Owned::example();
    let elements = [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 4.0, 5.0, 0.0];
    for (from, to) in (0..6).flat_map(|from| (0..6).map(move |to| (from, to))) {
        let made = a.convert(from).convert(to);
        assert_eq!((made.info().format, made.info().nnz), (to, 5));
        assert_eq!(made.dense::<f64>(), elements, "{from} to {to}");
        let (x, mut y) = ([1.0, 10.0, 100.0], [1.0; 3]);
        let b = [1.0, 2.0, 10.0, 20.0, 100.0, 200.0];
        let mut c = [f64::NAN; 6];
        let (alpha, beta) = (complex(2.0, 0.0), complex(-1.0, 0.0));
        // SAFETY: the matrix is alive, and the arrays have its lengths.
        unsafe {
            let status = nnz_spmv_op(made.0, 1, alpha, address(&x), beta, y.as_mut_ptr().cast());
            assert_eq!(status, Status::Ok);
            let c = c.as_mut_ptr().cast();
            let status = nnz_spmm_op(made.0, 2, 2, alpha, address(&b), 2, complex(0.0, 0.0), c, 2);
            assert_eq!(status, Status::Ok);
        }
        // The transpose times (1, 10, 100) is (401, 500, 32).
        assert_eq!(y, [801.0, 999.0, 63.0], "{from} to {to}");
        assert_eq!(c, [802.0, 1604.0, 1000.0, 2000.0, 64.0, 128.0], "{from} to {to}");
    }
    // SAFETY: the matrix is alive.
    let transpose = Owned::made(|made| unsafe { nnz_transpose(a.0, made) });
    assert_eq!(transpose.info().format, 1);
    assert_eq!(transpose.dense::<f64>(), [1.0, 0.0, 4.0, 0.0, 0.0, 5.0, 2.0, 3.0, 0.0]);

    // SAFETY: the matrix is alive.
    let square = Owned::made(|made| unsafe { nnz_spgemm(a.0, a.0, made) });
    assert_eq!(square.dense::<f64>(), [9.0, 10.0, 2.0, 12.0, 15.0, 0.0, 4.0, 0.0, 23.0]);

    let (one, minus_two) = (complex(1.0, 0.0), complex(-2.0, 0.0));
    // SAFETY: the matrices are alive.
    let sum = Owned::made(|made| unsafe { nnz_add(one, a.0, minus_two, transpose.0, made) });
    assert_eq!(sum.dense::<f64>(), [-1.0, 0.0, -6.0, 0.0, 0.0, -7.0, 0.0, -1.0, 0.0]);
    let (rows, cols) = ([2, 0, 2], [0, 1, 1]);
    // SAFETY: the matrix is alive, and the lists have as many elements as they are said to have.
    let chosen = Owned::made(|made| unsafe { nnz_select(a.0, 3, rows.as_ptr(), 3, cols.as_ptr(), made) });
    assert_eq!(chosen.dense::<f64>(), [4.0, 5.0, 5.0, 1.0, 0.0, 0.0, 4.0, 5.0, 5.0]);
    let mut none = null_mut();
    // SAFETY: as above.
    let status = unsafe { nnz_select(a.0, 1, [3].as_ptr(), 0, null(), &raw mut none) };
    assert_eq!((status, message()), (Status::Shape, "select: row 3 is not below 3".to_string()));

    let (mut made, mut csr) = (null_mut(), arrays(null()));
    // SAFETY: the matrix is alive.
    let single = Owned::made(|made| unsafe { nnz_cast(a.0, F32, made) });
    // SAFETY: as above.
    let refusals = unsafe {
        [
            (nnz_spgemm(a.0, transpose.0, &raw mut made), message(), "a is csr, b is csc: nnz_convert makes"),
            (nnz_spgemm(a.0, single.0, &raw mut made), message(), "a is f64, b is f32: nnz_cast makes"),
            (
                nnz_add(one, a.0, one, single.0, &raw mut made),
                message(),
                "a is f64, b is f32: nnz_cast makes",
            ),
            (nnz_convert(a.0, 6, &raw mut made), message(), "nnz_format 6 is not supported"),
            (nnz_cast(a.0, 6, &raw mut made), message(), "nnz_type 6 is not supported"),
            (
                nnz_spmv_op(a.0, 3, complex(1.0, 0.0), null(), complex(0.0, 0.0), null_mut()),
                message(),
                "nnz_op 3 is not supported",
            ),
            (nnz_arrays(transpose.0, &raw mut csr), message(), "the arrays of Matrix(csc, 3 x 3, 5 entries"),
        ]
    };
    for (status, found, text) in refusals {
        assert_eq!(status, Status::Unsupported, "{text}");
        assert!(found.starts_with(text), "{found} does not begin with {text}");
    }
    assert!(made.is_null());
}

#[test]
fn a_plan_of_a_product_takes_the_values_of_now() {
    let device = Cpu::open();
    let mut values = VALUES;
    let values = values.as_mut_ptr();
    // SAFETY: the device is open, and the arrays outlive the matrix.
    let a = Owned::made(|matrix| unsafe { nnz_borrow_csr(device.0, &arrays(values), matrix) });
    for format in [0, 1] {
        let b = a.convert(format);
        let left = if format == 0 { a.0 } else { b.0 };
        let mut plan = null_mut();
        // SAFETY: the matrices are alive, and the pointer may be written.
        assert_eq!(unsafe { nnz_plan_spgemm(left, b.0, &raw mut plan) }, Status::Ok, "{}", message());
        // SAFETY: plan and matrices are alive.
        let run = |a, b| Owned::made(|made| unsafe { nnz_run_spgemm(plan, a, b, made) });
        for _ in 0..2 {
            assert_eq!(run(left, b.0).dense::<f64>(), [9.0, 10.0, 2.0, 12.0, 15.0, 0.0, 4.0, 0.0, 23.0]);
        }
        let (other, mut made) = (a.convert(2).convert(format), null_mut());
        // SAFETY: as above.
        let refusals = unsafe {
            [
                (nnz_run_spgemm(plan, left, other.0, &raw mut made), Status::Shape),
                (nnz_run_spgemm(null(), left, b.0, &raw mut made), Status::Null),
                (nnz_run_spgemm(plan, null(), b.0, &raw mut made), Status::Null),
                (nnz_run_spgemm(plan, left, b.0, null_mut()), Status::Null),
                (nnz_plan_spgemm(left, null(), &raw mut plan), Status::Null),
                (nnz_plan_spgemm(left, b.0, null_mut()), Status::Null),
                (nnz_plan_spgemm(left, a.convert(2).0, &raw mut plan), Status::Unsupported),
            ]
        };
        assert!(refusals.iter().all(|(found, expected)| found == expected), "{refusals:?}");
        assert!(made.is_null());
        // SAFETY: the plan is used no more.
        unsafe { nnz_release_spgemm_plan(plan) };
    }

    let mut plan = null_mut();
    // SAFETY: the matrix is alive, and the pointer may be written.
    assert_eq!(unsafe { nnz_plan_spgemm(a.0, a.0, &raw mut plan) }, Status::Ok);
    // SAFETY: the array has five elements, and no call reads it meanwhile.
    unsafe { values.add(2).write(-3.0) };
    // SAFETY: plan and matrix are alive.
    let square = Owned::made(|made| unsafe { nnz_run_spgemm(plan, a.0, a.0, made) });
    // SAFETY: the plan is used no more; a null pointer is none.
    unsafe {
        nnz_release_spgemm_plan(plan);
        nnz_release_spgemm_plan(null_mut());
    }
    assert_eq!(square.dense::<f64>(), [9.0, 10.0, 2.0, -12.0, -15.0, 0.0, 4.0, 0.0, -7.0]);
}

#[test]
fn what_is_made_of_borrowed_arrays_outlives_them() {
    let device = Cpu::open();
    let mut values = VALUES;
    let (status, matrix) = borrow(&device, &arrays(values.as_ptr()));
    assert_eq!(status, Status::Ok);
    // SAFETY: the matrix is alive until it is released.
    let made = unsafe {
        let made = [
            Owned::made(|made| nnz_convert(matrix, 5, made)),
            Owned::made(|made| nnz_transpose(matrix, made)),
            Owned::made(|made| nnz_cast(matrix, C64, made)),
        ];
        nnz_release(matrix);
        made
    };
    values.fill(f64::NAN);
    assert_eq!(made[0].dense::<f64>()[..3], [1.0, 0.0, 2.0]);
    assert_eq!(made[1].dense::<f64>()[..3], [1.0, 0.0, 4.0]);
    assert_eq!(made[2].dense::<c64>()[2], c64::new(2.0, 0.0));
}

#[test]
fn the_library_tells_its_version() {
    // SAFETY: the text is constant.
    let version = unsafe { CStr::from_ptr(nnz_version()) };
    assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}

#[test]
fn values_are_cast_and_factors_fit_them() {
    let a = Owned::example();
    for (scalar, expected) in [(2, Status::Ok), (0, Status::Overflow)] {
        // SAFETY: the matrix is alive.
        let made = Owned::made(|made| unsafe { nnz_cast(a.0, scalar, made) });
        let (x, mut y) = ([c32::ONE; 3], [c32::ONE; 3]);
        let (i, zero) = (complex(0.0, 1.0), complex(0.0, 0.0));
        // SAFETY: the arrays have the lengths of the matrix, whose values are no larger.
        let status = unsafe { nnz_spmv_op(made.0, 0, i, address(&x), zero, y.as_mut_ptr().cast()) };
        assert_eq!(status, expected);
        if status == Status::Ok {
            assert_eq!(y.map(|y| y.im), [3.0, 3.0, 9.0]);
        } else {
            assert_eq!(y, x);
            assert!(message().starts_with("spmv: alpha = 0+1i is complex"), "{}", message());
        }
    }
}

#[test]
fn coordinates_are_copied_and_added() {
    let device = Cpu::open();
    let (mut rows, mut cols) = (vec![1_i64, 0, 1, 2], vec![1_i64, 2, 1, 0]);
    let values = vec![1.0_f32, 2.0, 3.0, 4.0];
    let coo = Coordinates {
        scalar: F32,
        index: I64,
        rows: 3,
        cols: 3,
        nnz: 4,
        row_indices: address(&rows),
        col_indices: address(&cols),
        values: address(&values),
    };
    // SAFETY: the device is open, and the arrays have 4 elements.
    let matrix = Owned::made(|matrix| unsafe { nnz_copy_coo(device.0, &coo, matrix) });
    (rows[3], cols[1]) = (3, -1);
    drop(values);
    assert_eq!((matrix.info().format, matrix.info().nnz, matrix.info().offset), (2, 4, I64));
    assert_eq!(matrix.convert(0).info().nnz, 3);
    assert_eq!(matrix.dense::<f32>(), [0.0, 0.0, 2.0, 0.0, 4.0, 0.0, 4.0, 0.0, 0.0]);

    let narrow = Arrays { scalar: F64, ..arrays(null()) };
    let values = [0.0_f32; 4];
    for (coo, status, text) in [
        (Coordinates { values: address(&values), ..coo }, Status::Format, "coo: "),
        (Coordinates { row_indices: null(), ..coo }, Status::Null, "row_indices is null"),
        (Coordinates { nnz: usize::MAX, ..coo }, Status::Overflow, "the number of elements of row_indices"),
    ] {
        let mut made = null_mut();
        // SAFETY: the device is open, and the arrays have 4 elements or are refused before they are read.
        assert_eq!(unsafe { nnz_copy_coo(device.0, &coo, &raw mut made) }, status, "{text}");
        assert!(message().starts_with(text) && made.is_null(), "{} does not begin with {text}", message());
    }
    let (csr, mut found) = (matrix.convert(0), narrow);
    // SAFETY: the matrix is alive, and the struct may be written.
    assert_eq!(unsafe { nnz_arrays(csr.0, &raw mut found) }, Status::Unsupported);
    assert!(message().ends_with("nnz_wide_arrays gives those of other types than int32_t"), "{}", message());
}

#[test]
fn files_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        CString::new(path.to_str().unwrap()).unwrap()
    };
    let header = "%%MatrixMarket matrix coordinate real general\n";
    let good = file("a.mtx", &format!("{header}3 3 3\n1 1 5\n2 3 7\n1 1 1\n"));
    let bad = file("b.mtx", &format!("{header}3 3 1\n1 4 5\n"));
    let other = file("c.csv", "");
    let device = Cpu::open();
    // SAFETY: the device is open, and the path ends with a zero.
    let a = Owned::made(|matrix| unsafe { nnz_read(device.0, good.as_ptr(), matrix) });
    assert_eq!((a.info().scalar, a.info().index, a.info().nnz), (F64, 0, 2));
    assert_eq!(a.dense::<f64>(), [6.0, 0.0, 0.0, 0.0, 0.0, 7.0, 0.0, 0.0, 0.0]);
    for name in ["d.mtx", "d.npz", "d.npy"] {
        let path = CString::new(folder.path().join(name).to_str().unwrap()).unwrap();
        // SAFETY: the matrix is alive, and the path ends with a zero.
        assert_eq!(unsafe { nnz_write(a.0, path.as_ptr()) }, Status::Ok, "{}", message());
        // SAFETY: the device is open, and the path ends with a zero.
        let again = Owned::made(|matrix| unsafe { nnz_read(device.0, path.as_ptr(), matrix) });
        assert_eq!(again.dense::<f64>(), a.dense::<f64>(), "{name}");
    }
    // SAFETY: as above.
    assert_eq!(unsafe { nnz_write(a.0, other.as_ptr()) }, Status::Unsupported);
    assert!(message().contains(".mtx, .mtx.gz, .npz and .npy"), "{}", message());
    let missing = c"/nowhere/at/all.mtx";
    for (path, expected, text) in [
        (bad.as_c_str(), Status::File, "line 3: "),
        (missing, Status::File, "/nowhere/at/all.mtx: "),
        (other.as_c_str(), Status::Unsupported, ".mtx, .mtx.gz, .npz and .npy"),
        (c"\xff.mtx", Status::Unsupported, "a path that is not UTF-8"),
    ] {
        let mut matrix = null_mut();
        // SAFETY: as above.
        let status = unsafe { nnz_read(device.0, path.as_ptr(), &raw mut matrix) };
        assert_eq!((status, matrix), (expected, null_mut()), "{}", message());
        assert!(message().contains(text), "{} does not contain {text}", message());
    }
}

#[test]
fn threads_multiply_with_one_matrix_at_a_time() {
    struct Shared(Owned);
    // SAFETY: `nnz.h` lets threads share a matrix.
    unsafe impl Sync for Shared {}
    let shared = &Shared(Owned::example());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                let (x, mut y) = ([1.0, 10.0, 100.0], [0.0; 3]);
                for _ in 0..50 {
                    // SAFETY: the matrix is alive, and the arrays have its lengths.
                    let status =
                        unsafe { nnz_spmv(shared.0.0, 1.0, address(&x), 0.0, y.as_mut_ptr().cast()) };
                    assert_eq!((status, y), (Status::Ok, [201.0, 300.0, 54.0]));
                }
            });
        }
    });
}

#[cfg(not(feature = "sycl"))]
#[test]
fn without_sycl_its_queues_are_refused() {
    let mut device = null_mut();
    // SAFETY: without SYCL the queue is not looked at.
    let status = unsafe { nnz_open(address(&OFFSETS), &raw mut device) };
    assert_eq!((status, device), (Status::Unsupported, null_mut()));
    assert!(message().ends_with("the library was built without its feature `sycl`"));
}
