//! `cargo xtask kernels cuda`: compiles the CUDA kernels by NVRTC for every architecture, without a GPU, and compares
//! their resources with a snapshot, so that a kernel that begins to spill is seen.

use super::nvrtc::Nvrtc;
use anyhow::{Context, Result, bail};
use kernels_cu::File;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// The compute capabilities that kernels are compiled for.
const ARCHITECTURES: [&str; 4] = ["75", "80", "90", "100"];

/// The values of macros in the snapshot; of other macros, all.
const MAIN: &[(&str, &[&str])] = &[
    ("SCALAR", &["F32", "F64"]),
    ("IDX", &["int"]),
    ("OFF", &["int"]),
    ("CONJ", &["0"]),
    ("BLOCK", &["256"]),
];

/// Compiles the CUDA kernels for every architecture and rewrites kernels-cu/resources.txt: registers, bytes of
/// shared memory and spilled bytes of each kernel.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Fail if the resources are not what the file says, and write nothing.
    #[arg(long)]
    check: bool,
    /// Only compile, but under every set of defines, the files whose names contain this.
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    every_variant: Option<String>,
    /// The same for the device that NNZ_CUDA_DEVICE names, or the first, into its cache (NNZ_CUDA_CACHE).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "every_variant"])]
    on_device: Option<String>,
}

type Variant = Vec<(&'static str, &'static str)>;

/// The resources of a kernel on one architecture.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Resources {
    registers: usize,
    shared: usize,
    spilled: usize,
}

impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.registers, self.shared, self.spilled)
    }
}

/// The kernels and their macros, with their resources on the architectures.
type Table = BTreeMap<String, Vec<Resources>>;

pub(super) fn run(args: &Args) -> Result<()> {
    if let Some(part) = &args.on_device {
        return super::device::compile(&backend_cuda::CUDA.open_preferred()?, part);
    }
    let nvrtc = Nvrtc::load()?;
    if let Some(part) = &args.every_variant {
        return every_variant(&nvrtc, part);
    }
    let page = page(&table(&nvrtc, &jobs(|_| true, is_main))?);
    let path = path();
    if !args.check {
        return Ok(std::fs::write(path, page)?);
    }
    let pinned = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let changes = changes(&pinned, &page);
    if !changes.is_empty() {
        changes.iter().for_each(|change| println!("{change}"));
        bail!(
            "kernels use other resources than {} says: see why, then run `cargo xtask kernels cuda`",
            path.display()
        );
    }
    Ok(())
}

fn path() -> PathBuf {
    crate::ci::root().join("kernels-cu/resources.txt")
}

/// Files, each with a set of defines.
fn jobs(is_wanted: impl Fn(&File) -> bool, is_kept: fn(&Variant) -> bool) -> Vec<(&'static File, Variant)> {
    let files = kernels_cu::FILES.iter().filter(|file| is_wanted(file));
    files.flat_map(|file| file.variants().into_iter().filter(is_kept).map(move |v| (file, v))).collect()
}

fn is_main(variant: &Variant) -> bool {
    let is_main = |(name, value): &(&str, &str)| {
        MAIN.iter().all(|(macro_name, values)| macro_name != name || values.contains(value))
    };
    variant.iter().all(is_main)
}

fn every_variant(nvrtc: &Nvrtc, part: &str) -> Result<()> {
    let jobs = jobs(|file| file.name.contains(part), |_| true);
    table(nvrtc, &jobs)?;
    println!("{} variants compile for {} architectures", jobs.len(), ARCHITECTURES.len());
    Ok(())
}

