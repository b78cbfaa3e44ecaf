//! `cargo xtask algorithms`: the algorithm tables of `docs/algorithms.md`, written from the tables that plans choose
//! from.

use crate::null_driver::NullDriver;
use anyhow::{Context, Result, bail};
use backend_cpu::Cpu;
use sparse_core::op::{
    ConvertKernel, DenseToCsrKernel, Op, PruneKernel, RowStatisticsKernel, ScanKernel, ScanOrder, SortKernel,
    SpmmKernel, SpmvKernel, ToDenseKernel,
};
use sparse_core::{Algorithm, BatchCsr, Coo, Csc, Csr, Ell, Host, Hyb, Sell};
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
    let path = crate::ci::root().join("docs/algorithms.md");
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

type Table = (&'static str, &'static [Algorithm]);

/// The tables of one backend for each operation; its matrices live in a space.
macro_rules! operations {
    ($backend:expr, $space:ty) => {{
        let backend = $backend;
        let spmv = |op: Op| -> Vec<Table> {
            vec![
                ("csr", SpmvKernel::<Csr<f64, $space>>::spmv_algorithms(backend, op)),
                ("csc", SpmvKernel::<Csc<f64, $space>>::spmv_algorithms(backend, op)),
                ("batch_csr", SpmvKernel::<BatchCsr<f64, $space>>::spmv_algorithms(backend, op)),
                ("coo", SpmvKernel::<Coo<f64, $space>>::spmv_algorithms(backend, op)),
                ("ell", SpmvKernel::<Ell<f64, $space>>::spmv_algorithms(backend, op)),
                ("hyb", SpmvKernel::<Hyb<f64, $space>>::spmv_algorithms(backend, op)),
                ("sell", SpmvKernel::<Sell<f64, $space>>::spmv_algorithms(backend, op)),
            ]
        };
        let spmm = |op: Op| -> Vec<Table> {
            vec![
                ("csr", SpmmKernel::<Csr<f64, $space>>::spmm_algorithms(backend, op)),
                ("csc", SpmmKernel::<Csc<f64, $space>>::spmm_algorithms(backend, op)),
                ("coo", SpmmKernel::<Coo<f64, $space>>::spmm_algorithms(backend, op)),
                ("ell", SpmmKernel::<Ell<f64, $space>>::spmm_algorithms(backend, op)),
                ("hyb", SpmmKernel::<Hyb<f64, $space>>::spmm_algorithms(backend, op)),
                ("sell", SpmmKernel::<Sell<f64, $space>>::spmm_algorithms(backend, op)),
            ]
        };
        macro_rules! convert {
            ($from:ident, $to:ident) => {
                ConvertKernel::<$from<f64, $space>, $to<f64, $space>>::convert_algorithms(backend)
            };
        }
        let dense: Vec<Table> =
            vec![("dense", DenseToCsrKernel::<f64, i32, i32>::dense_to_csr_algorithms(backend))];
        let conversions: Vec<Table> = vec![
            ("coo → csr", convert!(Coo, Csr)),
            ("coo → csc", convert!(Coo, Csc)),
            ("csr → coo", convert!(Csr, Coo)),
            ("csr → csc", convert!(Csr, Csc)),
            ("csc → csr", convert!(Csc, Csr)),
            ("csr → ell", convert!(Csr, Ell)),
            ("csr → hyb", convert!(Csr, Hyb)),
            ("csr → sell", convert!(Csr, Sell)),
            ("ell → csr", convert!(Ell, Csr)),
            ("hyb → csr", convert!(Hyb, Csr)),
            ("sell → csr", convert!(Sell, Csr)),
        ];
        let others: Vec<Table> = vec![
            ("to dense", ToDenseKernel::<Csr<f64, $space>>::to_dense_algorithms(backend)),
            ("sort", SortKernel::<Csr<f64, $space>>::sort_algorithms(backend)),
            ("prune", PruneKernel::<Csr<f64, $space>>::prune_algorithms(backend)),
            ("row statistics", RowStatisticsKernel::<Csr<f64, $space>>::row_statistics_algorithms(backend)),
        ];
        let scans: Vec<Table> = vec![
            ("tps", ScanKernel::<i32>::scan_algorithms(backend, ScanOrder::Flat)),
            ("hps", ScanKernel::<i32>::scan_algorithms(backend, ScanOrder::RowMajor)),
            ("vps", ScanKernel::<i32>::scan_algorithms(backend, ScanOrder::ColumnMajor)),
        ];
        [
            spmv(Op::None),
            spmv(Op::Transpose),
            spmm(Op::None),
            spmm(Op::Transpose),
            dense,
            conversions,
            others,
            scans,
        ]
    }};
}

