//! Triangular solves and solvers in the caller's memory.

use super::*;

#[test]
fn triangles_are_solved_in_the_callers_memory() {
    let a = Owned::example();
    let b = [1.0, 10.0, 0.0, 2.0, 20.0, 0.0, 3.0, 30.0];
    let mut x = [7.0; 8];
    let solve = |triangle, unit, x: *mut f64| {
        // SAFETY: the matrix is alive; b and x have three rows of two columns, three elements apart.
        unsafe { nnz_trisolve(a.0, triangle, unit, 0, 2, address(&b), 3, x.cast(), 3) }
    };
    assert_eq!(solve(0, 1, x.as_mut_ptr()), Status::Ok);
    assert_eq!(x, [1.0, 10.0, 7.0, 2.0, 20.0, 7.0, -11.0, -110.0]);
    assert_eq!(solve(1, 1, x.as_mut_ptr()), Status::Ok);
    assert_eq!(x, [-5.0, -50.0, 7.0, -7.0, -70.0, 7.0, 3.0, 30.0]);
    for (triangle, unit, x, expected, text) in [
        (0, 0, x.as_mut_ptr(), Status::Singular, "trisolve: row 1: a diagonal entry is needed"),
        (2, 0, x.as_mut_ptr(), Status::Unsupported, "nnz_triangle 2 is not supported"),
        (0, 1, b.as_ptr().cast_mut(), Status::WrongMemory, "X: it shares memory with B"),
    ] {
        assert_eq!(solve(triangle, unit, x), expected, "{}", message());
        assert!(message().starts_with(text), "{}", message());
    }
}

#[test]
fn systems_are_solved_in_the_callers_memory() {
    let device = Cpu::open();
    let (offsets, indices) = ([0, 2, 4], [0, 1, 0, 1]);
    let values = [4.0, 1.0, 1.0, 3.0];
    let csr = Arrays {
        scalar: F64,
        rows: 2,
        cols: 2,
        nnz: 4,
        offsets: offsets.as_ptr(),
        indices: indices.as_ptr(),
        values: address(&values),
    };
    // SAFETY: the device is open, and the arrays outlive the matrix.
    let matrix = Owned::made(|matrix| unsafe { nnz_borrow_csr(device.0, &csr, matrix) });
    let solve = |matrix: &Owned, options: SolverOptions, b: &[f64], x: *mut f64| {
        let mut solution = Solution { converged: -1, iterations: 0, relative_residual: -1.0 };
        // SAFETY: the matrix is alive, and b and x have as many elements as it has rows.
        let status = unsafe { nnz_solve(matrix.0, &options, address(b), x.cast(), &raw mut solution) };
        (status, solution)
    };
    let defaults = SolverOptions {
        method: 0,
        preconditioner: 0,
        block_rows: 0,
        tolerance: 0.0,
        max_iterations: 0,
        restart: 0,
        damp: 0.0,
    };
    let preconditioned = (0..5).flat_map(|preconditioner| [0, 1, 3].map(|method| (method, preconditioner)));
    for (method, preconditioner) in preconditioned.chain([(2, 0), (4, 0), (4, 1)]) {
        let options = SolverOptions { method, preconditioner, ..defaults };
        let mut x = [0.0; 2];
        let (status, solution) = solve(&matrix, options, &[6.0, 7.0], x.as_mut_ptr());
        assert_eq!((status, solution.converged), (Status::Ok, 1), "{method}, {preconditioner}");
        assert!((x[0] - 1.0).abs() < 1e-9 && (x[1] - 2.0).abs() < 1e-9, "{x:?}");
        assert!(solution.relative_residual <= 1e-10);
        // From the solution there is nothing to do.
        assert_eq!(solve(&matrix, options, &[6.0, 7.0], x.as_mut_ptr()).1.iterations, 0);
    }
    for method in [5, 6] {
        let mut x = [0.0; 2];
        let options = SolverOptions { method, damp: 1.0, ..defaults };
        let (status, _) = solve(&matrix, options, &[6.0, 7.0], x.as_mut_ptr());
        // (AᵀA + I)·x = Aᵀ·b for A = [4 1; 1 3], b = (6, 7).
        assert_eq!(status, Status::Ok, "{}", message());
        assert!((x[0] - 152.0 / 149.0).abs() < 1e-8 && (x[1] - 269.0 / 149.0).abs() < 1e-8, "{x:?}");
    }
    let options = SolverOptions { tolerance: 1e-10, max_iterations: 1, ..defaults };
    let (mut x, b) = ([0.0; 3], [6.0, 7.0, 8.0]);
    assert_eq!(solve(&matrix, options, &b, x.as_mut_ptr()).1.converged, 0);

    let wide = Owned::example(); // its diagonal has zeros
    let first = x.as_mut_ptr();
    for (matrix, options, first, expected, text) in [
        (&matrix, SolverOptions { method: 8, ..options }, first, Status::Unsupported, "nnz_method 8"),
        (&matrix, SolverOptions { preconditioner: 5, ..options }, first, Status::Unsupported, "nnz_precond"),
        (
            &matrix,
            SolverOptions { method: 5, preconditioner: 1, ..options },
            first,
            Status::Unsupported,
            "a precond",
        ),
        (&wide, SolverOptions { preconditioner: 1, ..options }, first, Status::Singular, "jacobi: row 1"),
        (&matrix, options, b.as_ptr().cast_mut(), Status::WrongMemory, "x: it shares memory with b"),
        (&matrix, options, null_mut(), Status::Null, "x is null"),
        // Arrays are checked before a preconditioner is made.
        (&wide, SolverOptions { preconditioner: 1, ..options }, null_mut(), Status::Null, "x is null"),
    ] {
        let (status, solution) = solve(matrix, options, &b, first);
        assert_eq!((status, solution.converged), (expected, -1), "{}", message());
        assert!(message().starts_with(text), "{} does not begin with {text}", message());
    }
}

