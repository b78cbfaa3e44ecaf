//! The parameters of operations, as the table and the OpenAPI document have them.

/// A parameter of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) is_required: bool,
    /// All of its values, where they are names.
    pub(crate) values: &'static [&'static str],
}

impl Parameter {
    const fn any(name: &'static str) -> Self {
        Self::one_of(name, &[])
    }

    const fn one_of(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, is_required: false, values }
    }

    const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }
}

pub(super) const ALPHA: Parameter = Parameter::any("alpha");
pub(super) const BETA: Parameter = Parameter::any("beta");
pub(super) const COLUMNS: Parameter = Parameter::any("columns");
pub(super) const DTYPE: Parameter = Parameter::one_of("dtype", &["f32", "f64", "c32", "c64"]).required();
pub(super) const EACH: Parameter = Parameter::one_of("each", &["row", "column"]);
pub(super) const FORMAT: Parameter = Parameter::one_of("format", &["csr", "csc", "coo"]).required();
pub(super) const INDEX: Parameter = Parameter::any("index").required();
pub(super) const K: Parameter = Parameter::any("k");
pub(super) const MAX_ITERATIONS: Parameter = Parameter::any("max_iterations");
pub(super) const METHOD: Parameter = Parameter::one_of(
    "method",
    &["cg", "bicgstab", "enqueued-cg", "gmres", "minres", "lsqr", "lsmr", "direct"],
);
pub(super) const OP: Parameter = Parameter::one_of("op", &["n", "t", "c"]);
pub(super) const ORD: Parameter = Parameter::one_of("ord", &["fro", "1", "inf"]);
pub(super) const PRECONDITIONER: Parameter =
    Parameter::one_of("preconditioner", &["none", "jacobi", "ilu0", "ic0"]);
pub(super) const RESTART: Parameter = Parameter::any("restart");
pub(super) const ROWS: Parameter = Parameter::any("rows");
pub(super) const SIZE: Parameter = Parameter::any("size");
pub(super) const TOL: Parameter = Parameter::any("tol");
pub(super) const TOLERANCE: Parameter = Parameter::any("tolerance");
pub(super) const TRIANGLE: Parameter = Parameter::one_of("triangle", &["lower", "upper"]);
pub(super) const UNIT: Parameter = Parameter::one_of("unit", &["0", "1", "false", "true"]);

/// The sum, mean, minimum or maximum of products.
pub(super) const AGGREGATION: Parameter = Parameter::one_of("by", &["sum", "mean", "min", "max"]);
/// The function of each value.
pub(super) const FUNCTION: Parameter = Parameter::one_of(
    "by",
    &["abs", "ceil", "expm1", "floor", "log1p", "rint", "sign", "sqrt", "square", "tanh"],
)
.required();
/// The reduction of each row or column.
pub(super) const REDUCTION: Parameter =
    Parameter::one_of("by", &["sum", "mean", "variance", "min", "max", "norm1", "norm2", "norminf"]);
