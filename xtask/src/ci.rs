//! `cargo xtask ci`: all tests.

use crate::bench;
use crate::portability::CHECKS;
use crate::program::{BENCH, HARNESS, NNZ, Program, target};
use crate::side_by_side::{self, Step};
use anyhow::{Context, Result, bail, ensure};
use provision::{Runtime, Variables, python_packages, root};
use std::time::Instant;
use xshell::{Shell, cmd};

/// Runs all tests.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run this step alone; may be repeated.
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    /// List the steps.
    #[arg(long)]
    list: bool,
}

/// The folder of the lists of refused checks.
const SUPPORT: &str = "crates/sparse-conformance-cli/support";

/// The seconds that all may take on two cores.
const BUDGET: u64 = 40 * 60;

/// The operations on matrices and vectors, each of which Oclgrind simulates.
const SIMULATED: [&str; 17] = [
    "spmv",
    "spmm",
    "spmm_reduce",
    "sddmm",
    "spgemm",
    "convert",
    "to_dense",
    "sort",
    "prune",
    "elementwise",
    "reduce",
    "softmax",
    "row_statistics",
    "trisolve",
    "dense_to_csr",
    "vector",
    "scan",
];

/// The steps, in the order in which they are started where nothing that they need is missing.
const STEPS: &[Step] = &[
    Step { name: "format", about: "rustfmt", budget: 5, needs: &[], run: format },
    Step {
        name: "harness",
        about: "the build of the harness that the steps behind it run",
        budget: 620,
        needs: &[],
        run: build_harness,
    },
    Step { name: "clippy", about: "clippy, warnings denied", budget: 260, needs: &[], run: clippy },
    Step {
        name: "features",
        about: "each crate alone, without default features",
        budget: 180,
        needs: &["clippy"],
        run: features,
    },
    Step {
        name: "portability",
        about: "the minimum Rust and AArch64 compile it",
        budget: 160,
        needs: &["features"],
        run: portability,
    },
    Step {
        name: "kernels",
        about: "every kernel compiles with every set of defines; CUDA's use what their snapshot says",
        budget: 130,
        needs: &["harness"],
        run: kernels,
    },
    Step {
        name: "build",
        about: "every program of the tests compiles",
        budget: 900,
        needs: &["portability"],
        run: build_tests,
    },
    Step {
        name: "test",
        about: "unit, property, snapshot and command tests; with MPI, distributions and solvers over 1 to 8 ranks",
        budget: 480,
        needs: &["build"],
        run: test,
    },
    Step {
        name: "conformance",
        about: "the conformance table, with the corpus where it is",
        budget: 560,
        needs: &["harness"],
        run: conformance,
    },
    Step {
        name: "oclgrind",
        about: "no kernel races or reads what nothing wrote",
        budget: 460,
        needs: &["harness"],
        run: oclgrind,
    },
    Step {
        name: "doc",
        about: "documentation builds without warnings; its algorithm tables are those of the code",
        budget: 25,
        needs: &["harness", "test"],
        run: doc,
    },
    Step {
        name: "opencl",
        about: "tests of devices on PoCL, and the conformance table on PoCL and on Intel's runtime",
        budget: 530,
        needs: &["harness", "doc"],
        run: opencl,
    },
    Step {
        name: "sycl",
        about: "the conformance table and the shim on SYCL queues of the same runtimes; a C++ program with its own queue",
        budget: 200,
        needs: &["harness", "opencl"],
        run: sycl,
    },
    Step { name: "scipy", about: "the command against SciPy", budget: 390, needs: &["build"], run: scipy },
    Step {
        name: "python",
        about: "the Python package in a fresh environment, its tests and SciPy's own",
        budget: 90,
        needs: &["build"],
        run: python,
    },
    Step {
        name: "bench",
        about: "every benchmark of the CPU runs, those of OpenCL on PoCL, and those of SYCL on Intel's runtime",
        budget: 280,
        needs: &["build"],
        run: bench,
    },
    Step {
        name: "package",
        about: "every crate that is published packages",
        budget: 25,
        needs: &["build"],
        run: package,
    },
];

