//! The command as a user calls it: its output, files and exit status.
//!
//! Each `cmd/*.trycmd` runs in a copy of `data/` (its `.in`), and the files that it leaves are compared with its
//! `.out`. No OpenCL runtime, no SYCL and no GPU is found there, so that transcripts agree on machines with and without
//! one; and no measured rates are read or stored.

use std::fs;

/// Transcripts that find no device but the CPU.
fn transcripts() -> trycmd::TestCases {
    let transcripts = trycmd::TestCases::new();
    transcripts
        .env("OCL_ICD_VENDORS", "/nowhere/vendors")
        .env("NNZ_SYCL_SHIM", "/nowhere/libnnz_sycl.so")
        .env("CUDA_VISIBLE_DEVICES", "")
        .env("NNZ_RATES_CACHE", "");
    transcripts
}

#[test]
fn every_subcommand_does_what_its_transcript_says() {
    transcripts().case("tests/cmd/*.trycmd");
}

/// The blocks in `console` of the README, in a folder that is empty at first.
#[test]
fn the_readme_shows_what_the_command_does() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("README.md");
    fs::create_dir(folder.path().join("README.in")).unwrap();
    assert!(
        fs::copy(readme, &copy).is_ok() && fs::read_to_string(&copy).unwrap().contains("```console\n$ nnz")
    );
    transcripts().case(&copy).run();
    assert!(folder.path().join("README.in/y.mtx").exists());
}
