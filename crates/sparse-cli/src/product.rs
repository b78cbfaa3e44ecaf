//! The common part of `spmv` and `spmm`: the options of a product, and its factors.

use crate::context::Context;
use crate::failure::usage;
use crate::file;
use crate::format::Format;
use crate::named_device::{NamedDevice, NamedDevices};
use crate::operand::Operand;
use crate::ranks::{RankRows, Ranks};
use anyhow::Result;
use clap::Args;
use clap::builder::ArgPredicate;
use nnz::distrib::SharedTransport;
use nnz::io::matrix_market::check_partitionable;
use nnz::io::{FileKind, MatrixFile, RowRanges};
use nnz::op::Op;
use nnz::{
    Algorithm, Choice, DType, Device, ExchangePath, Matrix, MatrixOnDevices, MatrixOnRanks, PlanOptions,
    Scalar, c64, with_dtype,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The options of a product `alpha·op(A)·X + beta·Y`.
#[derive(Debug, Args)]
pub(crate) struct ProductOptions {
    /// The factor of the product; complex as in 1+2i
    #[arg(long, default_value = "1", value_parser = parse_factor, allow_hyphen_values = true)]
    pub(crate) alpha: c64,
    /// The factor of what --y holds, 1 by default; 0 does not read it
    #[arg(
        long,
        default_value = "0",
        default_value_if("y", ArgPredicate::IsPresent, "1"),
        hide_default_value = true,
        value_parser = parse_factor,
        allow_hyphen_values = true
    )]
    pub(crate) beta: c64,
    /// A term added to the product, in the shape of the result
    #[arg(long, value_name = "Y.npy")]
    pub(crate) y: Option<PathBuf>,
    /// A itself, its transpose, or its conjugate transpose: n, t or c
    #[arg(long, default_value = "n", value_parser = parse_op)]
    pub(crate) op: Op,
    /// The format to compute in; coo may have any number of rows
    #[arg(
        long = "as",
        visible_alias = "format",
        value_name = "FORMAT",
        default_value = "csr",
        ignore_case = true
    )]
    pub(crate) format: Format,
    /// The algorithm by name; without it the plan chooses. -v says which runs, and why
    #[arg(long, value_name = "NAME")]
    pub(crate) algorithm: Option<String>,
}

impl ProductOptions {
    /// Checks the options that need no file.
    pub(crate) fn check(&self) -> Result<()> {
        if self.beta != c64::default() && self.y.is_none() {
            return Err(usage("--beta needs --y, what it is the factor of"));
        }
        Ok(())
    }

    /// The file of the added term, if it is to be read.
    pub(crate) fn added(&self) -> Option<&PathBuf> {
        self.y.as_ref().filter(|_| self.beta != c64::default())
    }

    /// Options for one run. A named algorithm may be one that is not reproducible.
    pub(crate) fn plan(&self) -> PlanOptions {
        match &self.algorithm {
            Some(name) => PlanOptions { expected_calls: 1, ..PlanOptions::forced(name).relaxed() },
            None => PlanOptions::once(),
        }
    }
}

/// Fails unless the algorithm of --algorithm, if any, is in the table.
pub(crate) fn check_algorithm(named: Option<&str>, format: &str, table: &[Algorithm]) -> Result<()> {
    match named {
        Some(name) if !table.iter().any(|algorithm| algorithm.name == name) => {
            let names: Vec<&str> = table.iter().map(|algorithm| algorithm.name).collect();
            let names = names.join(", ");
            Err(usage(format_args!("--algorithm {name}: for {format} there are {names}")))
        }
        _ => Ok(()),
    }
}

/// The type to compute in: that of --dtype, or the one that represents the matrix and all operands exactly, except
/// integers that f64 rounds. Reports the rounded integers.
pub(crate) fn dtype<'a>(
    context: &Context,
    matrix: &MatrixFile,
    operands: impl IntoIterator<Item = &'a Operand>,
) -> Result<DType> {
    let operands: Vec<&Operand> = operands.into_iter().collect();
    let dtype = match context.dtype() {
        Some(dtype) => dtype,
        None => DType::common(operands.iter().map(|operand| operand.dtype()).chain([matrix.value_type()?])),
    };
    file::check_rounding(matrix, dtype, context)?;
    operands.iter().try_for_each(|operand| operand.check_rounding(dtype, context))?;
    Ok(dtype)
}

/// Fails unless a factor, rounded to nearest, fits `dtype`.
pub(crate) fn check_factor(option: &str, value: c64, dtype: DType) -> Result<()> {
    if value.im != 0.0 && !dtype.is_complex() {
        return Err(usage(format_args!("{option} {value} is complex, the values are {dtype}")));
    }
    let rounded = with_dtype!(dtype, T => T::from_c64(value).to_c64());
    if value.is_finite() && !rounded.is_finite() {
        let (re, im) = (value.re, value.im);
        let value = if im == 0.0 { format!("{re:?}") } else { format!("{re:?}{im:+?}i") };
        return Err(usage(format_args!("{option} {value} does not fit {dtype}")));
    }
    Ok(())
}

/// Divides the rows of a matrix among devices, and says on stderr who has which, and what they exchange by, if -v was
/// given.
pub(crate) fn distribute(
    a: &Matrix,
    devices: &[Device],
    exchange: ExchangePath,
    context: &Context,
) -> Result<MatrixOnDevices> {
    let a = match a.members() {
        Some(_) => a.to_block_diagonal()?.distribute_by(devices, exchange)?,
        None => a.distribute_by(devices, exchange)?,
    };
    context.detail(format_args!("exchange: {}", a.exchange()));
    for (device, rows) in a.devices().iter().zip(a.rows()) {
        context.detail(format_args!("rows {rows:?}: {device}"));
    }
    Ok(a)
}

