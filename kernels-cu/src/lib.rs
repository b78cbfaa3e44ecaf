//! The CUDA C++ kernels of [nnz](https://docs.rs/nnz): texts that `backend-cuda` compiles at run time, and with the
//! feature `aot` images that nvcc compiled when this crate was built.
//!
//! The kernels include no standard headers, since NVRTC has none, and run on every architecture from sm_75 on.
//! [`FILES`] lists every file with its kernels and macros; [`File::source`] returns its text with the includes
//! resolved. Files, entries, arguments and macros are those of `kernels-cl`, with CUDA's own beside them.
//!
//! # Launches
//!
//! The head of each file says what its kernels compute, their work per thread and memory traffic, and their macros and
//! launches. A kernel that gives an item to a thread runs with blocks of any size up to 256, one that gives an item to
//! a warp with any multiple of 32 up to 256, one that gives an item to a block with blocks of exactly `BLOCK` threads.
//! Every one of them strides over its grid, so that any number of blocks, from one on, is right. The kernels of
//! `column_blocks` are the exception: their blocks have up to 1024 threads and dynamic shared memory, and there are
//! equally many for each block of columns, and slice of B. Blocks of `csr_spmv_row_per_block` have up to 128 threads;
//! those of `partial_sums` any power of two from 32 to 1024; those of `dense_to_csr_look_back` 64 to 224, and
//! shared memory for each warp but one. Kernels that call `wait_for_last` may be launched before the launch before them
//! has ended.
//!
//! # Images
//!
//! The feature `aot` needs nvcc of CUDA 12.8 or newer, which is looked for in the variable `NVCC`, in `bin` of
//! `CUDA_HOME` and `CUDA_PATH`, and in `PATH`; nvcc needs a C++ compiler of the host. There is an image of every file
//! with every set of defines that `backend-cuda` asks for: all types of values and indices, blocks of 256 threads. It
//! has code for sm_75, sm_80, sm_90, sm_100 and what is compatible with them, and PTX, which the driver compiles for
//! later architectures. There are 1282 images.

mod table;

pub use kernels_core::{Define, File, Header};

/// Every file of kernels: those that every language has in alphabetical order, and CUDA's own.
pub const FILES: &[File] = table::FILES;

/// Aligns bytes so that the driver may read words.
#[repr(align(8))]
struct Aligned<B: ?Sized>(B);

/// The images in order of their keys.
static IMAGES: &[(&str, &Aligned<[u8]>)] = include!(concat!(env!("OUT_DIR"), "/images.rs"));

/// The image of a file with these defines, if one was made when this crate was built: a fatbin of the kernels for all
/// architectures. Without the feature `aot` there is none.
pub fn image<'a, 'b>(
    file: &str,
    defines: impl IntoIterator<Item = (&'a str, &'b str)>,
) -> Option<&'static [u8]> {
    let key = table::key(file, defines);
    let at = IMAGES.binary_search_by(|(image, _)| (*image).cmp(&key)).ok()?;
    Some(&IMAGES[at].1.0)
}

/// Every file with every set of defines that `backend-cuda` can ask for.
pub fn programs() -> impl Iterator<Item = (&'static File, Vec<(&'static str, &'static str)>)> {
    table::programs()
}

/// The file of this name.
pub fn file(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_kernel() {
        for file in FILES {
            assert_eq!(file.text.matches("\nKERNEL ").count(), file.entries.len(), "{}", file.name);
            for entry in file.entries {
                assert!(file.text.contains(&format!("\nKERNEL {entry}(")), "{entry} in {}", file.name);
            }
        }
    }

    #[test]
    fn every_include_is_a_header_of_ours() {
        for file in FILES {
            assert!(!file.source().contains("#include"), "{}", file.name);
        }
    }

    #[test]
    fn a_missing_define_is_an_error_of_the_compiler() {
        for file in FILES {
            let source = file.source();
            assert!(source.contains("#error"), "{}", file.name);
            for define in file.defines {
                assert!(source.contains(&format!("{} ", define.name)), "{} of {}", define.name, file.name);
            }
        }
    }

    #[test]
    fn images_are_there_with_the_feature_alone_and_found_whatever_the_order_of_defines() {
        let defines = [("SCALAR", "F32"), ("OFF", "int"), ("IDX", "int"), ("CONJ", "0")];
        let image = image("csr_spmv.cu", defines);
        assert_eq!(image.is_some(), cfg!(feature = "aot"));
        assert_eq!(image, super::image("csr_spmv.cu", defines.into_iter().rev()));
        assert_eq!(super::image("csr_spmv.cu", []), None);
        assert!(IMAGES.is_sorted_by_key(|(key, _)| key));
    }
}
