//! Generators by name, for the command line.

use super::{
    adversarial, band, power_law, rmat, stand_in, stencil_5, stencil_7, stencil_9, stencil_27, uniform,
};
use sparse_core::error::{Error, Result};
use sparse_core::format::Csr;
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// One argument of a [`Generator`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// The name in usage lines.
    pub name: &'static str,
    /// The value where the argument is left out; arguments with a default come last.
    pub default: Option<&'static str>,
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.default {
            None => f.write_str(self.name),
            Some(default) => write!(f, "[{}={default}]", self.name),
        }
    }
}

/// A generator that can be called by name.
#[derive(Debug)]
pub struct Generator {
    /// The name.
    pub name: &'static str,
    /// The arguments, in order.
    pub arguments: &'static [Argument],
    /// A description in one line.
    pub about: &'static str,
    run: fn(&Given<'_>) -> Result<Csr<f64>>,
}

impl Generator {
    /// The matrix for these arguments.
    ///
    /// ```
    /// use sparse_core::SparseFormat;
    ///
    /// let band = sparse_generate::catalogue().iter().find(|generator| generator.name == "band").unwrap();
    /// let arguments = ["100", "1", "1"].map(String::from);
    /// assert_eq!(band.generate(&arguments)?.nnz(), 298);
    /// let error = band.generate(&arguments[..1]).unwrap_err().to_string();
    /// assert!(error.ends_with("usage: band N LOWER UPPER [SEED=0]"));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`], with the usage, if the arguments are too few, too many, or of another kind; the
    /// generator's own errors.
    pub fn generate(&self, arguments: &[String]) -> Result<Csr<f64>> {
        let required = self.arguments.iter().filter(|argument| argument.default.is_none()).count();
        if !(required..=self.arguments.len()).contains(&arguments.len()) {
            return Err(self.usage_error(arguments, "the number of arguments is wrong"));
        }
        (self.run)(&Given { generator: self, arguments })
    }

    fn usage_error(&self, arguments: &[String], reason: impl Display) -> Error {
        let call: String = arguments.iter().map(|argument| format!(" {argument}")).collect();
        Error::unsupported(format_args!("`{}{call}`", self.name), format_args!("{reason}; usage: {self}"))
    }
}

/// The usage: the name and the arguments.
impl Display for Generator {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
    }
}

/// Arguments of the right number.
struct Given<'a> {
    generator: &'a Generator,
    arguments: &'a [String],
}

impl Given<'_> {
    /// Argument `position`, or its default.
    fn text(&self, position: usize) -> &str {
        let default = self.generator.arguments[position].default.unwrap_or_default();
        self.arguments.get(position).map_or(default, String::as_str)
    }

    /// Argument `position` as a number.
    fn number<N: Number>(&self, position: usize) -> Result<N> {
        let text = self.text(position);
        text.parse().map_err(|_| {
            let (name, what) = (self.generator.arguments[position].name, N::WHAT);
            self.generator.usage_error(self.arguments, format_args!("{name} is `{text}`, not {what}"))
        })
    }
}

/// The type of an argument.
trait Number: FromStr {
    /// The requirement, as messages name it.
    const WHAT: &'static str;
}

impl Number for usize {
    const WHAT: &'static str = "a whole number that fits 64 bits";
}

impl Number for u64 {
    const WHAT: &'static str = usize::WHAT;
}

impl Number for u32 {
    const WHAT: &'static str = "a whole number that fits 32 bits";
}

impl Number for f64 {
    const WHAT: &'static str = "a number";
}

/// All generators.
///
/// ```
/// let usages: Vec<String> =
///     sparse_generate::catalogue().iter().map(|generator| generator.to_string()).collect();
/// assert_eq!(usages[0], "stencil_5 NX NY");
/// ```
pub fn catalogue() -> &'static [Generator] {
    &CATALOGUE
}

