//! Checks of a call before its result is predicted or computed: all that an operation refuses for the parameters, shapes,
//! types and formats of a call, and not for its values.

use super::{Call, MemberSelection, run};
use crate::problem::Problem;
use nnz::{DType, Format, IndexType, Matrix, Method, Norm, PreconditionerKind, Reduction, Scalar, c32, c64};

/// Nothing but what every operation needs.
pub(super) fn nothing(_: &Call<'_>) -> Result<(), Problem> {
    Ok(())
}

/// `alpha·op(A)·X`.
pub(super) fn product(call: &Call<'_>) -> Result<(), Problem> {
    check_factor(call, "alpha")?;
    check_rows(call, call.a.shape_of(call.parameters.op()?).1)
}

/// `A ∘ (U·Vᵀ)`.
pub(super) fn sampled_product(call: &Call<'_>) -> Result<(), Problem> {
    let (rows, cols) = call.a.shape();
    let (found, needed) = (call.operand()?.values.nrows(), rows + cols);
    if found != needed {
        let detail = format!(
            "sddmm: the body has {found} rows where {needed} are needed: {rows} of U above {cols} of V"
        );
        return Err(Problem::unprocessable(detail));
    }
    Ok(())
}

/// `A·B`, both sparse.
pub(super) fn sparse_product(call: &Call<'_>) -> Result<(), Problem> {
    let (a, b) = (call.a, check_other(call)?);
    check_compressed(a)?;
    if a.ncols() != b.nrows() {
        let (inner, rows) = (a.ncols(), b.nrows());
        let detail = format!("spgemm: A has {inner} columns and `other` {rows} rows: as many are needed");
        return Err(Problem::unprocessable(detail));
    }
    Ok(())
}

/// `alpha·A + beta·B`.
pub(super) fn sum(call: &Call<'_>) -> Result<(), Problem> {
    elementwise(call)?;
    check_factor(call, "alpha")?;
    check_factor(call, "beta")
}

/// A and B element by element.
pub(super) fn elementwise(call: &Call<'_>) -> Result<(), Problem> {
    let (a, b) = (call.a, check_other(call)?);
    if a.shape() != b.shape() {
        let ((rows, cols), (other_rows, other_cols)) = (a.shape(), b.shape());
        let detail = format!("A is {rows}x{cols} and `other` {other_rows}x{other_cols}: one shape is needed");
        return Err(Problem::unprocessable(detail));
    }
    Ok(())
}

/// `alpha·A`.
pub(super) fn scale(call: &Call<'_>) -> Result<(), Problem> {
    check_factor(call, "alpha")
}

/// A in another type.
pub(super) fn cast(call: &Call<'_>) -> Result<(), Problem> {
    let (found, dtype) = (call.a.dtype(), call.parameters.required::<DType>("dtype")?);
    if found.is_complex() && !dtype.is_complex() {
        let detail = format!("cast: the matrix is {found}, of which {dtype} has no imaginary parts");
        return Err(Problem::unprocessable(detail));
    }
    Ok(())
}

/// A in another format.
pub(super) fn convert(call: &Call<'_>) -> Result<(), Problem> {
    check_single(call.a)?;
    let is_of_all = MemberSelection::of(call.parameters)? == MemberSelection::All;
    match call.parameters.required::<Format>("format")? {
        Format::Coo if is_of_all => {
            Err(Problem::unprocessable("convert: csr and csc are formats of batches, coo is not"))
        }
        Format::Csr | Format::Csc | Format::Coo => Ok(()),
        format => Err(Problem::unprocessable(format!("convert: no file holds {format}: csr, csc or coo"))),
    }
}

/// A without small entries.
pub(super) fn prune(call: &Call<'_>) -> Result<(), Problem> {
    check_single(call.a)?;
    let tolerance: Option<f64> = call.parameters.get("tolerance")?;
    if tolerance.is_some_and(|tolerance| tolerance.is_nan() || tolerance < 0.0) {
        return Err(Problem::bad_request("parameter tolerance: a number of at least 0 is needed"));
    }
    match tolerance {
        Some(tolerance) => check_fits(call, "tolerance", c64::new(tolerance, 0.0)),
        None => Ok(()),
    }
}

/// Rows and columns of A.
pub(super) fn select(call: &Call<'_>) -> Result<(), Problem> {
    check_single(call.a)?;
    call.parameters.positions("rows", call.a.nrows())?;
    call.parameters.positions("columns", call.a.ncols())?;
    Ok(())
}