#[test]
fn a_plan_solves_for_many_right_hand_sides_and_other_values() {
    let device = Cpu::open();
    let (offsets, indices, crossed) = ([0, 2, 4], [0, 1, 0, 1], [1, 0, 0, 1]);
    let borrow = |indices: &[i32; 4], values: &[f64; 4]| {
        let csr = Arrays {
            scalar: F64,
            rows: 2,
            cols: 2,
            nnz: 4,
            offsets: offsets.as_ptr(),
            indices: indices.as_ptr(),
            values: values.as_ptr().cast(),
        };
        // SAFETY: the device is open, and the arrays outlive the matrix.
        Owned::made(|matrix| unsafe { nnz_borrow_csr(device.0, &csr, matrix) })
    };
    let (values, others, singular) = ([4.0, 1.0, 1.0, 3.0], [2.0, 1.0, 1.0, 4.0], [0.0, 1.0, 1.0, 0.0]);
    let matrix = borrow(&indices, &values);
    let other = borrow(&indices, &others);
    for (method, preconditioner) in [(0, 0), (0, 1), (0, 4), (1, 3), (3, 2), (4, 1)] {
        let options = SolverOptions {
            method,
            preconditioner,
            block_rows: 0,
            tolerance: 0.0,
            max_iterations: 0,
            restart: 0,
            damp: 0.0,
        };
        let mut plan = null_mut();
        // SAFETY: the matrix is alive.
        assert_eq!(unsafe { nnz_plan_solve(matrix.0, &options, &raw mut plan) }, Status::Ok);
        let solve = |b: [f64; 2]| {
            let mut x = [0.0; 2];
            let mut solution = Solution { converged: -1, iterations: 0, relative_residual: -1.0 };
            // SAFETY: the plan is alive; b and x have as many elements as the matrix has rows.
            let status =
                unsafe { nnz_run_solve(plan, address(&b), x.as_mut_ptr().cast(), &raw mut solution) };
            assert_eq!((status, solution.converged), (Status::Ok, 1), "{}", message());
            x.map(|x: f64| (x * 1e6).round() / 1e6)
        };
        // SAFETY: the plan and the matrix are alive.
        let update = |matrix: &Owned| unsafe { nnz_update_solve(plan, matrix.0) };
        assert_eq!([solve([6.0, 7.0]), solve([5.0, 4.0])], [[1.0, 2.0], [1.0, 1.0]]);
        assert_eq!(update(&other), Status::Ok, "{}", message());
        assert_eq!(solve([3.0, 5.0]), [1.0, 1.0]);
        assert_eq!(update(&borrow(&crossed, &values)), Status::Shape);
        assert!(
            message().contains("the solver was made for csr (i32) of 2 x 2 with 4 entries"),
            "{}",
            message()
        );
        if preconditioner == 1 {
            assert_eq!(update(&borrow(&indices, &singular)), Status::Singular);
        }
        assert_eq!(solve([3.0, 5.0]), [1.0, 1.0]);
        assert_eq!(update(&matrix), Status::Ok);
        assert_eq!(solve([6.0, 7.0]), [1.0, 2.0]);
        // SAFETY: the plan is used no more.
        unsafe { nnz_release_solve_plan(plan) };
    }
    // SAFETY: null is allowed.
    unsafe {
        assert_eq!(nnz_update_solve(null_mut(), matrix.0), Status::Null);
        nnz_release_solve_plan(null_mut());
    }
}