/// Runs the steps, and prints the time of each.
pub(crate) fn run(args: &Args) -> Result<()> {
    if args.list {
        for step in STEPS {
            println!("{:<12} {}", step.name, step.about);
        }
        return Ok(());
    }
    if let Some(unknown) = args.only.iter().find(|name| STEPS.iter().all(|step| step.name != name.as_str())) {
        bail!("no step is called `{unknown}`; `cargo xtask ci --list` names them");
    }
    if args.only.is_empty() {
        let start = Instant::now();
        let times = side_by_side::run(STEPS)?;
        print_times(&times, start.elapsed().as_secs());
        return Ok(());
    }
    let shell = Shell::new()?;
    shell.change_dir(root());
    // Everything is built once: the files of incremental builds would fill 6 GB of disk for nothing.
    shell.set_var("CARGO_INCREMENTAL", "0");
    // A panic says its line without it, and a tenth of the time of compilation is for it.
    shell.set_var("CARGO_PROFILE_DEV_DEBUG", "false");
    for step in STEPS.iter().filter(|step| args.only.iter().any(|name| name == step.name)) {
        (step.run)(&shell).with_context(|| format!("step `{}` failed", step.name))?;
    }
    Ok(())
}

/// Prints the time of each step, and of all, beside its budget.
fn print_times(times: &[(&Step, u64)], all: u64) {
    let line = |name: &str, seconds, budget| {
        let over = if seconds > budget { "  over its budget" } else { "" };
        println!("{name:<12} {seconds:>8} {budget:>8}{over}");
    };
    println!("{:<12} {:>8} {:>8}", "step", "seconds", "budget");
    for (Step { name, budget, .. }, seconds) in times {
        line(name, *seconds, *budget);
    }
    line("all passed", all, BUDGET);
}

fn format(sh: &Shell) -> Result<()> {
    Ok(cmd!(sh, "cargo fmt --all --check").run()?)
}

fn clippy(sh: &Shell) -> Result<()> {
    let workspace = workspace(sh);
    Ok(cmd!(sh, "cargo clippy {workspace...} --all-targets -- -D warnings").run()?)
}

/// Checks what feature unification hides: a crate that builds only because another one turned a feature on. Not of the
/// benchmark, which nobody depends on: other features of its peers would compile them once more.
fn features(sh: &Shell) -> Result<()> {
    for package in packages(sh)?.iter().filter(|package| *package != BENCH.package) {
        cmd!(sh, "cargo check --quiet -p {package} --no-default-features").run()?;
    }
    Ok(())
}

/// Runs the checks; rustup installs the missing toolchains and targets.
fn portability(sh: &Shell) -> Result<()> {
    if cmd!(sh, "rustup --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        println!("skipped: there is no rustup to install the minimum Rust and the target AArch64 with");
        return Ok(());
    }
    for check in &CHECKS {
        let installed = command(sh, check.list).quiet().read()?;
        if !installed.lines().any(|line| line.starts_with(check.needs)) {
            command(sh, check.install).run()?;
        }
        command(sh, check.run).arg("--quiet").run()?;
    }
    Ok(())
}

/// The command of a line without quotes.
fn command<'a>(sh: &'a Shell, line: &str) -> xshell::Cmd<'a> {
    let (program, arguments) = line.split_once(' ').unwrap_or((line, ""));
    sh.cmd(program).args(arguments.split_whitespace())
}

/// Compiles the tests in a step of its own: others need what it builds, but not that the tests pass. `NNZ_REQUIRE` can ask
/// for those of MPI.
fn build_tests(sh: &Shell) -> Result<()> {
    if let Some(missing) = provision::missing_for_mpi(sh) {
        let required = std::env::var("NNZ_REQUIRE").unwrap_or_default();
        ensure!(!required.split(',').any(|name| name.trim() == "mpi"), "NNZ_REQUIRE asks for mpi: {missing}");
        println!("without the tests of MPI: {missing}");
    }
    let workspace = workspace(sh);
    Ok(cmd!(sh, "cargo test {workspace...} --no-run").run()?)
}

/// The arguments of every command that compiles tests, with the feature `mpi` where MPI is installed: with the same
/// features nothing is compiled twice.
fn workspace(sh: &Shell) -> Vec<&'static str> {
    let mpi: &[_] = match provision::missing_for_mpi(sh) {
        None => &["--features", "sparse-cli/mpi"],
        Some(_) => &[],
    };
    [&["--workspace", "--quiet"], mpi].concat()
}

/// Runs the tests without OpenCL: those of its devices are run by the step `opencl`.
fn test(sh: &Shell) -> Result<()> {
    let workspace = workspace(sh);
    Ok(cmd!(sh, "cargo test {workspace...}").env("OCL_ICD_VENDORS", "/nowhere/vendors").run()?)
}

