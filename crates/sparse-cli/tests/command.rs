//! The command as a user calls it: its output, files and exit status.
//!
//! Each `cmd/*.trycmd` runs in a copy of `data/` (its `.in`), and the files that it leaves are compared with its
//! `.out`. No OpenCL runtime, no SYCL and no GPU is found there, so that transcripts agree on machines with and without
//! one.

#[test]
fn every_subcommand_does_what_its_transcript_says() {
    trycmd::TestCases::new()
        .env("OCL_ICD_VENDORS", "/nowhere/vendors")
        .env("NNZ_SYCL_SHIM", "/nowhere/libnnz_sycl.so")
        .env("CUDA_VISIBLE_DEVICES", "")
        .case("tests/cmd/*.trycmd");
}
