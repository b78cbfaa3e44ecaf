//! `cargo xtask kernels cuda`: compiles the CUDA kernels by NVRTC, without a GPU, and keeps a snapshot of what they
//! use, so that a kernel that begins to spill is seen: the main sets of defines on every architecture, and every set
//! that a plan can ask for on one. Only files that changed since the snapshot was written are compiled.

use super::nvrtc::Nvrtc;
use super::snapshot::{Lines, Snapshot, checksum};
use anyhow::{Context, Result, bail};
use kernels_cu::File;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

/// The compute capabilities that kernels are compiled for.
const ARCHITECTURES: [&str; 4] = ["75", "80", "90", "100"];

/// The one that every set of defines is compiled for.
const OF_EVERY_SET: &str = "90";

/// The values of macros in the main sets; of other macros, all.
const MAIN: &[(&str, &[&str])] =
    &[("SCALAR", &["F32", "F64"]), ("IDX", &["int"]), ("OFF", &["int"]), ("CONJ", &["0"])];

/// Compiles the CUDA kernels that changed and rewrites kernels-cu/resources.txt: registers, bytes of shared memory and
/// spilled bytes of each kernel, for the main sets of defines on every architecture and for every set on one.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Fail if the file says something else, and write nothing.
    #[arg(long)]
    check: bool,
    /// Compile files that did not change, too.
    #[arg(long)]
    all: bool,
    /// Only print what the kernels use, of the files whose names contain this: every set of defines, on every
    /// architecture.
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    every_variant: Option<String>,
    /// Only compile, for the device that NNZ_CUDA_DEVICE names, or the first, into its cache (NNZ_CUDA_CACHE).
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

impl Resources {
    /// The larger of each.
    fn max(&self, other: &Self) -> Self {
        Self {
            registers: self.registers.max(other.registers),
            shared: self.shared.max(other.shared),
            spilled: self.spilled.max(other.spilled),
        }
    }
}

/// A compilation: a file with a set of defines for an architecture.
struct Job {
    file: &'static File,
    variant: Variant,
    architecture: &'static str,
}

impl Job {
    /// True if the snapshot has the resources of the job's kernels.
    fn is_pinned(&self) -> bool {
        self.architecture == OF_EVERY_SET || is_main(&self.variant)
    }

    /// The compiler's options.
    fn options(&self) -> Vec<String> {
        let defines = self.variant.iter().map(|(name, value)| format!("--define-macro={name}={value}"));
        let options = [format!("--gpu-architecture=sm_{}", self.architecture), "--ptxas-options=-v".into()];
        options.into_iter().chain(defines).collect()
    }
}

/// The resources of a kernel with a set of defines on an architecture.
struct Used {
    kernel: &'static str,
    /// The values of the defines.
    values: String,
    is_main: bool,
    architecture: &'static str,
    resources: Resources,
}

pub(super) fn run(args: &Args) -> Result<()> {
    if let Some(part) = &args.on_device {
        return super::device::compile(&backend_cuda::CUDA.open_preferred()?, part);
    }
    if let Some(part) = &args.every_variant {
        let used = compile_all(&Nvrtc::load()?, &jobs(|job| job.file.name.contains(part)))?;
        lines_of_sets(&used, |_| true).iter().for_each(|(set, resources)| println!("{set}: {resources}"));
        return Ok(());
    }
    let path = path();
    let pinned = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let page = page(&renewed(&Snapshot::read(&pinned), args)?);
    if !args.check {
        return Ok(std::fs::write(path, page)?);
    }
    let changes = changes(&pinned, &page);
    if !changes.is_empty() {
        changes.iter().for_each(|change| println!("{change}"));
        bail!(
            "kernels changed, or use other resources than {} says: see why (`--every-variant FILE` prints every set of \
             defines), then run `cargo xtask kernels cuda`",
            path.display()
        );
    }
    Ok(())
}