/// Builds what the steps behind this one run, so that their times are their own.
fn build_harness(sh: &Shell) -> Result<()> {
    let Program { package, name, profile } = HARNESS;
    Ok(cmd!(sh, "cargo build --profile {profile} --quiet -p {package} --bin {name}").run()?)
}

fn doc(sh: &Shell) -> Result<()> {
    let _denied = sh.push_env("RUSTDOCFLAGS", "-D warnings");
    cmd!(sh, "cargo doc --workspace --no-deps --quiet").run()?;
    harness(sh, vec![], &["algorithms", "--check"])
}

/// The variables of a runtime for a table: PoCL by its device that computes on the thread which waits (its names in older
/// and in newer versions), since small launches take longer to wake threads than to compute. Tests, which start kernels
/// from several threads, need its other device, as programs do.
fn for_tables(runtime: Runtime, mut variables: Variables) -> Variables {
    if matches!(runtime, Runtime::Pocl) {
        variables.push(("POCL_DEVICES", "basic cpu-minimal".into()));
    }
    variables
}

/// PoCL's variables for what is not about its compiler: without optimisation it compiles in half of the time. The table of
/// `f32` is run with it, as users run it.
fn unoptimised_pocl(sh: &Shell) -> Result<Variables> {
    Ok(unoptimised(Runtime::Pocl.variables(sh)?))
}

fn unoptimised(mut variables: Variables) -> Variables {
    variables.push(("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable".into()));
    variables
}

/// Oclgrind's compiler reads OpenCL C and makes no machine code, so that it takes a tenth of PoCL's time; it has no
/// sub-groups, for which there is Intel's.
fn kernels(sh: &Shell) -> Result<()> {
    harness(sh, Runtime::Oclgrind.variables(sh)?, &["kernels", "opencl"])?;
    harness(sh, Runtime::Intel.variables(sh)?, &["kernels", "opencl", "--file", "sub_group"])?;
    harness(sh, vec![], &["kernels", "cuda", "--check"])
}

/// Runs the whole table with one thread and with two, which must write the same bits. Of a corpus, matrices with more than
/// 90 000 entries are left out, which would take most of the time.
fn conformance(sh: &Shell) -> Result<()> {
    let corpus = root().join("../shared/data/matrices");
    let folder = corpus.display().to_string();
    let corpus: &[_] = if corpus.is_dir() { &["--corpus", &folder, "--largest", "90000"] } else { &[] };
    let results = root().join("target/conformance");
    sh.create_dir(&results)?;
    let pin = format!("{SUPPORT}/cpu.txt");
    HARNESS
        .command(sh, &["--backend", "cpu", "--tier", "ci", "--threads", "1,2", "--support", &pin])
        .args(corpus)
        .arg("--digest")
        .arg(results.join("cpu.digest"))
        .arg("--json")
        .arg(results.join("cpu.jsonl"))
        .run()?;
    Ok(())
}

/// Runs the harness with these variables in its environment.
fn harness(sh: &Shell, variables: Variables, arguments: &[&str]) -> Result<()> {
    Ok(HARNESS.command(sh, arguments).envs(variables).run()?)
}

/// Runs the tests that need a device, and the quick tier.
fn opencl(sh: &Shell) -> Result<()> {
    let workspace = &workspace(sh);
    let pocl = unoptimised_pocl(sh)?;
    cmd!(sh, "cargo test {workspace...} --test devices --test opencl --test properties --test exit")
        .envs(pocl.clone())
        .env("NNZ_REQUIRE", "opencl")
        .run()?;
    if provision::missing_for_mpi(sh).is_none() {
        cmd!(sh, "cargo test {workspace...} --test mpi -- on_opencl")
            .envs(pocl.clone())
            .env("NNZ_REQUIRE", "opencl")
            .run()?;
    }
    // The kernels of all types are the same text. What one runtime leaves out of f32 and f64 it has on SYCL's queues.
    opencl_table(sh, Runtime::Pocl, Runtime::Pocl.variables(sh)?, &["f32"])?;
    opencl_table(sh, Runtime::Pocl, pocl, &["i", "f16", "bf16"])?;
    opencl_table(sh, Runtime::Intel, Runtime::Intel.variables(sh)?, &["i", "f64", "c32", "c64"])
}