/// Divides the rows of the matrix at `path` among ranks, each with its `device`, and says on stderr who has read and
/// has what if -v was given. The root has opened the file, and says the type of the values. A collective call, with the
/// parts of all ranks at the root.
pub(crate) fn read_on_ranks(
    ranks: &Ranks,
    transport: &Arc<dyn SharedTransport>,
    (device, exchange): (&Device, ExchangePath),
    (path, opened): (&Path, Option<(MatrixFile, DType)>),
    context: &Context,
) -> Result<(MatrixOnRanks, Vec<RankRows>)> {
    let described = opened.as_ref().map(|(file, dtype)| {
        file::check_rows(file)?;
        Ok((dtype.name().to_owned(), check_by_rows(path).err()))
    });
    let (dtype, reason) = ranks.broadcast(ranks.agree(described.transpose())?.unwrap_or_default())?;
    let a = match &reason {
        None => {
            let dtype = dtype.parse()?;
            MatrixOnRanks::read_by(transport.clone(), device, path, dtype, exchange)
        }
        Some(_) => {
            // The file that is open: it may be a pipe, or was unpacked already.
            let read =
                |(file, dtype)| -> Result<Matrix> { Ok(Matrix::read_csr(&Context::host()?, &file, dtype)?) };
            let a = ranks.agree(opened.map(read).transpose())?;
            MatrixOnRanks::from_root_by(transport.clone(), device, a.as_ref(), exchange)
        }
    };
    let a = a.map_err(|error| ranks.told(error.into()))?;
    let parts = RankRows::of_all(ranks, &a)?;
    if ranks.is_root() {
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        context.detail(format_args!("reading: {}{reason}", a.reading()));
        context.detail(format_args!("exchange: {}", a.exchange()));
    }
    parts.iter().for_each(|part| context.detail(part));
    Ok((a, parts))
}

/// Fails if a file cannot be read by rows.
fn check_by_rows(path: &Path) -> Result<(), String> {
    match file::is_standard(path) {
        true => Err("standard input is read once".into()),
        false => {
            let is_text = FileKind::of(path).is_ok_and(|kind| kind == FileKind::MatrixMarket);
            let checked = if is_text { check_partitionable(path) } else { RowRanges::open(path).map(drop) };
            checked.map_err(|error| error.to_string())
        }
    }
}

/// Fails unless each rank can take the device of its number.
pub(crate) fn check_ranks_devices(devices: &[NamedDevice]) -> Result<()> {
    if devices.is_empty() {
        return Ok(());
    }
    Err(usage("each rank takes the device of its number: leave out --devices, or start one process"))
}

/// Fails if an exchange path is named but there are no ranks or devices that exchange elements.
pub(crate) fn check_exchange(devices: NamedDevices<'_>) -> Result<()> {
    if devices.exchange == ExchangePath::Auto || !devices.list.is_empty() {
        return Ok(());
    }
    Err(usage("--exchange is for the devices of --devices, or for ranks"))
}

/// Prints a plan's choice to stderr, if -v was given.
pub(crate) fn tell_choice(context: &Context, op: &str, format: &str, choice: &Choice) {
    let Choice { algorithm, reason } = choice;
    context.detail(format_args!("{op}: {format}, {algorithm}: {reason}"));
}

pub(crate) fn parse_factor(text: &str) -> Result<c64, String> {
    let real = text.parse::<f64>().map(|re| c64::new(re, 0.0));
    let value = real.or_else(|_| text.parse::<c64>());
    let value = value.map_err(|_| "neither a number nor a complex number as in 1+2i")?;
    check_infinities(text, [value.re, value.im])?;
    Ok(value)
}

/// Parses a number of at least 0, which may be infinite.
pub(crate) fn parse_not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 => check_infinities(text, [number]).map(|()| number),
        _ => Err("a number that is not negative is needed".into()),
    }
}

/// Fails if a number parsed from `text` is infinite or NaN unless the text says so.
fn check_infinities<const N: usize>(text: &str, values: [f64; N]) -> Result<(), String> {
    let text = text.to_ascii_lowercase();
    let found = |is: fn(f64) -> bool| values.iter().filter(|&&value| is(value)).count();
    if found(f64::is_infinite) > text.matches("inf").count()
        || found(f64::is_nan) > text.matches("nan").count()
    {
        return Err("the number does not fit f64".into());
    }
    Ok(())
}

pub(crate) fn parse_op(name: &str) -> Result<Op, nnz::Error> {
    name.to_ascii_lowercase().parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_real_or_complex() {
        assert_eq!(parse_factor("-2.5e1"), Ok(c64::new(-25.0, 0.0)));
        assert_eq!(parse_factor("1-2i"), Ok(c64::new(1.0, -2.0)));
        assert!(parse_factor("one").is_err());
        assert_eq!(parse_factor("-inf"), Ok(c64::new(f64::NEG_INFINITY, 0.0)));
        assert!(parse_factor("nan").unwrap().re.is_nan());
        for text in ["1e400", "-1e400", "1e400+2i", "2-1e400i", "inf+1e400i"] {
            assert_eq!(parse_factor(text), Err("the number does not fit f64".into()), "{text}");
        }
    }

    #[test]
    fn a_factor_must_fit_the_type() {
        let fits = |value, dtype| check_factor("--alpha", value, dtype).is_ok();
        assert!(fits(c64::new(0.5, 0.0), DType::F32) && fits(c64::new(0.0, 1.0), DType::C32));
        assert!(!fits(c64::new(1e300, 0.0), DType::F32) && !fits(c64::new(0.0, 1.0), DType::F64));
    }
}
