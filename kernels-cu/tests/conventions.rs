//! The conventions of kernel files in every language, as kernels-cl/README.md describes them: what the head of a file
//! says, how a file states its macros, and the order of arguments.

use kernels_core::File;
use std::collections::BTreeSet;

fn files() -> impl Iterator<Item = &'static File> {
    kernels_cl::SYCL_FILES.iter().chain(kernels_cu::FILES)
}

/// The comment that a file begins with, as one line.
fn head(file: &File) -> String {
    let lines = file.text.lines().map_while(|line| line.strip_prefix("//"));
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// The parts of the head: the text, the list of macros, the launches and what follows.
fn parts(file: &File) -> (String, String, String) {
    let head = head(file);
    let (text, rest) = head.split_once(" Macros: ").unwrap_or_else(|| panic!("{}: no macros", file.name));
    let (macros, launch) = rest.split_once("Launch: ").unwrap_or_else(|| panic!("{}: no launch", file.name));
    (text.into(), macros.into(), launch.into())
}

/// The words of a text that can be names of macros.
fn names(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect()
}

#[test]
fn heads_say_what_is_computed_what_is_read_and_how_to_launch() {
    for file in files() {
        let (text, _, launch) = parts(file);
        assert!(text.starts_with(&format!("{}: ", file.stem())), "{}", file.name);
        assert!(text.contains("eads "), "{}: no memory traffic", file.name);
        assert!(!launch.is_empty(), "{}", file.name);
    }
}

#[test]
fn macros_of_the_host_are_in_the_head_and_an_error_where_they_are_missing() {
    for file in files() {
        let (_, macros, _) = parts(file);
        let (listed, source) = (names(&macros), file.source());
        for define in file.defines {
            let (file, name) = (file.name, define.name);
            assert!(listed.contains(name), "{file}: {name} is not in the head");
            let check = format!("#ifndef {name}\n#error \"{name} is missing: ");
            assert!(source.contains(&check), "{file}: {name} is not checked");
        }
    }
}

/// Numbers that are no choice: the lanes of a warp, the bits of a word, what stands for padding or for a problem, and
/// what the code around them is written for.
const FIXED: &[&str] = &[
    "LANES",
    "WARP",
    "BITS",
    "MAX_INT",
    "PADDING",
    "ROWS",
    "LARGEST_DELTA",
    "OFFSETS",
    "RANGE",
    "FALLS",
    "REPEATS",
    "STAGES",
    "DONE_SHIFT",
    "WIDE",
    "DIGIT",
    "MAX_PASSES",
    "COUNT_BITS",
    "SLEEP",
    "SLEEP_OF_CHAINS",
];

#[test]
fn constants_have_a_default_and_are_in_the_head() {
    for file in files() {
        let (_, macros, _) = parts(file);
        let lines: Vec<_> = file.text.lines().collect();
        for pair in lines.windows(2) {
            let Some((name, value)) =
                pair[1].strip_prefix("#define ").and_then(|define| define.split_once(' '))
            else {
                continue;
            };
            if pair[0] == format!("#ifndef {name}") {
                assert!(macros.contains(&format!("{name} = ")), "{}: {name} is not in the head", file.name);
            } else if value.parse::<u64>().is_ok() {
                assert!(FIXED.contains(&name), "{}: {name} {value} has no #ifndef", file.name);
            }
        }
        let source = file.source();
        for (before, _) in macros.match_indices(" = ") {
            let name = macros[..before].rsplit(' ').next().unwrap_or_default();
            let default = format!("#ifndef {name}\n#define {name} ");
            assert!(source.contains(&default), "{}: {name} has no default", file.name);
        }
    }
}

/// The parameters of a kernel: type and name.
fn parameters(file: &'static File, entry: &str) -> Vec<(&'static str, &'static str)> {
    let split = |parameter: &'static str| {
        let (of, name) = parameter.split_at(parameter.rfind([' ', '*']).expect("a type and a name") + 1);
        (of.trim(), name)
    };
    file.parameters(entry).expect("the file has its entries").into_iter().map(split).collect()
}

/// Operands in their order; those of one line take each other's place.
const ORDER: &[&[&str]] = &[
    &["offsets", "slice_ptr", "row_idx", "splits"],
    &["indices", "col_idx", "columns", "deltas"],
    &["values"],
    &["alpha"],
    &["x", "b"],
    &["beta"],
    &["y", "c"],
];

#[test]
fn operands_stand_in_one_order() {
    for file in files() {
        for entry in file.entries {
            let parameters = parameters(file, entry);
            let first = |names: &&[&str]| parameters.iter().position(|(_, name)| names.contains(name));
            let positions: Vec<_> = ORDER.iter().filter_map(first).collect();
            assert!(positions.is_sorted(), "{entry} in {}: {parameters:?}", file.name);
        }
    }
}

#[test]
fn sizes_stand_first() {
    // The place of an operand in its array, or its size, stands behind the operand.
    let is_place = |name: &str| {
        ["start", "stride", "split", "capacity"].contains(&name)
            || ["_start", "_row", "_col", "_step"].iter().any(|end| name.ends_with(end))
    };
    let mut late = BTreeSet::new();
    for file in files() {
        for &entry in file.entries {
            let behind =
                parameters(file, entry).into_iter().skip_while(|(of, _)| !of.contains("const ")).skip(1);
            let sizes = behind.filter(|(of, name)| ["long", "long long"].contains(of) && !is_place(name));
            late.extend(sizes.map(|(_, name)| (entry, name)));
        }
    }
    assert!(late.is_empty(), "{late:?}");
}