/// Runs the quick tier of these types of values on a runtime.
fn opencl_table(sh: &Shell, runtime: Runtime, variables: Variables, types: &[&str]) -> Result<()> {
    let pin = format!("{SUPPORT}/opencl-{}.txt", runtime.name());
    let table = ["--backend", "opencl", "--tier", "quick", "--support", &pin];
    let types = types.iter().flat_map(|types| ["--types", *types]);
    harness(sh, for_tables(runtime, variables), &table.into_iter().chain(types).collect::<Vec<_>>())
}

/// Runs the quick tier on SYCL: most kernels are those of the step `opencl`, so that one type of values is enough, the
/// one that the runtime does not have there; those of SYCL's own, which Intel's runtime has, run in all.
fn sycl(sh: &Shell) -> Result<()> {
    let shim = "crates/backend-opencl/tests/shim.cpp";
    let shim = provision::compile_sycl(sh, shim, &["-Wno-subobject-linkage".into()], "shim")?;
    for (runtime, types) in [(Runtime::Pocl, "f64"), (Runtime::Intel, "f32")] {
        let variables = provision::sycl(sh, Some(runtime))?;
        cmd!(sh, "{shim}").envs(variables).run()?;
        sycl_table(sh, runtime, &["--types", types])?;
    }
    for op in ["dense_to_csr", "spmv/coo"] {
        sycl_table(sh, Runtime::Intel, &["--op", op])?;
    }
    host_program(sh)
}

/// Runs a part of the quick tier on a SYCL queue of a runtime.
fn sycl_table(sh: &Shell, runtime: Runtime, part: &[&str]) -> Result<()> {
    let pin = format!("{SUPPORT}/sycl-{}.txt", runtime.name());
    let table = ["--backend", "sycl", "--tier", "quick", "--support", &pin];
    let variables = for_tables(runtime, unoptimised(provision::sycl(sh, Some(runtime))?));
    harness(sh, variables, &[&table, part].concat())
}

/// Runs a C++ program that calls the C library on a SYCL queue of its own; Intel's runtime has the memory that it
/// takes.
fn host_program(sh: &Shell) -> Result<()> {
    // With the features of the step `build`, which has built it.
    let workspace = workspace(sh);
    cmd!(sh, "cargo test {workspace...} --test c_example --no-run").run()?;
    let (crate_folder, libraries) = (root().join("crates/sparse-capi"), target().join("debug/deps"));
    let flags = [
        format!("-I{}", crate_folder.join("include").display()),
        format!("-L{}", libraries.display()),
        format!("-Wl,-rpath,{}", libraries.display()),
        "-lnnz_capi".into(),
    ];
    let program = provision::compile_sycl(sh, "crates/sparse-capi/examples/host.cpp", &flags, "host")?;
    let variables = provision::sycl(sh, Some(Runtime::Intel))?;
    Ok(cmd!(sh, "{program}").envs(variables).run()?)
}

/// Runs a few small cases under Oclgrind; whatever it reports is a failure.
fn oclgrind(sh: &Shell) -> Result<()> {
    let log = sh.create_dir(root().join("target/conformance"))?.join("oclgrind.log");
    sh.write_file(&log, "")?;
    let mut variables = Runtime::Oclgrind.variables(sh)?;
    variables.extend(
        [
            ("OCLGRIND_LOG", log.to_string_lossy().as_ref()),
            ("OCLGRIND_DATA_RACES", "1"),
            ("OCLGRIND_UNINITIALIZED", "1"),
            ("OCLGRIND_CHECK_API", "1"),
            ("OCLGRIND_MAX_WGSIZE", "64"),
            ("OCLGRIND_GLOBAL_MEM_SIZE", "2147483648"),
            // Its check of uninitialised memory does not know all of LLVM's optimisations of a kernel.
            ("OCLGRIND_BUILD_OPTIONS", "-cl-opt-disable"),
        ]
        .map(|(name, value)| (name, value.to_string())),
    );
    for operation in SIMULATED {
        // A product of 66 rows takes the simulator minutes.
        let case = if operation == "spgemm" { "tiny_unsorted" } else { "*" };
        // More parts than cores: some take much longer than others.
        let part = ["--tier", "tiny", "--jobs", "6", "--limit", "1200", "--op", operation, "--case", case];
        harness(sh, variables.clone(), &[&["--backend", "opencl"], &part[..]].concat())?;
    }
    let reports = sh.read_file(&log)?;
    ensure!(reports.trim().is_empty(), "Oclgrind reports\n{reports}");
    Ok(())
}