/// A square matrix.
pub(super) fn square(call: &Call<'_>) -> Result<(), Problem> {
    check_single(call.a)?;
    check_square(call.a)
}

/// One matrix of a batch.
pub(super) fn member(call: &Call<'_>) -> Result<(), Problem> {
    let (index, members) = (call.parameters.required::<usize>("index")?, call.a.members());
    match members {
        Some(count) if index < count => Ok(()),
        Some(count) => Err(Problem::unprocessable(format!("member: {index} is not below {count}"))),
        None => Err(Problem::unprocessable("member: the matrix is no batch")),
    }
}

/// All elements of A.
pub(super) fn dense(call: &Call<'_>) -> Result<(), Problem> {
    check_single(call.a)
}

/// A diagonal.
pub(super) fn diagonal(call: &Call<'_>) -> Result<(), Problem> {
    call.parameters.get::<isize>("k").map(drop)
}

/// A number of each row or column.
pub(super) fn reduce(call: &Call<'_>) -> Result<(), Problem> {
    let by = call.parameters.get_or("by", Reduction::Sum)?;
    let (rows, cols) = call.a.shape();
    let lines = match run::reduced_lines(call)? {
        nnz::Each::Row => (rows, cols),
        nnz::Each::Column => (cols, rows),
    };
    by.check(call.a.dtype(), lines)?;
    if matches!(by, Reduction::Sum | Reduction::Mean) { Ok(()) } else { check_single(call.a) }
}

/// A norm.
pub(super) fn norm(call: &Call<'_>) -> Result<(), Problem> {
    check_single(call.a)?;
    call.parameters.get::<Norm>("ord").map(drop)
}

/// The grid of `spy`.
pub(super) fn spy(call: &Call<'_>) -> Result<(), Problem> {
    run::spy_cells(call).map(drop)
}

/// An iteration.
pub(super) fn solve(call: &Call<'_>) -> Result<(), Problem> {
    let (a, options) = (call.a, run::solve_options(call.parameters)?);
    if options.method == Method::Direct {
        // QR where there are more rows than columns.
        check_single(a)?;
        check_not_wide(a)?;
    } else if !options.method.is_for_least_squares() {
        check_square(a)?;
    }
    if options.preconditioner != PreconditionerKind::None {
        check_single(a)?;
    }
    check_rows(call, a.nrows())?;
    // A solver of one row has these options, or says why there is none.
    let one = [(0, 0, c64::ONE)];
    Matrix::from_triplets(a.device(), a.dtype(), IndexType::I32, (1, 1), &one)?.solver(&options)?;
    Ok(())
}

/// A triangular system.
pub(super) fn triangular_solve(call: &Call<'_>) -> Result<(), Problem> {
    run::triangular_system(call.parameters)?;
    check_compressed(call.a)?;
    check_square(call.a)?;
    check_rows(call, call.a.nrows())
}

/// The second matrix, of the type of the first.
pub(super) fn check_other<'a>(call: &'a Call<'_>) -> Result<&'a Matrix, Problem> {
    let (a, b) = (call.a, call.other()?);
    check_single(a)?;
    check_single(b)?;
    if a.dtype() != b.dtype() {
        let (dtype, other) = (a.dtype(), b.dtype());
        let detail = format!("A is {dtype} and `other` {other}: `cast` one of them first");
        return Err(Problem::unprocessable(detail));
    }
    Ok(b)
}

fn check_not_wide(a: &Matrix) -> Result<(), Problem> {
    let (rows, cols) = a.shape();
    if rows >= cols {
        return Ok(());
    }
    let detail =
        format!("the matrix is {rows}x{cols}: the method direct needs as many rows as columns, or more");
    Err(Problem::unprocessable(detail))
}

fn check_square(a: &Matrix) -> Result<(), Problem> {
    let (rows, cols) = a.shape();
    if rows == cols {
        return Ok(());
    }
    Err(Problem::unprocessable(format!("the matrix is {rows}x{cols}: a square one is needed")))
}

/// Fails for a body whose number of rows is not the one that is needed.
pub(super) fn check_rows(call: &Call<'_>, needed: usize) -> Result<(), Problem> {
    let found = call.operand()?.values.nrows();
    if found == needed {
        return Ok(());
    }
    let detail = format!("the number of rows of the operand is {found} where {needed} is needed");
    Err(Problem::unprocessable(detail))
}

