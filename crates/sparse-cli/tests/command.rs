//! The command as a user calls it: what it prints, what it writes, how it exits.
//!
//! Each `cmd/*.trycmd` runs in a copy of `data/` (its `.in`), and the files that it leaves are compared with its `.out`.
//! No OpenCL runtime, no SYCL and no GPU is found there, so that transcripts agree on machines with one and without.

#[test]
fn every_subcommand_does_what_its_transcript_says() {
    trycmd::TestCases::new()
        .env("OCL_ICD_VENDORS", "/nowhere/vendors")
        .env("NNZ_SYCL_SHIM", "/nowhere/libnnz_sycl.so")
        .env("CUDA_VISIBLE_DEVICES", "")
        .case("tests/cmd/*.trycmd");
}
