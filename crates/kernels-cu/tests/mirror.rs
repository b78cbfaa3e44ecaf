//! The operations of `sparse-device` launch kernels by file, entry, macros and arguments, whatever the language: every
//! kernel of kernels-cl is here too, and takes the same.

use kernels_core::File;

/// What the languages write differently in a list of parameters.
const SPELLINGS: &[(&str, &str)] = &[
    ("__global ", ""),
    ("__restrict__ ", ""),
    ("long long", "long"),
    ("unsigned int ", "uint "),
    ("unsigned short ", "ushort "),
    ("Idx ", "IDX "),
    ("Off ", "OFF "),
    ("Word ", "WORD "),
    ("Element ", "ELEMENT "),
    ("Key ", "KEY "),
    ("Position ", "POS "),
];

/// The parameters of a kernel, one by one.
fn parameters(file: &File, entry: &str) -> Vec<String> {
    let (_, rest) = file.text.split_once(&format!(" {entry}(")).expect("the file has its entries");
    let (list, _) = rest.split_once(')').expect("a list of parameters ends");
    let spelled = SPELLINGS.iter().fold(list.to_string(), |text, (from, to)| text.replace(from, to));
    spelled.split(',').map(|parameter| parameter.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn every_opencl_kernel_is_here_with_the_same_arguments() {
    // What needs sub-groups has no twin: warps are sub-groups.
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

/// Kernels that wait for each other need what OpenCL does not promise: work-groups that all go on.
#[test]
fn every_kernel_that_waits_for_no_other_is_in_opencl_too() {
    let alone = kernels_cu::FILES.iter().filter(|file| !file.text.contains("#include \"look_back.cuh\""));
    let missing: Vec<_> = alone
        .map(|file| file.stem())
        .filter(|stem| kernels_cl::FILES.iter().all(|file| file.stem() != *stem))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