/// Fails for a batch as one matrix.
pub(super) fn check_single(a: &Matrix) -> Result<(), Problem> {
    match a.members() {
        None => Ok(()),
        Some(_) => Err(Problem::unprocessable(
            "a batch has no such operation, the members have it: parameter member names one of them, or all",
        )),
    }
}

/// Fails for a matrix that is neither CSR nor CSC.
fn check_compressed(a: &Matrix) -> Result<(), Problem> {
    match a.format() {
        Format::Csr | Format::Csc => Ok(()),
        other => {
            let detail = format!("the matrix is {other}: `convert` it to csr or csc first");
            Err(Problem::unprocessable(detail))
        }
    }
}

/// Fails for a factor that values of the matrix's type cannot be multiplied by.
fn check_factor(call: &Call<'_>, name: &str) -> Result<(), Problem> {
    check_fits(call, name, call.parameters.factor(name)?)
}

/// Fails for a number of this parameter that the type of the matrix does not hold.
fn check_fits(call: &Call<'_>, name: &str, value: c64) -> Result<(), Problem> {
    let dtype = call.a.dtype();
    let is_double = matches!(dtype, DType::F64 | DType::C64);
    let reason = if value.im != 0.0 && !dtype.is_complex() {
        format!("{value} is complex, and the matrix {dtype}: `cast` it first")
    } else if value.is_finite() && !is_double && !c32::from_c64(value).is_finite() {
        format!("{value} does not fit {dtype}")
    } else {
        return Ok(());
    };
    Err(Problem::unprocessable(format!("parameter {name}: {reason}")))
}

#[cfg(test)]
mod tests {
    use super::super::{Columns, OPERATIONS, Operand, Operation};
    use super::*;
    use crate::execution::task::Task;
    use crate::request::parameters::Parameters;
    use nnz::{DenseMatrix, Device, Order, Vector};
    use std::time::Duration;

    /// A matrix with a dominant diagonal, with which no operation fails for its values.
    fn matrix(device: &Device, dtype: DType, (rows, cols): (usize, usize), format: Format) -> Matrix {
        let entries: Vec<_> = (0..rows)
            .flat_map(|row| (0..cols).map(move |col| (row, col)))
            .filter(|(row, col)| row.abs_diff(*col) < 2)
            .map(|(row, col)| (row, col, c64::new(if row == col { 4.0 } else { -1.0 }, 0.0)))
            .collect();
        let a = Matrix::from_triplets(device, dtype, IndexType::I32, (rows, cols), &entries).unwrap();
        a.to_format(format).unwrap()
    }

    fn matrices(device: &Device) -> Vec<Matrix> {
        let of = |dtype, shape, format| matrix(device, dtype, shape, format);
        let mut all: Vec<_> = [(4, 4), (4, 3), (3, 4), (0, 0), (0, 3), (3, 0)]
            .into_iter()
            .flat_map(|shape| [Format::Csr, Format::Csc, Format::Coo].map(|format| (shape, format)))
            .map(|(shape, format)| of(DType::F64, shape, format))
            .collect();
        all.extend([DType::F32, DType::C64].map(|dtype| of(dtype, (4, 4), Format::Csr)));
        for (dtype, shape, format) in [
            (DType::F64, (4, 4), Format::Csr),
            (DType::F64, (4, 4), Format::Csc),
            (DType::F64, (4, 3), Format::Csr),
            (DType::C64, (4, 4), Format::Csr),
        ] {
            let member = of(dtype, shape, format);
            all.push(Matrix::from_members(&[member.clone(), member]).unwrap());
        }
        all
    }

