//! `cargo xtask algorithms`: the algorithm tables of `docs/algorithms.md`, written from the tables that plans choose
//! from, of all that backends register in the conformance table.

use anyhow::{Context, Result, bail};
use backend_cpu::Cpu;
use sparse_conformance::{Case, Key, Problem, Setting, Suite, Triplets};
use sparse_core::catalog::Operation;
use sparse_core::op::ScanOrder;
use sparse_core::{Algorithm, DType, c64};
use sparse_device::Device;
use std::fmt::Write;

const BEGIN: &str = "<!-- begin: cargo xtask algorithms -->\n";
const END: &str = "<!-- end -->\n";

/// Rewrites the tables of docs/algorithms.md.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Fail if the tables are not what they should be, and write nothing.
    #[arg(long)]
    check: bool,
}

/// Rewrites or checks the tables.
pub(crate) fn run(args: &Args) -> Result<()> {
    let path = provision::root().join("docs/algorithms.md");
    let page = std::fs::read_to_string(&path)?;
    let (before, rest) = page.split_once(BEGIN).context("docs/algorithms.md has no begin mark")?;
    let (_, after) = rest.split_once(END).context("docs/algorithms.md has no end mark")?;
    let wanted = format!("{before}{BEGIN}{}{END}{after}", tables()?);
    if args.check {
        if wanted != page {
            bail!("docs/algorithms.md is behind the code: run `cargo xtask algorithms`");
        }
        return Ok(());
    }
    Ok(std::fs::write(&path, wanted)?)
}

/// The algorithms of an operation in one format.
#[derive(PartialEq)]
struct Table {
    heading: String,
    format: String,
    algorithms: &'static [Algorithm],
}

/// A table of one operation: the backends and the formats that have it.
struct Row {
    backends: String,
    formats: String,
    algorithms: &'static [Algorithm],
}

/// The tables of all backends; formats with equal tables share one, and so do backends.
fn tables() -> Result<String> {
    let opencl = Device::without_hardware("opencl", kernels_cl::FILES, 1)?;
    let sycl = Device::without_hardware("sycl", kernels_cl::SYCL_FILES, 1)?;
    let cuda = Device::without_hardware("cuda", kernels_cu::FILES, 8)?;
    let backends = [
        ("cpu", tables_of(&Suite::full(&Cpu::new()?))?),
        ("opencl", tables_of(&Suite::full(&opencl))?),
        ("sycl", tables_of(&Suite::full(&sycl))?),
        ("cuda", tables_of(&Suite::full(&cuda))?),
    ];
    let mut headings: Vec<&str> = vec![];
    for Table { heading, .. } in backends.iter().flat_map(|(_, tables)| tables) {
        if !headings.contains(&heading.as_str()) {
            headings.push(heading);
        }
    }
    let mut page = String::new();
    for heading in headings {
        write!(
            page,
            "\n### {heading}\n\n| backend | format | algorithm | reproducible | preprocessing | when chosen |\n"
        )?;
        writeln!(page, "|---|---|---|---|---|---|")?;
        let mut rows = vec![];
        for (backend, tables) in &backends {
            add(&mut rows, backend, merged(tables.iter().filter(|table| table.heading == heading)));
        }
        rows.iter().try_for_each(|row| write_rows(&mut page, row))?;
    }
    page.push('\n');
    Ok(page)
}

/// The tables of what a backend has registered, in the order of the catalogue. Vector operations have none.
fn tables_of(suite: &Suite) -> Result<Vec<Table>> {
    let case = Case::new("one entry", || Ok(Triplets::new(1, 1, vec![(0, 0, c64::ONE)])));
    let problem = Problem::new(&case, &case.matrix()?, DType::F64, false).context("1 is no value of f64")?;
    let mut tables = vec![];
    for subject in suite.subjects() {
        let key = subject.key();
        let operation = match key.op.parse() {
            Ok(Operation::Vector) | Err(_) => continue,
            Ok(operation) => operation,
        };
        for setting in subject.check().settings(key, &problem) {
            let (heading, format) = (heading(operation, &setting), format_of(key, &setting));
            let table = Table { heading, format, algorithms: subject.algorithms(&setting) };
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
    }
    Ok(tables)
}

/// The heading of an operation's tables, which for products depend on op(A).
fn heading(operation: Operation, setting: &Setting) -> String {
    let title = operation.title();
    match setting {
        Setting::Vector(op) | Setting::Columns(op, _) if op.transposes() => format!("{title}, Aᵀ and Aᴴ"),
        Setting::Vector(_) | Setting::Columns(..) => format!("{title}, A"),
        _ => title.into(),
    }
}

/// The format, the two of a conversion, or the order of a scan.
fn format_of(key: &Key, setting: &Setting) -> String {
    match setting {
        Setting::Scan { order: ScanOrder::Flat, .. } => "tps".into(),
        Setting::Scan { order: ScanOrder::RowMajor, .. } => "hps".into(),
        Setting::Scan { order: ScanOrder::ColumnMajor, .. } => "vps".into(),
        _ => key.format.replace("_to_", " → "),
    }
}

/// Adds the tables of a backend, to the rows of another one where they are equal.
fn add(rows: &mut Vec<Row>, backend: &str, tables: Vec<(String, &'static [Algorithm])>) {
    for (formats, algorithms) in tables {
        match rows.iter_mut().find(|row| row.formats == formats && row.algorithms == algorithms) {
            Some(row) => row.backends = format!("{}, {backend}", row.backends),
            None => rows.push(Row { backends: backend.into(), formats, algorithms }),
        }
    }
}

fn write_rows(page: &mut String, Row { backends, formats, algorithms }: &Row) -> Result<()> {
    for a in *algorithms {
        let reproducible = if a.reproducible { "yes" } else { "no" };
        writeln!(
            page,
            "| {backends} | {formats} | `{}` | {reproducible} | {} | {} |",
            a.name, a.preprocessing, a.chosen
        )?;
    }
    Ok(())
}

/// The formats that have each table.
fn merged<'a>(tables: impl Iterator<Item = &'a Table>) -> Vec<(String, &'static [Algorithm])> {
    let mut merged: Vec<(String, &'static [Algorithm])> = vec![];
    for Table { format, algorithms, .. } in tables {
        match merged.iter_mut().find(|(_, known)| known == algorithms) {
            Some((formats, _)) => *formats = format!("{formats}, {format}"),
            None => merged.push((format.clone(), algorithms)),
        }
    }
    merged
}