/// Compiles for all architectures, each in a thread of its own.
fn table(nvrtc: &Nvrtc, jobs: &[(&'static File, Variant)]) -> Result<Table> {
    let mut table = Table::new();
    let columns = std::thread::scope(|scope| {
        let column = |architecture| move || column(nvrtc, jobs, architecture);
        let threads = ARCHITECTURES.map(|architecture| scope.spawn(column(architecture)));
        threads.map(|thread| thread.join().unwrap_or_else(|_| bail!("a thread panicked")))
    });
    for column in columns {
        for (kernel, resources) in column? {
            table.entry(kernel).or_default().push(resources);
        }
    }
    Ok(table)
}

/// The resources of every kernel on one architecture.
fn column(
    nvrtc: &Nvrtc,
    jobs: &[(&'static File, Variant)],
    architecture: &str,
) -> Result<Vec<(String, Resources)>> {
    let mut column = vec![];
    for (file, variant) in jobs {
        let mut options =
            vec![format!("--gpu-architecture=sm_{architecture}"), "--ptxas-options=-v".to_string()];
        options.extend(variant.iter().map(|(name, value)| format!("--define-macro={name}={value}")));
        let log = nvrtc
            .compile(file.name, &file.source(), &options)
            .with_context(|| format!("{} with {}", file.name, options.join(" ")))?;
        let values: Vec<_> = variant.iter().map(|define| define.1).collect();
        let found = resources(&log);
        for entry in file.entries {
            let used = found.get(*entry).with_context(|| format!("the log does not name {entry}:\n{log}"))?;
            column.push((format!("{entry} {}", values.join(" ")), used.clone()));
        }
    }
    Ok(column)
}

/// The resources of each kernel that the assembler's log names.
fn resources(log: &str) -> BTreeMap<&str, Resources> {
    let mut kernels = BTreeMap::new();
    let mut kernel = "";
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernel = rest.split('\'').next().unwrap_or_default();
            continue;
        }
        let used: &mut Resources = kernels.entry(kernel).or_default();
        used.registers += number_before(line, " registers");
        used.shared += number_before(line, " bytes smem");
        used.spilled +=
            number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
    }
    kernels
}

/// The number before `unit`, or 0.
fn number_before(line: &str, unit: &str) -> usize {
    let number = line.split_once(unit).and_then(|(before, _)| before.rsplit(' ').next());
    number.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn page(table: &Table) -> String {
    let architectures = ARCHITECTURES.map(|architecture| format!("sm_{architecture}")).join(" ");
    let mut page = format!(
        "# Registers / bytes of shared memory / spilled bytes on {architectures}, of each kernel with the values of its\n\
         # macros in the order of the table in kernels-core. Written by `cargo xtask kernels cuda`.\n"
    );
    for (kernel, resources) in table {
        let cells: Vec<_> = resources.iter().map(ToString::to_string).collect();
        page += &format!("{kernel}: {}\n", cells.join(" "));
    }
    page
}

/// The lines of two pages that differ, with a sign for the page that has them.
fn changes(pinned: &str, page: &str) -> Vec<String> {
    let only = |a: &str, b: &str, sign| {
        let b: Vec<_> = b.lines().collect();
        a.lines().filter(|line| !b.contains(line)).map(|line| format!("{sign} {line}")).collect::<Vec<_>>()
    };
    [only(pinned, page, '-'), only(page, pinned, '+')].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_the_assembler_is_read() {
        let log = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'f' for 'sm_90'\n\
            ptxas info    : Function properties for f\n\
            ptxas         .     8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n\
            ptxas info    : Used 40 registers, used 1 barriers, 8 bytes cumulative stack size, 1024 bytes smem\n\
            ptxas info    : Compiling entry function 'g' for 'sm_90'\n\
            ptxas info    : Used 16 registers, used 0 barriers, 440 bytes cmem[0]\n";
        let found = resources(log);
        assert_eq!(found["f"], Resources { registers: 40, shared: 1024, spilled: 16 });
        assert_eq!(found["g"], Resources { registers: 16, shared: 0, spilled: 0 });
    }

    #[test]
    fn changes_name_both_sides() {
        assert_eq!(changes("a: 1\nb: 2\n", "a: 1\nb: 3\n"), ["- b: 2", "+ b: 3"]);
        assert!(changes("a: 1\n", "a: 1\n").is_empty());
    }
}