    /// Texts of parameters, right and wrong ones.
    fn parameters(operation: &str) -> &'static [&'static str] {
        match operation {
            "spmv" | "spmm" => &["", "op=t", "op=x", "alpha=2", "alpha=1,1", "alpha=1e300", "alpha=x"],
            "add" => &["", "alpha=1,1", "beta=0,1", "beta=1e300", "beta="],
            "scale" => &["", "alpha=2,1", "alpha=1e300"],
            "cast" => &["", "dtype=f32", "dtype=c64", "dtype=f16", "dtype=x"],
            "convert" => &["", "format=csc", "format=ell", "format=batch-csr"],
            "prune" => &["", "tolerance=0.5", "tolerance=-1", "tolerance=nan", "tolerance=1e300"],
            "select" => &["", "rows=0", "rows=0..4&columns=1,1", "columns=9", "rows=-1"],
            "member" => &["", "index=0", "index=1", "index=2", "index=x"],
            "diagonal" => &["", "k=-1", "k=100", "k=x"],
            "reduce" => &["", "by=max", "each=column&by=mean", "by=variance", "each=x", "by=x"],
            "spmm_reduce" => &["", "by=sum", "by=mean", "by=min", "by=max", "by=x"],
            "scale_lines" | "softmax" => &["", "each=column", "each=x"],
            "map" => &["", "by=abs", "by=log1p", "by=exp"],
            "norm" => &["", "ord=1", "ord=inf", "ord=2"],
            "spy" => &["", "size=0", "size=3", "size=513"],
            "solve" => &[
                "",
                "method=gmres",
                "method=lsqr",
                "method=minres",
                "method=direct",
                "method=x",
                "tol=-1",
                "tol=nan",
                "restart=0",
                "restart=0&method=gmres",
                "max_iterations=0",
                "preconditioner=jacobi",
                "preconditioner=ilu0",
                "preconditioner=ic0",
                "method=lsmr&preconditioner=jacobi",
                "preconditioner=x",
                "method=enqueued-cg",
                "method=bicgstab",
            ],
            "trisolve" => &["", "triangle=upper", "triangle=x", "unit=1", "unit=2", "op=t"],
            _ => &[""],
        }
    }

    fn operands(operation: &Operation, a: &Matrix) -> Vec<Option<Columns>> {
        if operation.operand == Operand::None {
            return vec![None];
        }
        let (rows, cols) = a.shape();
        let shapes = [rows, cols, rows + cols, rows + 1, 0]
            .into_iter()
            .flat_map(|n| [vec![n], vec![n, 1], vec![n, 2]]);
        let taken = shapes
            .filter(|shape| operation.operand.check(operation.name, shape, MemberSelection::Whole).is_ok());
        let columns = taken.map(|shape| {
            let (rows, columns) = (shape[0], shape.get(1).copied().unwrap_or(1));
            let ones = Vector::from_vec(a.device(), vec![1.0; rows * columns]).unwrap();
            let ones = ones.cast(a.dtype()).unwrap();
            let values = DenseMatrix::new(ones, rows, columns, columns.max(1), Order::RowMajor).unwrap();
            Columns { values, shape }
        });
        columns.map(Some).collect()
    }

    #[test]
    fn what_is_refused_is_refused_before_it_runs() {
        let device: Device = "cpu".parse().unwrap();
        let (all, task) = (matrices(&device), Task::new(Duration::from_secs(600)));
        let (mut refused, mut done, mut wrong) = (0, 0, vec![]);
        for operation in OPERATIONS {
            let others: Vec<_> =
                if operation.has_other { all.iter().map(Some).collect() } else { vec![None] };
            for (a, text) in
                all.iter().flat_map(|a| parameters(operation.name).iter().map(move |text| (a, text)))
            {
                let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
                let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
                let parameters = Parameters::checked(pairs.collect());
                for operand in operands(operation, a) {
                    for &other in &others {
                        let operand = operand.as_ref();
                        let call = Call { a, other, operand, parameters: &parameters, task: &task };
                        let (predicted, ran) = (operation.predict(&call), operation.run(&call));
                        let label = || {
                            let of = |a: &Matrix| format!("{} {} {:?}", a.format(), a.dtype(), a.shape());
                            let shape = operand.map(|operand| &operand.shape);
                            format!("{}?{text} {} {:?} {shape:?}", operation.name, of(a), other.map(of))
                        };
                        match (predicted, ran) {
                            (Ok(_), Ok(_)) => done += 1,
                            // A product without elements reads neither factors nor vectors.
                            (Err(problem), Ok(_)) if a.nnz() > 0 && operation.name != "convert" => {
                                wrong.push(format!("{}, which runs: {}", label(), problem.detail()));
                            }
                            (Err(_), _) => refused += 1,
                            (Ok(_), Err(problem)) => {
                                wrong.push(format!("{}: {}", label(), problem.detail()));
                            }
                        }
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), done + refused, wrong.join("\n"));
        assert!(done > 500 && refused > 1000, "{done} done, {refused} refused");
    }
}
