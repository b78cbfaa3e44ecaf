//! The operations of `sparse-device` launch kernels by file, entry, macros and arguments, in any language: every kernel
//! of kernels-cl is here too, with the same ones.

use kernels_core::File;

/// The differences between the languages in a list of parameters.
const SPELLINGS: &[(&str, &str)] = &[
    ("__global ", ""),
    ("__restrict__ ", ""),
    ("unsigned long long ", "ulong "),
    ("long long ", "long "),
    ("unsigned int ", "uint "),
    ("unsigned char ", "uchar "),
    ("unsigned short ", "ushort "),
    ("Idx ", "IDX "),
    ("Off ", "OFF "),
    ("Word ", "WORD "),
    ("Element ", "ELEMENT "),
    ("Key ", "KEY "),
    ("Position ", "POS "),
    ("Place ", "PLACE "),
    // Where rows begin and end.
    ("BRow *b_rows", "OFF *b_rows"),
    // Each stores the bits of a mask in its own order.
    ("Words *mask", "uchar *mask"),
];

/// The parameters of a kernel, spelled as in OpenCL C.
fn parameters(file: &File, entry: &str) -> Vec<String> {
    let spelled = |parameter: &str| {
        let text = SPELLINGS.iter().fold(parameter.to_string(), |text, (from, to)| text.replace(from, to));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let parameters = file.parameters(entry).expect("the file has its entries");
    parameters.into_iter().map(spelled).collect()
}

#[test]
fn every_opencl_kernel_is_here_with_the_same_arguments() {
    // Files that need sub-groups have no twin: warps are sub-groups.
    for cl in kernels_cl::FILES.iter().filter(|file| file.needs.is_empty()) {
        let name = cl.name.replace(".cl", ".cu");
        let cu = kernels_cu::file(&name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(cl.entries, cu.entries, "{name}");
        assert_eq!(cl.defines, cu.defines, "{name}");
        for entry in cl.entries {
            assert_eq!(parameters(cl, entry), parameters(cu, entry), "{entry}");
        }
    }
}

/// Features that OpenCL does not promise: independent forward progress of work-groups, for kernels that wait for each
/// other, dynamic shared memory, and tensor cores.
const BEYOND_OPENCL: &[&str] =
    &["#include \"look_back.cuh\"", "#include \"ready.cuh\"", "extern __shared__", "mma.sync"];

/// Files of plans that CUDA alone has: products by blocks of unknowns, by strips and by patterns of rows, and what a kernel
/// beyond OpenCL takes.
const PLANS: &[&str] = &[
    "csr_spmv_row_patterns",
    "row_patterns",
    "spgemm_node_blocks",
    "spgemm_node_blocks_sum",
    "spgemm_nodes",
    "spgemm_strips",
    "trisolve_places",
];

/// Files that end what a kernel beyond OpenCL begins.
const END_BEYOND: &[&str] = &["spgemm_merge_values"];

/// Files whose gain is the exchange between the lanes of a warp, for operands of a kernel that OpenCL has too.
const BY_WARPS: &[&str] = &["sddmm_aligned", "sddmm_quads"];

/// Files that write memory of the host by its address.
const OF_THE_HOST: &[&str] = &["to_host"];

/// Files that do at once what OpenCL does by several kernels of another file. Their gain was measured with CUDA alone.
const AT_ONCE: &[&str] = &["vector_step"];

#[test]
fn every_kernel_that_opencl_can_have_is_there_too() {
    let beyond = |file: &&File| {
        BEYOND_OPENCL.iter().any(|text| file.text.contains(text))
            || [PLANS, END_BEYOND, BY_WARPS, OF_THE_HOST, AT_ONCE].concat().contains(&file.stem())
    };
    let missing: Vec<_> = kernels_cu::FILES
        .iter()
        .filter(|file| !beyond(file))
        .map(|file| file.stem())
        .filter(|stem| kernels_cl::FILES.iter().all(|file| file.stem() != *stem))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
