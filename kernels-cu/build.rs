//! Writes the table of images: with the feature `aot` one of every file and set of defines that `backend-cuda` asks
//! for, compiled by nvcc; without it none.
//!
//! The `cc` crate is of no help: it compiles CUDA to objects of a host program, which register themselves with CUDA's
//! own runtime, and looks for nvcc in `NVCC` and `PATH` alone.

#![allow(clippy::print_stdout, reason = "cargo listens to what a build script prints")]

#[path = "src/table.rs"]
mod table;

use kernels_core::File;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use table::Variant;

/// Names nvcc itself.
const NVCC: &str = "NVCC";

/// Name folders of CUDA toolkits.
const TOOLKITS: [&str; 2] = ["CUDA_HOME", "CUDA_PATH"];

/// The targets of each run of the compiler's front end: each architecture has its own, since kernels ask for what it has
/// (barriers in shared memory and TF32 from sm_80 on, dependent launches from sm_90 on). The driver compiles the PTX of
/// the last for later ones.
const TARGETS: [&str; 4] = [
    "arch=compute_75,code=sm_75",
    "arch=compute_80,code=sm_80",
    "arch=compute_90,code=sm_90",
    "arch=compute_100,code=[compute_100,sm_100]",
];

fn main() {
    for variable in [&[NVCC], &TOOLKITS[..]].concat() {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    if let Err(message) = write_images() {
        message.lines().for_each(|line| println!("cargo::error={line}"));
    }
}

fn write_images() -> Result<(), String> {
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets no OUT_DIR")?);
    let mut images = match env::var_os("CARGO_FEATURE_AOT") {
        Some(_) => compile_all(&nvcc()?, &folder)?,
        None => vec![],
    };
    images.sort();
    let lines = images.iter().map(|(key, path)| format!("({key:?}, &Aligned(*include_bytes!({path:?}))),\n"));
    write(&folder.join("images.rs"), &format!("&[\n{}]\n", lines.collect::<String>()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("writing {}: {error}", path.display()))
}

/// The compiler, or the places that were searched.
fn nvcc() -> Result<PathBuf, String> {
    if let Some(nvcc) = env::var_os(NVCC) {
        return Ok(nvcc.into());
    }
    let toolkits = TOOLKITS.iter().filter_map(env::var_os).map(|toolkit| Path::new(&toolkit).join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = toolkits.chain(env::split_paths(&path)).collect();
    let name = format!("nvcc{}", env::consts::EXE_SUFFIX);
    let found = folders.iter().map(|folder| folder.join(&name)).find(|nvcc| nvcc.is_file());
    found.ok_or_else(|| {
        let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        format!(
            "the feature `aot` needs nvcc of CUDA 12.8 or newer: {NVCC} does not name it, and it is in none of the \
             folders of {} (bin) and PATH: {}",
            TOOLKITS.join(", "),
            folders.join(", ")
        )
    })
}

/// Compiles all images, as many at a time as cargo allows; returns their keys and paths.
fn compile_all(nvcc: &Path, folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    for file in table::FILES {
        write(&folder.join(file.name), &file.source())?;
    }
    let jobs: Vec<_> = table::programs().collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<_>, String> {
        let mut images = vec![];
        while let Some((file, variant)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let image = compile(nvcc, folder, file, variant);
            images.push(image.inspect_err(|_| next.store(jobs.len(), Ordering::Relaxed))?);
        }
        Ok(images)
    };
    let threads = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1_usize);
    let parts: Result<Vec<_>, _> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".into())))
            .collect()
    });
    Ok(parts?.concat())
}

/// Compiles an image with NVRTC's options; returns its key and path.
fn compile(nvcc: &Path, folder: &Path, file: &File, variant: &Variant) -> Result<(String, PathBuf), String> {
    let key = table::key(file.name, variant.iter().copied());
    let path = folder.join(key.replace(' ', "-") + ".fatbin");
    let mut command = Command::new(nvcc);
    command.args(["--fatbin", "--compress-mode=size", "--std=c++17"]);
    command.args(TARGETS.map(|target| format!("--generate-code={target}")));
    command.args(variant.iter().map(|(name, value)| format!("--define-macro={name}={value}")));
    command.arg("--output-file").arg(&path).arg(folder.join(file.name));
    let output = command.output().map_err(|error| format!("running {}: {error}", nvcc.display()))?;
    if output.status.success() {
        return Ok((key, path));
    }
    let log = [output.stdout, output.stderr].concat();
    Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&log)))
}