const OPERATIONS: [&str; 8] = [
    "SpMV, A",
    "SpMV, Aᵀ and Aᴴ",
    "SpMM, A",
    "SpMM, Aᵀ and Aᴴ",
    "Dense → CSR, CSC, COO",
    "Conversions",
    "To dense, sort, prune, row statistics",
    "Scans",
];

/// A table of one operation: the backends and the formats that have it.
struct Row {
    backends: String,
    formats: String,
    table: &'static [Algorithm],
}

/// The tables of all backends; formats with equal tables share one, and so do backends.
fn tables() -> Result<String> {
    let opencl = Device::from_driver(Box::new(NullDriver::new("opencl", kernels_cl::FILES, 1)))?;
    let sycl = Device::from_driver(Box::new(NullDriver::new("sycl", kernels_cl::SYCL_FILES, 1)))?;
    let cuda = Device::from_driver(Box::new(NullDriver::new("cuda", kernels_cu::FILES, 8)))?;
    let backends = [
        ("cpu", operations!(&Cpu::new()?, Host)),
        ("opencl", operations!(&opencl, Device)),
        ("sycl", operations!(&sycl, Device)),
        ("cuda", operations!(&cuda, Device)),
    ];
    let mut page = String::new();
    for (position, operation) in OPERATIONS.iter().enumerate() {
        write!(
            page,
            "\n### {operation}\n\n| backend | format | algorithm | reproducible | preprocessing | when chosen |\n"
        )?;
        writeln!(page, "|---|---|---|---|---|---|")?;
        let mut rows = vec![];
        for (backend, operations) in &backends {
            add(&mut rows, backend, merged(&operations[position]));
        }
        rows.iter().try_for_each(|row| write_rows(&mut page, row))?;
    }
    page.push('\n');
    Ok(page)
}

/// Adds the tables of a backend, to the rows of another one where they are equal.
fn add(rows: &mut Vec<Row>, backend: &str, tables: Vec<(String, &'static [Algorithm])>) {
    for (formats, table) in tables {
        match rows.iter_mut().find(|row| row.formats == formats && row.table == table) {
            Some(row) => row.backends = format!("{}, {backend}", row.backends),
            None => rows.push(Row { backends: backend.into(), formats, table }),
        }
    }
}

fn write_rows(page: &mut String, Row { backends, formats, table }: &Row) -> Result<()> {
    for a in *table {
        let reproducible = if a.reproducible { "yes" } else { "no" };
        writeln!(
            page,
            "| {backends} | {formats} | `{}` | {reproducible} | {} | {} |",
            a.name, a.preprocessing, a.chosen
        )?;
    }
    Ok(())
}

fn merged(tables: &[Table]) -> Vec<(String, &'static [Algorithm])> {
    let mut merged: Vec<(String, &'static [Algorithm])> = vec![];
    for &(format, table) in tables {
        match merged.iter_mut().find(|(_, known)| *known == table) {
            Some((formats, _)) => *formats = format!("{formats}, {format}"),
            None => merged.push((format.to_string(), table)),
        }
    }
    merged
}