fn scipy(sh: &Shell) -> Result<()> {
    let packages = python_packages(sh)?;
    let _path = sh.push_env("PYTHONPATH", packages);
    // Built by the step `build`: release mode takes longer to compile than it saves here.
    let (nnz, workspace) = (NNZ.name, workspace(sh));
    cmd!(sh, "cargo build {workspace...} --bin {nnz} --test command").run()?;
    let nnz = NNZ.path();
    Ok(cmd!(sh, "python3 crates/sparse-cli/tests/compare_with_scipy.py --nnz {nnz}").run()?)
}

/// Packs the extension into a wheel, installs it into an empty folder and runs its tests, with PoCL as a device.
fn python(sh: &Shell) -> Result<()> {
    // With the features of the step `build`, which compiled all that the library is linked of.
    let workspace = workspace(sh);
    cmd!(sh, "cargo build {workspace...} --lib --test command").run()?;
    let library = target().join("debug/libnnz_python.so");
    let wheel = root().join("target/python-wheel");
    sh.remove_path(&wheel)?;
    sh.create_dir(&wheel)?;
    cmd!(sh, "python3 crates/sparse-python/pack_wheel.py {library} {wheel}").run()?;
    let installed = provision::install_wheel(sh, &wheel)?;
    let pytest = provision::from_pypi(sh, "pytest", "mypy", &["pytest", "pytest-timeout", "mypy"])?;
    // Their tests are skipped where they cannot be imported.
    let parallel = provision::from_pypi(sh, "python-parallel", "mpi4py", &["dask", "distributed", "mpi4py"])?;
    let learning = provision::from_pypi(sh, "python-learning", "sklearn", &["scikit-learn", "networkx"])?;
    let packages = [installed, python_packages(sh)?, pytest, parallel, learning];
    let _tests = sh.push_dir(root().join("crates/sparse-python"));
    cmd!(sh, "python3 -m pytest --quiet")
        .env("PYTHONPATH", std::env::join_paths(packages)?)
        .env("NNZ_CONFORMANCE", HARNESS.path())
        .envs(unoptimised_pocl(sh)?)
        .run()?;
    Ok(())
}

fn bench(sh: &Shell) -> Result<()> {
    let _path = sh.push_env("PYTHONPATH", python_packages(sh)?);
    // Builds the program, too, with the profile and the features of the step `build`, so that little is compiled again:
    // the peers take minutes to compile in release mode, and a smoke run saves seconds by it.
    let workspace = workspace(sh);
    cmd!(sh, "cargo bench {workspace...} --profile dev --bench operations -- --test")
        .envs(unoptimised_pocl(sh)?)
        .run()?;
    for suite in ["all", "choice"] {
        BENCH.built(sh, &["--suite", suite, "--smoke"]).envs(bench::peers(sh)?).run()?;
        BENCH
            .built(sh, &["--suite", suite, "--smoke", "--backend", "opencl"])
            .envs(unoptimised_pocl(sh)?)
            .envs(provision::viennacl())
            .run()?;
    }
    let figures = BENCH.built(sh, &["--suite", "seed-001", "--smoke"]);
    figures.envs(unoptimised_pocl(sh)?).run()?;
    let sycl = BENCH.built(sh, &["--suite", "all", "--smoke", "--backend", "sycl"]);
    Ok(sycl.envs(provision::sycl(sh, Some(Runtime::Intel))?).run()?)
}

fn package(sh: &Shell) -> Result<()> {
    // These two need a crate that no registry has, and are in none themselves.
    let unpublished = ["--exclude", HARNESS.package, "--exclude", "xtask"];
    Ok(cmd!(sh, "cargo package --workspace {unpublished...} --quiet --no-verify --allow-dirty").run()?)
}

fn packages(sh: &Shell) -> Result<Vec<String>> {
    let metadata = cmd!(sh, "cargo metadata --no-deps --format-version 1").quiet().read()?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let names = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    Ok(names.iter().filter_map(|p| p["name"].as_str().map(String::from)).collect())
}

#[cfg(test)]
mod tests {
    use super::STEPS;

    #[test]
    fn steps_need_steps_before_them() {
        for (index, step) in STEPS.iter().enumerate() {
            for needed in step.needs {
                assert!(STEPS[..index].iter().any(|step| step.name == *needed), "{}: {needed}", step.name);
            }
        }
    }
}
