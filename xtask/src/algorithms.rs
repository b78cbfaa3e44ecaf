//! `cargo xtask algorithms`: the algorithm tables of `docs/algorithms.md`, written from the tables that plans choose
//! from.

use anyhow::{Context, Result, bail};
use backend_cpu::Cpu;
use sparse_core::op::{
    ConvertKernel, DenseToCsrKernel, Op, PruneKernel, RowStatisticsKernel, ScanKernel, ScanOrder, SortKernel,
    SpmmKernel, SpmvKernel, ToDenseKernel,
};
use sparse_core::{Algorithm, BatchCsr, Coo, Csc, Csr, Ell, Hyb, Sell};
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
    let wanted = format!("{before}{BEGIN}{}{END}{after}", tables(&Cpu::new()?)?);
    if args.check {
        if wanted != page {
            bail!("docs/algorithms.md is behind the code: run `cargo xtask algorithms`");
        }
        return Ok(());
    }
    Ok(std::fs::write(&path, wanted)?)
}

type Table = (&'static str, &'static [Algorithm]);

/// The tables of one backend; formats with equal tables share one.
fn tables(cpu: &Cpu) -> Result<String> {
    let operations: [(&str, Vec<Table>); 8] = [
        ("SpMV, A", spmv(cpu, Op::None)),
        ("SpMV, Aᵀ and Aᴴ", spmv(cpu, Op::Transpose)),
        ("SpMM, A", spmm(cpu, Op::None)),
        ("SpMM, Aᵀ and Aᴴ", spmm(cpu, Op::Transpose)),
        (
            "Dense → CSR, CSC, COO",
            vec![("dense", DenseToCsrKernel::<f64, i32, i32>::dense_to_csr_algorithms(cpu))],
        ),
        ("Conversions", conversions(cpu)),
        ("To dense, sort, prune, row statistics", others(cpu)),
        ("Scans", scans(cpu)),
    ];
    let mut page = String::new();
    for (operation, tables) in operations {
        write!(
            page,
            "\n### {operation}\n\n| format | algorithm | reproducible | preprocessing | when chosen |\n"
        )?;
        writeln!(page, "|---|---|---|---|---|")?;
        for (formats, table) in merged(tables) {
            for a in table {
                let reproducible = if a.reproducible { "yes" } else { "no" };
                writeln!(
                    page,
                    "| {formats} | `{}` | {reproducible} | {} | {} |",
                    a.name, a.preprocessing, a.chosen
                )?;
            }
        }
    }
    page.push('\n');
    Ok(page)
}

fn merged(tables: Vec<Table>) -> Vec<(String, &'static [Algorithm])> {
    let mut merged: Vec<(String, &'static [Algorithm])> = vec![];
    for (format, table) in tables {
        match merged.iter_mut().find(|(_, known)| *known == table) {
            Some((formats, _)) => *formats = format!("{formats}, {format}"),
            None => merged.push((format.to_string(), table)),
        }
    }
    merged
}

fn spmv(cpu: &Cpu, op: Op) -> Vec<Table> {
    vec![
        ("csr", SpmvKernel::<Csr<f64>>::spmv_algorithms(cpu, op)),
        ("csc", SpmvKernel::<Csc<f64>>::spmv_algorithms(cpu, op)),
        ("batch_csr", SpmvKernel::<BatchCsr<f64>>::spmv_algorithms(cpu, op)),
        ("coo", SpmvKernel::<Coo<f64>>::spmv_algorithms(cpu, op)),
        ("ell", SpmvKernel::<Ell<f64>>::spmv_algorithms(cpu, op)),
        ("hyb", SpmvKernel::<Hyb<f64>>::spmv_algorithms(cpu, op)),
        ("sell", SpmvKernel::<Sell<f64>>::spmv_algorithms(cpu, op)),
    ]
}

fn spmm(cpu: &Cpu, op: Op) -> Vec<Table> {
    vec![
        ("csr", SpmmKernel::<Csr<f64>>::spmm_algorithms(cpu, op)),
        ("csc", SpmmKernel::<Csc<f64>>::spmm_algorithms(cpu, op)),
        ("coo", SpmmKernel::<Coo<f64>>::spmm_algorithms(cpu, op)),
        ("ell", SpmmKernel::<Ell<f64>>::spmm_algorithms(cpu, op)),
        ("hyb", SpmmKernel::<Hyb<f64>>::spmm_algorithms(cpu, op)),
        ("sell", SpmmKernel::<Sell<f64>>::spmm_algorithms(cpu, op)),
    ]
}

fn conversions(cpu: &Cpu) -> Vec<Table> {
    vec![
        ("coo → csr", ConvertKernel::<Coo<f64>, Csr<f64>>::convert_algorithms(cpu)),
        ("coo → csc", ConvertKernel::<Coo<f64>, Csc<f64>>::convert_algorithms(cpu)),
        ("csr → coo", ConvertKernel::<Csr<f64>, Coo<f64>>::convert_algorithms(cpu)),
        ("csr → csc", ConvertKernel::<Csr<f64>, Csc<f64>>::convert_algorithms(cpu)),
        ("csc → csr", ConvertKernel::<Csc<f64>, Csr<f64>>::convert_algorithms(cpu)),
        ("csr → ell", ConvertKernel::<Csr<f64>, Ell<f64>>::convert_algorithms(cpu)),
        ("csr → hyb", ConvertKernel::<Csr<f64>, Hyb<f64>>::convert_algorithms(cpu)),
        ("csr → sell", ConvertKernel::<Csr<f64>, Sell<f64>>::convert_algorithms(cpu)),
        ("ell → csr", ConvertKernel::<Ell<f64>, Csr<f64>>::convert_algorithms(cpu)),
        ("hyb → csr", ConvertKernel::<Hyb<f64>, Csr<f64>>::convert_algorithms(cpu)),
        ("sell → csr", ConvertKernel::<Sell<f64>, Csr<f64>>::convert_algorithms(cpu)),
    ]
}

fn others(cpu: &Cpu) -> Vec<Table> {
    vec![
        ("to dense", ToDenseKernel::<Csr<f64>>::to_dense_algorithms(cpu)),
        ("sort", SortKernel::<Csr<f64>>::sort_algorithms(cpu)),
        ("prune", PruneKernel::<Csr<f64>>::prune_algorithms(cpu)),
        ("row statistics", RowStatisticsKernel::<Csr<f64>>::row_statistics_algorithms(cpu)),
    ]
}

fn scans(cpu: &Cpu) -> Vec<Table> {
    vec![
        ("tps", ScanKernel::<i32>::scan_algorithms(cpu, ScanOrder::Tps)),
        ("hps", ScanKernel::<i32>::scan_algorithms(cpu, ScanOrder::Hps)),
        ("vps", ScanKernel::<i32>::scan_algorithms(cpu, ScanOrder::Vps)),
    ]
}