/// The snapshot after compiling the files that changed. A check always compiles the first file, which proves that the
/// compiler works and its log is parsed.
fn renewed(pinned: &Snapshot, args: &Args) -> Result<Snapshot> {
    let is_first = |file: &File| file.name == kernels_cu::FILES[0].name;
    let is_wanted =
        |file: &&File| args.all || (args.check && is_first(file)) || !pinned.knows(file, &compilations(file));
    let (changed, same): (Vec<&File>, Vec<&File>) = kernels_cu::FILES.iter().partition(is_wanted);
    let mut snapshot = Snapshot::default();
    if !changed.is_empty() {
        let is_changed = |file: &File| changed.iter().any(|changed| changed.name == file.name);
        let used = compile_all(&Nvrtc::load()?, &jobs(|job| job.is_pinned() && is_changed(job.file)))?;
        snapshot.sets = lines_of_sets(&used, |used| used.is_main);
        snapshot.kernels = lines_of_kernels(&used);
    }
    same.iter().for_each(|file| snapshot.take(pinned, file));
    kernels_cu::FILES.iter().for_each(|file| snapshot.record(file, &compilations(file)));
    Ok(snapshot)
}

/// Everything that determines the resources of a file's kernels: the compiler, the source and the options of each
/// compilation.
fn compilations(file: &File) -> String {
    let options = jobs(|job| job.is_pinned() && job.file.name == file.name);
    let options: String = options.iter().map(|job| job.options().join(" ") + "\n").collect();
    format!("NVRTC {}\n{options}{}", super::nvrtc::VERSION, file.source())
}

fn path() -> PathBuf {
    provision::root().join("kernels-cu/resources.txt")
}

/// The wanted ones of all compilations.
fn jobs(is_wanted: impl Fn(&Job) -> bool) -> Vec<Job> {
    let on_all = |(file, variant): (&'static File, Variant)| {
        ARCHITECTURES.map(|architecture| Job { file, variant: variant.clone(), architecture })
    };
    kernels_cu::programs().flat_map(on_all).filter(is_wanted).collect()
}

fn is_main(variant: &Variant) -> bool {
    let is_main = |(name, value): &(&str, &str)| {
        MAIN.iter().all(|(macro_name, values)| macro_name != name || values.contains(value))
    };
    variant.iter().all(is_main)
}

/// Compiles all jobs, on a thread for each core; returns the resources of the kernels in the order of the jobs.
fn compile_all(nvrtc: &Nvrtc, jobs: &[Job]) -> Result<Vec<Used>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<_>> {
        let mut done = vec![];
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(number) else { return Ok(done) };
            let used = compile(nvrtc, job);
            done.push((number, used.inspect_err(|_| next.store(jobs.len(), Ordering::Relaxed))?));
        }
    };
    let threads = available_parallelism().map_or(1, usize::from);
    let parts: Result<Vec<_>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| bail!("a thread panicked"))
        };
        threads.into_iter().map(join).collect()
    });
    let mut done: Vec<_> = parts?.into_iter().flatten().collect();
    done.sort_by_key(|(number, _)| *number);
    Ok(done.into_iter().flat_map(|(_, used)| used).collect())
}

/// The resources of the kernels of a file.
fn compile(nvrtc: &Nvrtc, job: &Job) -> Result<Vec<Used>> {
    let Job { file, variant, architecture } = job;
    let options = job.options();
    let log = nvrtc
        .compile(file.name, &file.source(), &options)
        .with_context(|| format!("{} with {}", file.name, options.join(" ")))?;
    let values: Vec<_> = variant.iter().map(|define| define.1).collect();
    let found = resources(&log);
    let used = |kernel: &&'static str| {
        let resources =
            found.get(*kernel).with_context(|| format!("the log does not name {kernel}:\n{log}"))?;
        Ok(Used {
            kernel,
            values: values.join(" "),
            is_main: is_main(variant),
            architecture,
            resources: resources.clone(),
        })
    };
    file.entries.iter().map(used).collect()
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

