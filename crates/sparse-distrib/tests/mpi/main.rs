//! The suite of transports on MPI. The program starts itself under `mpirun`, with 1 to 8 ranks.

#![allow(clippy::print_stdout, reason = "a program that runs tests says how they went")]

mod rank;
#[path = "../suite/mod.rs"]
mod suite;

use backend_opencl::OPENCL;
use libtest_mimic::{Arguments, Trial};
use sparse_core::Csr;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::time::{Duration, Instant};

/// The first argument of a rank; its role follows.
const RANK: &str = "--rank";
/// A job that takes longer hangs, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);
/// The same of jobs that are too long for CI, in a build without optimization.
const LONG_LIMIT: Duration = Duration::from_secs(3600);
/// A job that loses a rank ends in this time.
const END_LIMIT: Duration = Duration::from_secs(30);
/// Open MPI starts more ranks than there are cores, and as root, only if it is told so; ranks in a container may not
/// read each other's memory. Versions 4 and 5 have different names for the first. Ranks that wait leave their core to
/// others: on a busy machine eight jobs take 53 s, and 220 s without.
const OPEN_MPI: [(&str, &str); 6] = [
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
];

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().collect();
    if arguments.get(1).is_some_and(|first| first == RANK) {
        rank::run(&arguments[2..]);
        return ExitCode::SUCCESS;
    }
    let ranks = (1..=8).map(|ranks| trial(format!("{ranks}_ranks_pass_the_suite"), move || suite_on(ranks)));
    let has_opencl = OPENCL.probe().reason.is_none() || is_required("opencl");
    let opencl = trial("up_to_8_ranks_distribute_on_opencl", || {
        succeeds(8, &program(), &[RANK, "opencl"], "8 ranks passed\n");
    });
    let long = trial("a_message_of_more_than_2_gib", || succeeds(2, &program(), &[RANK, "long"], ""));
    let large = trial("four_ranks_solve_a_system_of_4_million_as_one", || {
        solves_as_one(&["2000", "1e-4"], LONG_LIMIT);
    });
    let trials = ranks.chain([
        opencl.with_ignored_flag(!has_opencl),
        trial("a_killed_rank_ends_the_job", a_killed_rank_ends_the_job),
        trial("a_killed_rank_ends_a_run_of_engines", a_killed_rank_ends_a_run_of_engines),
        trial("a_panic_of_a_rank_ends_the_job", a_panic_of_a_rank_ends_the_job),
        trial("the_example_runs", the_example_runs),
        trial("four_ranks_solve_as_one", || solves_as_one(&["64", "1e-9"], LIMIT)),
        large.with_ignored_flag(true),
        long.with_ignored_flag(true),
    ]);
    // A job has more ranks than there are cores already.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn trial(name: impl Into<String>, run: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        run();
        Ok(())
    })
}

/// True if `NNZ_REQUIRE` makes it a failure where a library has no device.
fn is_required(library: &str) -> bool {
    let required = std::env::var("NNZ_REQUIRE").unwrap_or_default();
    required.split(',').any(|name| name.trim() == library)
}

fn suite_on(ranks: usize) {
    succeeds(ranks, &program(), &[RANK, "suite"], &format!("{ranks} ranks passed\n"));
}

fn a_killed_rank_ends_the_job() {
    let folder = tempfile::tempdir().unwrap();
    let reported = fails(3, &[OsStr::new(RANK), OsStr::new("killed"), folder.path().as_os_str()]);
    assert!(reported.contains("signal 9") || reported.contains("SIGNAL: 9"), "{reported}");

    // The file before is whole, of the next there is nothing.
    let whole: Csr<f32> = sparse_io::read_csr(folder.path().join(rank::WHOLE)).unwrap();
    assert_eq!(whole, Csr::from_dense(suite::matrices::ten_by_eight().as_view()).unwrap());
    assert!(!folder.path().join(rank::INTERRUPTED).exists());
}

fn a_killed_rank_ends_a_run_of_engines() {
    let reported = fails(3, &[RANK, "killed_in_a_run"]);
    assert!(reported.contains("signal 9") || reported.contains("SIGNAL: 9"), "{reported}");
    assert!(!reported.contains("the run ended"), "{reported}");
}

fn a_panic_of_a_rank_ends_the_job() {
    let reported = fails(3, &[RANK, "panics"]);
    assert!(reported.contains("rank 1 panics"), "{reported}");
}

/// The documentation of `Mpi` shows this command and its output.
fn the_example_runs() {
    let folder = program().ancestors().nth(2).unwrap().join("examples");
    let expected = "rows 0..250: 749 entries\nrows 250..500: 750 entries\n\
        rows 500..750: 750 entries\nrows 750..1000: 749 entries\n";
    succeeds(4, &folder.join("mpi"), &[""; 0], expected);
}

/// The example `mpi_cg`, whose table has the iterations of four ranks and of one.
fn solves_as_one(arguments: &[&str], limit: Duration) {
    let folder = program().ancestors().nth(2).unwrap().join("examples");
    let Output { status, stdout, stderr } = mpirun(4, &folder.join("mpi_cg"), arguments, limit);
    let reported = String::from_utf8_lossy(&stdout);
    assert!(status.success(), "{reported}{}", String::from_utf8_lossy(&stderr));
    let last = |line: &str| line.split(' ').next_back().unwrap().parse::<f64>().unwrap();
    let [four, one, difference] = reported.lines().map(last).collect::<Vec<_>>()[..] else {
        panic!("{reported}")
    };
    assert!((four - one).abs() <= 2.0 && difference <= 1e-7, "{reported}");
}

fn program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// A job that is ended after `limit`.
fn mpirun(ranks: usize, program: &Path, arguments: &[impl AsRef<OsStr>], limit: Duration) -> Output {
    // Open MPI fails where several begin to make the same folder at once.
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("mpirun");
    command.env("TMPDIR", folder.path());
    command.args(["-n", &ranks.to_string()]).arg(program).args(arguments);
    command.envs(OPEN_MPI).env("MPIEXEC_TIMEOUT", limit.as_secs().to_string());
    command.output().expect("mpirun does not start")
}

fn succeeds(ranks: usize, program: &Path, arguments: &[&str], expected: &str) {
    let Output { status, stdout, stderr } = mpirun(ranks, program, arguments, LIMIT);
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{status}\n{stdout}{stderr}");
    assert_eq!(stdout, expected);
}

/// Runs a job that must fail and not hang, and returns what it printed.
fn fails(ranks: usize, arguments: &[impl AsRef<OsStr>]) -> String {
    let start = Instant::now();
    let Output { status, stdout, stderr } = mpirun(ranks, &program(), arguments, LIMIT);
    let reported = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(!status.success(), "the job succeeded\n{reported}");
    assert!(start.elapsed() < END_LIMIT, "the job ended after {:?}\n{reported}", start.elapsed());
    reported
}
