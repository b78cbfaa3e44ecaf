//! The OpenCL C kernels of [nnz](https://docs.rs/nnz), and some in SYCL C++: only text, compiled at run time by
//! `backend-opencl`.
//!
//! The kernels are plain OpenCL C 1.2, apart from those whose [`File::needs`] names sub-groups, and from instructions
//! of NVIDIA's devices where the macro `NV_ARCH` says that one is there; float atomics are emulated by integer ones.
//! [`FILES`] lists every file with its kernels and macros, [`SYCL_FILES`] also those in SYCL C++.

use kernels_core::file;
pub use kernels_core::{Define, File, Header};

const HEADERS: &[Header] = kernels_core::headers!(
    "cl",
    [
        "atomic_add.clh",
        "ballot.clh",
        "columns.clh",
        "deltas.clh",
        "deltas_products.clh",
        "dense_rows.clh",
        "entry.clh",
        "index.clh",
        "lanes.clh",
        "multiply.clh",
        "pack.clh",
        "panel.clh",
        "products.clh",
        "quotient.clh",
        "row_block.clh",
        "row_steps.clh",
        "scalar.clh",
        "search.clh",
        "smallest.clh",
        "sub_group.clh",
        "team.clh",
        "words.clh"
    ]
);

const SYCL_HEADERS: &[Header] = kernels_core::headers!("sycl", ["scalar.syclh", "warp.syclh"]);

/// The files in OpenCL C, followed by those of another language.
macro_rules! files {
    ($($more:expr),*) => {
        kernels_core::files!(
            "cl",
            HEADERS,
            [
                file!(
                    "cl",
                    HEADERS,
                    "csr_spmv_sub_group",
                    ["csr_spmv_row_per_sub_group"],
                    [SCALAR, IDX, OFF, CONJ],
                    needs "cl_khr_subgroup_shuffle"
                ),
                file!(
                    "cl",
                    HEADERS,
                    "dense_to_csr_sub_group",
                    ["dense_to_csr_count_row_per_sub_group", "dense_to_csr_fill_row_per_sub_group"],
                    [SCALAR, IDX, OFF],
                    needs "cl_khr_subgroup_ballot"
                ),
                $($more),*
            ]
        )
    };
}

/// A file in SYCL C++, which needs a compiler at run time, pointers as arguments and sub-groups of 32.
macro_rules! sycl_file {
    ($stem:literal, $entries:tt, $defines:tt) => {
        file!(
            "sycl",
            SYCL_HEADERS,
            $stem,
            $entries,
            $defines,
            needs "ext_oneapi_can_compile",
            needs "usm_device_allocations",
            needs "sub_group_size_32"
        )
    };
}

/// Every file of OpenCL's kernels: those that every language has in alphabetical order, and OpenCL's own.
pub const FILES: &[File] = files!();

/// The same files and SYCL's own, for SYCL queues.
pub const SYCL_FILES: &[File] = files!(
    sycl_file!("coo_spmv_warp", ["coo_spmv_segmented_warp"], [SCALAR, IDX, BLOCK]),
    sycl_file!("dense_to_csr_warp", ["dense_to_csr_count_warp", "dense_to_csr_fill_warp"], [SCALAR, IDX])
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_kernel() {
        for file in SYCL_FILES {
            let begin = if file.language() == "sycl" { "\nKERNEL " } else { "__kernel" };
            let kernels = file.text.matches(begin).count();
            assert_eq!(kernels, file.entries.len(), "{}", file.name);
            for entry in file.entries {
                assert!(file.text.contains(&format!(" {entry}(")), "{entry} in {}", file.name);
            }
        }
    }

    #[test]
    fn every_include_is_resolved() {
        assert!(SYCL_FILES.iter().all(|file| !file.source().contains("#include \"")));
    }

    #[test]
    fn a_missing_define_is_an_error_of_the_compiler() {
        for file in SYCL_FILES {
            let source = file.source();
            for define in file.defines {
                assert!(source.contains(&format!("{} ", define.name)), "{} of {}", define.name, file.name);
            }
            assert!(source.contains("#error"), "{}", file.name);
        }
    }

    /// An early return before a barrier corrupts memory on PoCL: kernels, which return nothing, never return early.
    #[test]
    fn no_kernel_returns_early() {
        for file in SYCL_FILES {
            assert!(!file.text.contains("return;"), "{}", file.name);
        }
    }

    /// PoCL 3.1 skips what stands before a loop that begins with a barrier: loops end with theirs.
    #[test]
    fn no_loop_begins_with_a_barrier() {
        for file in FILES {
            let lines: Vec<_> = file.text.lines().map(str::trim).collect();
            let begins = |pair: &[&str]| pair[0].starts_with("for ") && pair[1].starts_with("barrier(");
            assert!(!lines.windows(2).any(begins), "{}", file.name);
        }
    }

    /// Intel's CPU runtime 2026.2 miscompiles `int w = get_local_id(0) / 32; long r = ... + w`: the id is an int first.
    #[test]
    fn local_ids_are_ints_before_anything_is_computed_of_them() {
        for file in FILES {
            let uses = file.text.matches("get_local_id(").count();
            let ints = file.text.matches("int lid = (int)get_local_id(0);").count();
            assert_eq!(uses, ints, "{}", file.name);
        }
    }
}
