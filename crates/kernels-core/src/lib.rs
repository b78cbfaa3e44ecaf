//! Tables of kernel files for [nnz](https://docs.rs/nnz) in every language: files with their entries and macros, and
//! the resolver of their includes. `kernels-cl` and `kernels-cu` contain the texts.

pub mod table;

/// A macro that a file must be compiled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Define {
    /// The macro's name.
    pub name: &'static str,
    /// The values that it can have; for sizes, those that tests compile.
    pub values: &'static [&'static str],
}

/// A header: its name in includes, and its text.
pub type Header = (&'static str, &'static str);

/// A file of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// The file's name, with its extension.
    pub name: &'static str,
    /// The names of the kernels.
    pub entries: &'static [&'static str],
    /// The macros of the kernels.
    pub defines: &'static [Define],
    /// Features that the device needs, of [`Caps::features`](https://docs.rs/sparse-core): extensions of the language,
    /// or abilities of its compiler.
    pub needs: &'static [&'static str],
    /// The text, with includes that name some of `headers`.
    pub text: &'static str,
    /// The headers of the language.
    pub headers: &'static [Header],
}

impl File {
    /// The file's name without its extension, which is the same in every language.
    pub fn stem(&self) -> &'static str {
        self.name.split('.').next().unwrap_or(self.name)
    }

    /// The language, which is the file's extension: `cl`, `cu` or `sycl`.
    pub fn language(&self) -> &'static str {
        self.name.split('.').next_back().unwrap_or_default()
    }

    /// The needs that a device with these features lacks.
    pub fn lacks(&self, features: &[String]) -> Vec<&'static str> {
        let has = |need: &&str| features.iter().any(|feature| feature == need);
        self.needs.iter().copied().filter(|need| !has(need)).collect()
    }

    /// The text with its includes in place, each header once, and `#line` directives, so that a compiler's messages
    /// name the line of the original file.
    pub fn source(&self) -> String {
        let mut source = Source { headers: self.headers, included: vec![], text: String::new() };
        source.append(self.name, self.text);
        source.text
    }

    /// The parameters of a kernel, as its text declares them; none if it is not a kernel of this file.
    pub fn parameters(&self, entry: &str) -> Option<Vec<&'static str>> {
        let (_, rest) = self.text.split_once(&format!(" {entry}("))?;
        let (list, _) = rest.split_once(')')?;
        Some(list.split(',').map(str::trim).filter(|parameter| !parameter.is_empty()).collect())
    }

    /// Every set of defines that matrices of the catalogue's types have: offsets are never narrower than indices, half
    /// precision has only 32-bit indices and offsets, and real values are never conjugated.
    pub fn variants(&self) -> Vec<Vec<(&'static str, &'static str)>> {
        let mut variants = self.sets_of_defines();
        variants.retain(|variant| {
            let has = |name, value| variant.contains(&(name, value));
            let narrow = has("IDX", "long") && has("OFF", "int");
            let half = has("SCALAR", "F16") || has("SCALAR", "BF16");
            !narrow && !(half && (has("IDX", "long") || has("OFF", "long")))
        });
        variants
    }

    /// True if a plan can ask for these values of macros, in any order: one of the [`variants`](Self::variants), or one
    /// for types outside the catalogue, which no image is made for. Work-groups may have any size (`BLOCK`), which is
    /// the device's.
    pub fn accepts<'a, 'b>(&self, defines: impl Iterator<Item = (&'a str, &'b str)>) -> bool {
        let wanted = without_block(defines);
        self.sets_of_defines().into_iter().any(|set| without_block(set.into_iter()) == wanted)
    }

    /// A value for every macro; real values are never conjugated.
    fn sets_of_defines(&self) -> Vec<Vec<(&'static str, &'static str)>> {
        let mut sets = vec![vec![]];
        for define in self.defines {
            let with = |value: &&'static str| {
                let value = (define.name, *value);
                sets.iter().map(move |before: &Vec<_>| [before.as_slice(), &[value]].concat())
            };
            sets = define.values.iter().flat_map(with).collect();
        }
        sets.retain(|set| {
            let has = |name, value| set.contains(&(name, value));
            has("SCALAR", "C32") || has("SCALAR", "C64") || !has("CONJ", "1")
        });
        sets
    }
}

/// The macros but for the size of work-groups, in order.
fn without_block<'a, 'b>(defines: impl Iterator<Item = (&'a str, &'b str)>) -> Vec<(&'a str, &'b str)> {
    let mut defines: Vec<_> = defines.filter(|(name, _)| *name != table::BLOCK.name).collect();
    defines.sort_unstable();
    defines
}

