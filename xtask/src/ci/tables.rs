//! Steps that run the conformance table.

use super::compile::workspace;
use crate::program::{HARNESS, target};
use anyhow::{Result, ensure};
use provision::{Runtime, Variables, root};
use xshell::{Shell, cmd};

/// The folder of the lists of refused checks.
const SUPPORT: &str = "crates/sparse-conformance-cli/support";

/// The operations on matrices and vectors that Oclgrind simulates, and the cases of each: 66 rows take it minutes in
/// some.
const SIMULATED: [(&str, &str); 20] = [
    ("spmv", "*"),
    ("spmm", "*"),
    ("spmm_reduce", "*"),
    ("sddmm", "*"),
    ("spgemm", "tiny_unsorted"),
    ("convert", "*"),
    ("to_dense", "*"),
    ("sort", "*"),
    ("prune", "*"),
    ("select", "*"),
    ("elementwise", "*"),
    ("reduce", "*"),
    ("softmax", "*"),
    ("row_statistics", "*"),
    ("trisolve", "*"),
    ("dense_to_csr/csr", "*"),
    // The kernels of dense_to_csr/csr.
    ("dense_to_csr/coo", "tiny_unsorted"),
    ("dense_to_csr/batch_csr", "tiny_unsorted"),
    ("vector", "*"),
    ("scan", "*"),
];

/// Oclgrind's compiler reads OpenCL C and makes no machine code, so that it takes a tenth of PoCL's time; it has no
/// sub-groups, for which there is Intel's.
pub(super) fn kernels(sh: &Shell) -> Result<()> {
    harness(sh, Runtime::Oclgrind.variables(sh)?, &["kernels", "opencl"])?;
    harness(sh, Runtime::Intel.variables(sh)?, &["kernels", "opencl", "--file", "sub_group"])?;
    harness(sh, vec![], &["kernels", "cuda", "--check"])
}

/// Runs the whole table with one thread and with two, which must write the same bits. Of a corpus, matrices with more
/// than 90 000 entries are left out, which would take most of the time.
pub(super) fn conformance(sh: &Shell) -> Result<()> {
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

/// Runs the tests that need a device, and the quick tier.
pub(super) fn opencl(sh: &Shell) -> Result<()> {
    let workspace = &workspace(sh);
    let pocl = unoptimized_pocl(sh)?;
    cmd!(sh, "cargo test {workspace...} --test devices --test properties --test exit")
        .envs(pocl.clone())
        .env("NNZ_REQUIRE", "opencl")
        .run()?;
    if provision::missing_for_mpi(sh).is_none() {
        cmd!(sh, "cargo test {workspace...} --test mpi -- on_opencl")
            .envs(pocl.clone())
            .env("NNZ_REQUIRE", "opencl")
            .run()?;
    }
    // The kernels of all types are the same text, so that a type runs on one runtime: most on Intel's, which compiles
    // faster. The types that one leaves out of f32 and f64 run on SYCL's queues.
    opencl_table(sh, Runtime::Pocl, Runtime::Pocl.variables(sh)?, &["f32"])?;
    opencl_table(sh, Runtime::Pocl, pocl, &["i", "f16"])?;
    opencl_table(sh, Runtime::Intel, Runtime::Intel.variables(sh)?, &["f64", "bf16", "c32", "c64"])
}

/// Runs the quick tier of these types of values on a runtime.
fn opencl_table(sh: &Shell, runtime: Runtime, variables: Variables, types: &[&str]) -> Result<()> {
    let pin = format!("{SUPPORT}/opencl-{}.txt", runtime.name());
    let table = ["--backend", "opencl", "--tier", "quick", "--support", &pin];
    let types = types.iter().flat_map(|types| ["--types", *types]);
    harness(sh, variables, &table.into_iter().chain(types).collect::<Vec<_>>())
}

/// Runs the quick tier on SYCL: most kernels are those of the step `opencl`, so that one type of values and of indices
/// is enough, the one that the runtime does not have there; those of SYCL's own, which Intel's runtime has, run in all.
pub(super) fn sycl(sh: &Shell) -> Result<()> {
    let shim = "crates/backend-opencl/tests/shim.cpp";
    let shim = provision::compile_sycl(sh, shim, &["-Wno-subobject-linkage".into()], "shim")?;
    for (runtime, types) in [(Runtime::Pocl, "f64,i32,i32"), (Runtime::Intel, "f32")] {
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
    let variables = unoptimized(provision::sycl(sh, Some(runtime))?);
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

/// Runs a few small cases under Oclgrind; any report is a failure.
pub(super) fn oclgrind(sh: &Shell) -> Result<()> {
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
            // Its check of uninitialized memory does not know all of LLVM's optimizations of a kernel.
            ("OCLGRIND_BUILD_OPTIONS", "-cl-opt-disable"),
        ]
        .map(|(name, value)| (name, value.to_string())),
    );
    for (operation, case) in SIMULATED {
        // More parts than cores: some take much longer than others.
        let part = ["--tier", "tiny", "--jobs", "6", "--limit", "1200", "--op", operation, "--case", case];
        harness(sh, variables.clone(), &[&["--backend", "opencl"], &part[..]].concat())?;
    }
    let reports = sh.read_file(&log)?;
    ensure!(reports.trim().is_empty(), "Oclgrind reports\n{reports}");
    Ok(())
}

/// PoCL's variables for what is not about its compiler: without optimization it compiles in half of the time. The table
/// of `f32` is run with it, as users run it.
pub(super) fn unoptimized_pocl(sh: &Shell) -> Result<Variables> {
    Ok(unoptimized(Runtime::Pocl.variables(sh)?))
}

fn unoptimized(mut variables: Variables) -> Variables {
    variables.push(("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable".into()));
    variables
}

/// Runs the harness with these variables in its environment.
pub(super) fn harness(sh: &Shell, variables: Variables, arguments: &[&str]) -> Result<()> {
    Ok(HARNESS.command(sh, arguments).envs(variables).run()?)
}