/// The page of a snapshot.
fn page(snapshot: &Snapshot) -> String {
    let architectures = ARCHITECTURES.map(|architecture| format!("sm_{architecture}")).join(" ");
    let sets = format!(
        "# Registers / bytes of shared memory / spilled bytes on {architectures}, of each kernel with the values of its\n\
         # macros in the order of the table in kernels-core. Written by `cargo xtask kernels cuda`."
    );
    let kernels = format!(
        "# The largest of each on sm_{OF_EVERY_SET} over every set of defines that a plan can ask for, and a checksum of \
         all:\n# `cargo xtask kernels cuda --every-variant FILE` prints them."
    );
    let files = "# A checksum of each file: its source, the compiler's version and options, and its lines above. Files whose\n\
                 # checksum is right are compiled with `--all` alone.";
    snapshot.page([&sets, &kernels, files])
}

/// A line for each kernel and set of defines: its resources on each architecture.
fn lines_of_sets(used: &[Used], is_wanted: fn(&Used) -> bool) -> Lines {
    let mut lines = Lines::new();
    for Used { kernel, values, resources, .. } in used.iter().filter(|used| is_wanted(used)) {
        let line = lines.entry(format!("{kernel} {values}")).or_default();
        *line += &format!("{}{resources}", if line.is_empty() { "" } else { " " });
    }
    lines
}

/// A line for each kernel: the largest that it uses with any set of defines on one architecture, and a checksum.
fn lines_of_kernels(used: &[Used]) -> Lines {
    let mut sets: BTreeMap<&str, Vec<&Used>> = BTreeMap::new();
    for used in used.iter().filter(|used| used.architecture == OF_EVERY_SET) {
        sets.entry(used.kernel).or_default().push(used);
    }
    let line = |(kernel, sets): (&str, Vec<&Used>)| {
        let largest = sets.iter().fold(Resources::default(), |largest, used| largest.max(&used.resources));
        let all: String = sets.iter().map(|used| format!("{}: {}\n", used.values, used.resources)).collect();
        (format!("{kernel}, {} sets", sets.len()), format!("{largest}, checksum {:016x}", checksum(&all)))
    };
    sets.into_iter().map(line).collect()
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

    /// The resources of a kernel on one architecture with one set of defines.
    fn used(values: &str, architecture: &'static str, registers: usize) -> Used {
        let resources = Resources { registers, shared: 100 - registers, spilled: 0 };
        Used { kernel: "f", values: values.into(), is_main: values == "F32", architecture, resources }
    }

    #[test]
    fn a_change_in_any_set_of_defines_is_seen() {
        let sets =
            |last| [used("F32", "75", 30), used("F32", OF_EVERY_SET, 31), used("C64", OF_EVERY_SET, last)];
        assert_eq!(lines_of_sets(&sets(40), |used| used.is_main)["f F32"], "30/70/0 31/69/0");
        let largest = |used: &[Used]| lines_of_kernels(used)["f, 2 sets"].clone();
        assert!(largest(&sets(40)).starts_with("40/69/0, checksum "), "{}", largest(&sets(40)));
        assert!(largest(&sets(39)).starts_with("39/69/0, checksum "), "{}", largest(&sets(39)));
        let swapped = [used("F32", OF_EVERY_SET, 40), used("C64", OF_EVERY_SET, 31)];
        assert_ne!(largest(&swapped), largest(&sets(40)));
    }

    #[test]
    fn the_page_of_what_was_read_is_the_page() {
        let pinned = std::fs::read_to_string(path()).unwrap();
        assert_eq!(changes(&pinned, &page(&Snapshot::read(&pinned))), [""; 0]);
    }

    #[test]
    fn every_set_is_compiled_on_one_architecture_and_the_main_ones_on_all() {
        let of = |architecture| jobs(move |job: &Job| job.architecture == architecture).len();
        assert!(
            ARCHITECTURES.into_iter().all(|architecture| of(architecture) == kernels_cu::programs().count())
        );
        let main = kernels_cu::programs().filter(|(_, variant)| is_main(variant)).count();
        assert!(0 < main && main < kernels_cu::programs().count() / 4, "{main}");
    }

    #[test]
    fn changes_name_both_sides() {
        assert_eq!(changes("a: 1\nb: 2\n", "a: 1\nb: 3\n"), ["- b: 2", "+ b: 3"]);
        assert!(changes("a: 1\n", "a: 1\n").is_empty());
    }
}