/// The matrix of the generator `name` for `arguments`.
///
/// ```
/// let a = sparse_generate::by_name("stencil_5", &["3".into(), "2".into()])?;
/// assert_eq!(a.row_ptr(), &[0, 3, 7, 10, 13, 17, 20]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unsupported`], with all names, if there is no such generator; otherwise as [`Generator::generate`].
pub fn by_name(name: &str, arguments: &[String]) -> Result<Csr<f64>> {
    match CATALOGUE.iter().find(|generator| generator.name == name) {
        Some(generator) => generator.generate(arguments),
        None => {
            let names: Vec<&str> = CATALOGUE.iter().map(|generator| generator.name).collect();
            let reason = format!("there are {}", names.join(", "));
            Err(Error::unsupported(format_args!("the generator `{name}`"), reason))
        }
    }
}

const fn needed(name: &'static str) -> Argument {
    Argument { name, default: None }
}

const fn optional(name: &'static str, default: &'static str) -> Argument {
    Argument { name, default: Some(default) }
}

const SEED: Argument = optional("SEED", "0");
const GRID_2D: &[Argument] = &[needed("NX"), needed("NY")];
const GRID_3D: &[Argument] = &[needed("NX"), needed("NY"), needed("NZ")];

static CATALOGUE: [Generator; 10] = [
    Generator {
        name: "stencil_5",
        arguments: GRID_2D,
        about: "the 5-point Laplacian on a grid",
        run: |given| stencil_5(given.number(0)?, given.number(1)?),
    },
    Generator {
        name: "stencil_9",
        arguments: GRID_2D,
        about: "the 9-point Laplacian on a grid",
        run: |given| stencil_9(given.number(0)?, given.number(1)?),
    },
    Generator {
        name: "stencil_7",
        arguments: GRID_3D,
        about: "the 7-point Laplacian on a grid",
        run: |given| stencil_7(given.number(0)?, given.number(1)?, given.number(2)?),
    },
    Generator {
        name: "stencil_27",
        arguments: GRID_3D,
        about: "the 27-point stencil on a grid",
        run: |given| stencil_27(given.number(0)?, given.number(1)?, given.number(2)?),
    },
    Generator {
        name: "band",
        arguments: &[needed("N"), needed("LOWER"), needed("UPPER"), SEED],
        about: "a full band with LOWER diagonals below the main one and UPPER above",
        run: |given| band(given.number(0)?, given.number(1)?, given.number(2)?, given.number(3)?),
    },
    Generator {
        name: "uniform",
        arguments: &[needed("ROWS"), needed("COLS"), needed("PER_ROW"), SEED],
        about: "PER_ROW entries in every row, in uniformly random columns",
        run: |given| uniform(given.number(0)?, given.number(1)?, given.number(2)?, given.number(3)?),
    },
    Generator {
        name: "power_law",
        arguments: &[needed("N"), needed("AVERAGE"), needed("EXPONENT"), needed("LONGEST"), SEED],
        about: "a Chung-Lu graph of N x AVERAGE edges whose row lengths follow a power law",
        run: |given| {
            let (n, average, exponent) = (given.number(0)?, given.number(1)?, given.number(2)?);
            power_law(n, average, exponent, given.number(3)?, given.number(4)?)
        },
    },
    Generator {
        name: "rmat",
        arguments: &[
            needed("SCALE"),
            needed("EDGES"),
            SEED,
            optional("A", "0.57"),
            optional("B", "0.19"),
            optional("C", "0.19"),
            optional("D", "0.05"),
        ],
        about: "an R-MAT graph of 2^SCALE vertices and EDGES edges for each of them",
        run: |given| {
            let quadrants = [given.number(3)?, given.number(4)?, given.number(5)?, given.number(6)?];
            rmat(given.number(0)?, given.number(1)?, quadrants, given.number(2)?)
        },
    },
    Generator {
        name: "stand_in",
        arguments: &[needed("GRAPH"), optional("DIVISOR", "1")],
        about: "a stand-in for a well-known graph, with rows and entries divided by DIVISOR",
        run: |given| stand_in::find(given.text(0))?.generate(given.number(1)?),
    },
    Generator {
        name: "adversarial",
        arguments: &[needed("CASE")],
        about: "a small matrix that breaks kernels",
        run: |given| adversarial::find(given.text(0)),
    },
];