/// The text of a file, to which files and their includes are appended.
struct Source {
    headers: &'static [Header],
    included: Vec<&'static str>,
    text: String,
}

impl Source {
    /// Appends a file; an include of an unknown header stays for the compiler to report.
    fn append(&mut self, name: &str, text: &str) {
        self.text += &format!("#line 1 \"{name}\"\n");
        for (number, line) in text.lines().enumerate() {
            match self.header(line) {
                Some((header, text)) => {
                    if !self.included.contains(&header) {
                        self.included.push(header);
                        self.append(header, text);
                    }
                    self.text += &format!("#line {} \"{name}\"\n", number + 2);
                }
                None => self.text += &format!("{line}\n"),
            }
        }
    }

    fn header(&self, line: &str) -> Option<Header> {
        let name = line.strip_prefix("#include \"")?.strip_suffix('"')?;
        self.headers.iter().copied().find(|&(header, _)| header == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: &[Header] = &[("a.h", "int a;\n"), ("b.h", "#include \"a.h\"\nint b;\n")];

    fn file(defines: &'static [Define], text: &'static str) -> File {
        File { name: "f.c", entries: &[], defines, needs: &[], text, headers: HEADERS }
    }

    #[test]
    fn includes_are_resolved_once_and_lines_keep_their_numbers() {
        let source = file(&[], "#include \"a.h\"\n#include \"b.h\"\n#include \"c.h\"\nint f;\n").source();
        let lines = [
            "#line 1 \"f.c\"",
            "#line 1 \"a.h\"",
            "int a;",
            "#line 2 \"f.c\"",
            "#line 1 \"b.h\"",
            "#line 2 \"b.h\"",
            "int b;",
            "#line 3 \"f.c\"",
            "#include \"c.h\"",
            "int f;",
        ];
        assert_eq!(source.lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn a_kernel_has_the_parameters_of_its_text() {
        let file = file(&[], "KERNEL fill(long n,\n            float *y) {}\nKERNEL nothing() {}\n");
        assert_eq!(file.parameters("fill"), Some(vec!["long n", "float *y"]));
        assert_eq!(file.parameters("nothing"), Some(vec![]));
        assert_eq!(file.parameters("ill"), None);
    }

    #[test]
    fn variants_are_all_sets_of_defines_that_matrices_have() {
        const INDEX: &[Define] = &[
            Define { name: "SCALAR", values: &["F16", "F32"] },
            Define { name: "IDX", values: &["int", "long"] },
            Define { name: "OFF", values: &["int", "long"] },
        ];
        let variants = file(INDEX, "").variants();
        let expected =
            [["F16", "int", "int"], ["F32", "int", "int"], ["F32", "int", "long"], ["F32", "long", "long"]];
        let values: Vec<_> = variants.iter().map(|v| [v[0].1, v[1].1, v[2].1]).collect();
        assert_eq!(values.len(), expected.len());
        assert!(expected.iter().all(|triple| values.contains(triple)));
        assert_eq!(file(&[], "").variants(), [vec![]]);
    }

    #[test]
    fn defines_have_every_macro_and_a_work_group_of_any_size() {
        const DEFINES: &[Define] = &[
            Define { name: "SCALAR", values: &["F16", "F32"] },
            Define { name: "OFF", values: &["int", "long"] },
            table::BLOCK,
        ];
        let accepts = |defines: &[(&str, &str)]| file(DEFINES, "").accepts(defines.iter().copied());
        assert!(accepts(&[("BLOCK", "128"), ("OFF", "long"), ("SCALAR", "F32")]));
        assert!(
            accepts(&[("BLOCK", "128"), ("OFF", "long"), ("SCALAR", "F16")]),
            "no image, and yet a matrix"
        );
        assert!(
            !accepts(&[("BLOCK", "128"), ("OFF", "int"), ("SCALAR", "F64")]),
            "a value that is not listed"
        );
        assert!(!accepts(&[("BLOCK", "128"), ("SCALAR", "F32")]), "a macro is missing");
        assert!(!accepts(&[("OFF", "int"), ("SCALAR", "F32"), ("WIDE", "0")]), "a macro too many");
    }

    #[test]
    fn only_complex_values_are_conjugated() {
        const DEFINES: &[Define] = &[
            Define { name: "SCALAR", values: &["F32", "C32"] },
            Define { name: "CONJ", values: &["0", "1"] },
        ];
        let values: Vec<_> = file(DEFINES, "").variants().iter().map(|v| [v[0].1, v[1].1]).collect();
        assert_eq!(values, [["F32", "0"], ["C32", "0"], ["C32", "1"]]);
    }
}
