//! `cargo xtask algorithms`: writes `docs/algorithm-tables.md` from the tables that plans choose from, of all
//! operations that backends register in the conformance table.

use anyhow::{Context, Result, bail};
use backend_cpu::Cpu;
use sparse_conformance::{Case, Key, Problem, Setting, Suite, Triplets};
use sparse_core::catalog::Operation;
use sparse_core::op::ScanOrder;
use sparse_core::{Algorithm, DType, c64};
use sparse_device::Device;
use std::fmt::Write;

/// The page, and the marks around its tables.
const PAGE: &str = "docs/algorithm-tables.md";
const BEGIN: &str = "<!-- begin: cargo xtask algorithms -->\n";
const END: &str = "<!-- end -->\n";

/// Rewrites docs/algorithm-tables.md.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Fail if the tables are not what they should be, and write nothing.
    #[arg(long)]
    check: bool,
}

/// Rewrites or checks the tables.
pub(crate) fn run(args: &Args) -> Result<()> {
    let path = provision::root().join(PAGE);
    let page = std::fs::read_to_string(&path)?;
    let (before, rest) = page.split_once(BEGIN).with_context(|| format!("{PAGE} has no begin mark"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("{PAGE} has no end mark"))?;
    let wanted = format!("{before}{BEGIN}{}{END}{after}", tables()?);
    if args.check {
        if wanted != page {
            bail!("{PAGE} is behind the code: run `cargo xtask algorithms`");
        }
        return Ok(());
    }
    Ok(std::fs::write(&path, wanted)?)
}

/// An algorithm that a backend offers for one operand.
struct Offer {
    /// The operation in words.
    heading: &'static str,
    backend: &'static str,
    operand: Operand,
    algorithm: &'static Algorithm,
}

/// The format of the operand, the two of a conversion, or the order of a scan.
#[derive(Clone, PartialEq)]
struct Operand {
    format: String,
    is_transposed: bool,
}

/// A row of a table: an algorithm, and the operands for which each backend offers it.
struct Row {
    algorithm: &'static Algorithm,
    operands: Vec<(&'static str, Vec<Operand>)>,
}

/// The tables of all operations, in the order of the catalogue.
fn tables() -> Result<String> {
    let opencl = Device::without_hardware("opencl", kernels_cl::FILES, 1)?;
    let sycl = Device::without_hardware("sycl", kernels_cl::SYCL_FILES, 1)?;
    let cuda = Device::without_hardware("cuda", kernels_cu::FILES, 8)?;
    let mut offers = offers_of("cpu", &Suite::full(&Cpu::new()?))?;
    offers.extend(offers_of("opencl", &Suite::full(&opencl))?);
    offers.extend(offers_of("sycl", &Suite::full(&sycl))?);
    offers.extend(offers_of("cuda", &Suite::full(&cuda))?);

    let mut headings: Vec<&str> = vec![];
    for Offer { heading, .. } in &offers {
        if !headings.contains(heading) {
            headings.push(heading);
        }
    }
    let mut page = String::new();
    for heading in headings {
        write!(page, "\n## {heading}\n\n| algorithm | backend | format | preprocessing | when chosen |\n")?;
        writeln!(page, "|---|---|---|---|---|")?;
        let (cpu, devices): (Vec<_>, Vec<_>) =
            offers.iter().filter(|offer| offer.heading == heading).partition(|offer| offer.backend == "cpu");
        rows(&cpu).iter().chain(&rows(&devices)).try_for_each(|row| write_row(&mut page, row))?;
    }
    page.push('\n');
    Ok(page)
}

/// The algorithms of a backend for each operation, format and op(A); vector operations have none.
fn offers_of(backend: &'static str, suite: &Suite) -> Result<Vec<Offer>> {
    let case = Case::new("one entry", || Ok(Triplets::new(1, 1, vec![(0, 0, c64::ONE)])));
    let problem = Problem::new(&case, &case.matrix()?, DType::F64, false).context("1 is no value of f64")?;
    let mut offers = vec![];
    for subject in suite.subjects() {
        let key = subject.key();
        let heading = match key.op.parse() {
            Ok(Operation::Vector) | Err(_) => continue,
            Ok(operation) => operation.title(),
        };
        for setting in subject.check().settings(key, &problem) {
            let operand = Operand::new(key, &setting);
            let algorithms =
                subject.algorithms(&setting).iter().filter(|algorithm| !is_reference(backend, algorithm));
            offers.extend(algorithms.map(|algorithm| Offer {
                heading,
                backend,
                operand: operand.clone(),
                algorithm,
            }));
        }
    }
    Ok(offers)
}

/// True for the serial reference, which no plan chooses. A device's `sequential` is an algorithm of its own.
fn is_reference(backend: &str, algorithm: &Algorithm) -> bool {
    backend == "cpu" && algorithm.name == "sequential"
}

impl Operand {
    fn new(key: &Key, setting: &Setting) -> Self {
        let format = match setting {
            Setting::Scan { order: ScanOrder::Flat, .. } => "tps".into(),
            Setting::Scan { order: ScanOrder::RowMajor, .. } => "hps".into(),
            Setting::Scan { order: ScanOrder::ColumnMajor, .. } => "vps".into(),
            _ => key.format.replace("_to_", " → "),
        };
        let is_transposed =
            matches!(setting, Setting::Vector(op) | Setting::Columns(op, _) if op.transposes());
        Self { format, is_transposed }
    }
}

/// A row for each algorithm; one row for backends with the same preprocessing and condition.
fn rows(offers: &[&Offer]) -> Vec<Row> {
    let mut rows: Vec<Row> = vec![];
    for Offer { backend, operand, algorithm, .. } in offers {
        let place = rows.iter().position(|row| row.algorithm == *algorithm).unwrap_or_else(|| {
            rows.push(Row { algorithm, operands: vec![] });
            rows.len() - 1
        });
        let operands = &mut rows[place].operands;
        match operands.iter_mut().find(|(known, _)| known == backend) {
            Some((_, operands)) if operands.contains(operand) => {}
            Some((_, operands)) => operands.push(operand.clone()),
            None => operands.push((backend, vec![operand.clone()])),
        }
    }
    rows
}

/// Writes a row, or several where backends offer the algorithm for different operands.
fn write_row(page: &mut String, Row { algorithm, operands }: &Row) -> Result<()> {
    let mark = if algorithm.reproducible { "" } else { "\\*" };
    let mut merged: Vec<(String, String)> = vec![];
    for (backend, operands) in operands {
        let formats = formats(operands);
        match merged.iter_mut().find(|(_, known)| *known == formats) {
            Some((backends, _)) => *backends = format!("{backends}, {backend}"),
            None => merged.push(((*backend).into(), formats)),
        }
    }
    for (backends, formats) in merged {
        let Algorithm { name, preprocessing, chosen, .. } = algorithm;
        writeln!(page, "| `{name}`{mark} | {backends} | {formats} | {preprocessing} | {chosen} |")?;
    }
    Ok(())
}

/// The formats for A, then those for Aᵀ.
fn formats(operands: &[Operand]) -> String {
    let list = |transposed| {
        let chosen = operands.iter().filter(|operand| operand.is_transposed == transposed);
        chosen.map(|operand| operand.format.as_str()).collect::<Vec<_>>().join(", ")
    };
    match (list(false), list(true)) {
        (plain, transposed) if transposed.is_empty() => plain,
        (plain, transposed) if plain == transposed => format!("{plain}; Aᵀ: the same"),
        (plain, transposed) if plain.is_empty() => format!("Aᵀ: {transposed}"),
        (plain, transposed) => format!("{plain}; Aᵀ: {transposed}"),
    }
}
