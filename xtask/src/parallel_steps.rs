//! The steps of CI, three at a time: while one waits for a lock, for the last crate of a build or for a test with one
//! thread, the other computes.

use anyhow::{Context, Result, bail};
use provision::root;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use xshell::Shell;

/// The number of steps that run at once.
const AT_ONCE: usize = 3;
/// The time between two looks at the running steps.
const PAUSE: Duration = Duration::from_millis(100);

/// A step of CI.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The seconds that it may take on two cores while other steps run.
    pub(crate) budget: u64,
    /// The steps before it: those whose builds it uses or would wait for.
    pub(crate) needs: &'static [&'static str],
    pub(crate) run: fn(&Shell) -> Result<()>,
}

/// A step in a child process, whose output goes to a file.
struct Running {
    step: &'static Step,
    start: Instant,
    process: Child,
    log: PathBuf,
}

/// A step that passed.
pub(crate) struct PassedStep {
    pub(crate) step: &'static Step,
    /// Seconds from its start to its end.
    pub(crate) seconds: u64,
    /// Seconds of processor time, where the system tells them.
    pub(crate) processor: Option<f64>,
}

/// Runs all steps, prints the output of each when it ends, and returns their times. After a failure none is started.
pub(crate) fn run(steps: &'static [Step]) -> Result<Vec<PassedStep>> {
    let folder = root().join("target/ci");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    // Cargo replaces the program that runs here when it builds the workspace.
    let program = folder.join("xtask");
    fs::copy(std::env::current_exe()?, &program).with_context(|| program.display().to_string())?;
    let (mut waiting, mut running): (Vec<_>, Vec<Running>) = (steps.iter().collect(), vec![]);
    let (mut passed, mut failed): (Vec<PassedStep>, _) = (vec![], vec![]);
    while !running.is_empty() || (failed.is_empty() && !waiting.is_empty()) {
        while failed.is_empty()
            && running.len() < AT_ONCE
            && let Some(next) = waiting.iter().position(|step| is_ready(step, &passed))
        {
            running.push(Running::start(waiting.remove(next), &program, &folder)?);
        }
        std::thread::sleep(PAUSE);
        let mut still = vec![];
        for mut job in running {
            let before = processor_seconds();
            match job.process.try_wait()? {
                None => still.push(job),
                Some(status) if job.end(status)? => passed.push(PassedStep {
                    step: job.step,
                    seconds: job.start.elapsed().as_secs(),
                    processor: processor_seconds().zip(before).map(|(after, before)| after - before),
                }),
                Some(_) => failed.push(job.step.name),
            }
        }
        running = still;
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(passed)
}

/// True if all that a step needs has passed.
fn is_ready(step: &Step, passed: &[PassedStep]) -> bool {
    step.needs.iter().all(|needed| passed.iter().any(|passed| passed.step.name == *needed))
}

/// Seconds of processor time of all processes that this one has waited for, as Linux tells them in hundredths.
fn processor_seconds() -> Option<f64> {
    let line = fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which ends with the last parenthesis, stand the fields from the third on.
    let fields = line.rsplit(") ").next()?.split(' ');
    let hundredths = fields.skip(13).take(2).map(|field| field.parse::<u32>().ok());
    Some(f64::from(hundredths.sum::<Option<u32>>()?) / 100.0)
}

impl Running {
    fn start(step: &'static Step, program: &Path, folder: &Path) -> Result<Self> {
        println!("started: {}", step.name);
        let log = folder.join(step.name).with_extension("log");
        let file = File::create(&log).with_context(|| log.display().to_string())?;
        let mut command = Command::new(program);
        command.args(["ci", "--only", step.name]).stdout(file.try_clone()?).stderr(file);
        let process = command.spawn().with_context(|| program.display().to_string())?;
        Ok(Self { step, start: Instant::now(), process, log })
    }

    /// Prints what the step wrote; true if it passed.
    fn end(&self, status: ExitStatus) -> Result<bool> {
        let Step { name, about, .. } = self.step;
        let outcome = if status.success() { "passed" } else { "FAILED" };
        println!("== {name}: {about}: {outcome} after {} s", self.start.elapsed().as_secs());
        let written = fs::read(&self.log).with_context(|| self.log.display().to_string())?;
        print!("{}", String::from_utf8_lossy(&written));
        Ok(status.success())
    }
}
