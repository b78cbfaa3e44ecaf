//! Stand-ins for 13 graphs that sparse products are measured on.
//!
//! The originals (Open Graph Benchmark, DGL, CogDL, SNAP and others) cannot be shipped. A stand-in has its original's
//! exact number of rows and entries and its longest row; row lengths follow a fitted law and published counts,
//! columns a guess at how the original clusters. Each is a [`Recipe`] with a fixed seed. Where an original is only
//! known to have a few empty rows, the stand-in has 0.1 %.
//!
//! | name | rows | entries | longest row | structure |
//! |---|--:|--:|--:|---|
//! | arxiv | 169 343 | 1 166 243 | 13 161 | 62 006 rows empty, 31 101 of one entry, 30 rows from 5000 |
//! | collab | 235 868 | 2 358 104 | 670 | communities of 20, 18 % duplicates |
//! | citation | 2 927 963 | 30 387 995 | 10 000 | a tenth of the rows empty, heavy columns |
//! | ddi | 4 267 | 2 135 822 | 2 234 | an eighth of all elements stored |
//! | protein | 132 534 | 79 122 504 | 7 750 | 8 diagonal blocks, columns near the diagonal, natural order |
//! | ppa | 576 289 | 42 463 862 | 3 241 | 58 communities |
//! | reddit | 232 965 | 114 615 891 | 21 657 | 50 communities, 80 % inside |
//! | products | 2 449 029 | 123 718 280 | 17 481 | 5000 communities, 70 % inside |
//! | youtube | 1 138 499 | 5 980 886 | 28 754 | Chung-Lu, power law 2.15 |
//! | amazon_cogdl | 1 569 960 | 264 339 468 | 60 000 | 3 rows from 50 000 |
//! | yelp | 716 847 | 13 954 819 | 4 886 | log-normal |
//! | wikikg2 | 2 500 604 | 16 109 182 | 999 | a tenth empty, 0.1 % above 30, half of the entries duplicates |
//! | am | 881 680 | 5 668 682 | 50 000 | power law 2.0 |

use super::degree::{Law, RowLengths, Tail};
use super::recipe::{Columns, Recipe, Weight};
use sparse_core::error::{Error, Result};
use sparse_core::format::Csr;
use sparse_core::scalar::Scalar;

/// A generated graph that stands in for a well-known one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StandIn {
    /// The name of the original.
    pub name: &'static str,
    /// The recipe.
    pub recipe: Recipe<'static>,
}

impl StandIn {
    /// The matrix, with rows and entries divided by `divisor`: 1 for the whole, 16 for a machine with two cores.
    ///
    /// ```
    /// use sparse_core::SparseFormat;
    /// use sparse_generate::stand_in;
    ///
    /// let a = stand_in::find("am")?.generate::<f32>(100)?;
    /// assert_eq!(a.nrows(), 8816);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Recipe::generate`]; ddi, for one, is too dense to be divided by more than 5.
    pub fn generate<T: Scalar>(&self, divisor: usize) -> Result<Csr<T>> {
        self.recipe.generate(divisor)
    }
}

/// The stand-in called `name`.
///
/// ```
/// use sparse_generate::stand_in;
///
/// assert_eq!(stand_in::find("reddit")?.recipe.lengths.nnz, 114_615_891);
/// assert!(stand_in::find("facebook").is_err());
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unsupported`], with all names, if there is none.
pub fn find(name: &str) -> Result<&'static StandIn> {
    ALL.iter().find(|graph| graph.name == name).ok_or_else(|| {
        let names = ALL.map(|graph| graph.name).join(", ");
        Error::unsupported(format_args!("the graph `{name}`"), format_args!("there are {names}"))
    })
}

/// The 13 graphs.
pub static ALL: [StandIn; 13] = [
    StandIn {
        name: "arxiv",
        recipe: Recipe {
            lengths: RowLengths {
                tails: &[exactly(62_006, 0), exactly(31_101, 1), tail(29, 5000, 13_161), tail(80, 300, 4999)],
                least: 2,
                most: 4999,
                ..lengths(169_343, 1_166_243, 13_161, log_normal(0.51, 1.49))
            },
            ..recipe(1, by(Weight::LogNormal { sigma: 1.0 }))
        },
    },
    StandIn {
        name: "collab",
        recipe: Recipe {
            lengths: RowLengths {
                tails: &[exactly(236, 0)],
                ..lengths(235_868, 2_358_104, 670, log_normal(1.3, 1.2))
            },
            repeats: Some(0.0),
            ..recipe(2, clustered(11_793, 0.5))
        },
    },
    StandIn {
        name: "citation",
        recipe: Recipe {
            lengths: RowLengths {
                tails: &[exactly(292_796, 0), tail(1000, 500, 10_000)],
                ..lengths(2_927_963, 30_387_995, 10_000, log_normal(1.6, 1.2))
            },
            ..recipe(3, by(Weight::LogNormal { sigma: 1.6 }))
        },
    },
    StandIn {
        name: "ddi",
        recipe: Recipe {
            lengths: lengths(4_267, 2_135_822, 2_234, log_normal(5.9, 0.8)),
            ..recipe(4, by(Weight::RowLength))
        },
    },
    StandIn {
        name: "protein",
        recipe: Recipe {
            lengths: lengths(132_534, 79_122_504, 7_750, log_normal(6.03, 0.86)),
            shuffled: false,
            ..recipe(5, Columns::Near { blocks: 8 })
        },
    },
    StandIn {
        name: "ppa",
        recipe: Recipe {
            lengths: lengths(576_289, 42_463_862, 3_241, log_normal(3.8, 1.0)),
            ..recipe(6, clustered(58, 0.9))
        },
    },
    StandIn {
        name: "reddit",
        recipe: Recipe {
            lengths: lengths(232_965, 114_615_891, 21_657, log_normal(5.55, 1.14)),
            ..recipe(7, clustered(50, 0.8))
        },
    },
    StandIn {
        name: "products",
        recipe: Recipe {
            lengths: lengths(2_449_029, 123_718_280, 17_481, log_normal(3.16, 1.24)),
            ..recipe(8, clustered(5000, 0.7))
        },
    },
    StandIn {
        name: "youtube",
        recipe: Recipe {
            lengths: lengths(1_138_499, 5_980_886, 28_754, Law::PowerLaw { exponent: 2.15 }),
            ..recipe(9, by(Weight::RowLength))
        },
    },
    StandIn {
        name: "amazon_cogdl",
        recipe: Recipe {
            lengths: RowLengths {
                tails: &[exactly(1570, 0), tail(2, 50_000, 60_000)],
                most: 49_999,
                ..lengths(1_569_960, 264_339_468, 60_000, log_normal(4.2, 1.35))
            },
            ..recipe(10, by(Weight::RowLength))
        },
    },
    StandIn {
        name: "yelp",
        recipe: Recipe {
            lengths: RowLengths {
                tails: &[exactly(717, 0)],
                ..lengths(716_847, 13_954_819, 4_886, log_normal(1.64, 1.63))
            },
            ..recipe(11, by(Weight::RowLength))
        },
    },
    StandIn {
        name: "wikikg2",
        recipe: Recipe {
            lengths: RowLengths {
                tails: &[exactly(250_060, 0), tail(2500, 31, 999)],
                most: 30,
                ..lengths(2_500_604, 16_109_182, 999, log_normal(1.84, 0.5))
            },
            repeats: Some(0.55),
            ..recipe(12, by(Weight::Zipf { exponent: 1.1 }))
        },
    },
    StandIn {
        name: "am",
        recipe: Recipe {
            lengths: RowLengths {
                tails: &[exactly(882, 0)],
                ..lengths(881_680, 5_668_682, 50_000, Law::PowerLaw { exponent: 2.0 })
            },
            ..recipe(13, by(Weight::RowLength))
        },
    },
];

/// A shuffled graph with unique columns, without row lengths yet.
const fn recipe(seed: u64, columns: Columns) -> Recipe<'static> {
    let lengths = lengths(0, 0, 0, log_normal(0.0, 1.0));
    Recipe { lengths, columns, repeats: None, shuffled: true, seed }
}

/// Lengths without tails and without empty rows.
const fn lengths(n: usize, nnz: usize, longest: usize, law: Law) -> RowLengths<'static> {
    RowLengths { n, nnz, longest, tails: &[], law, least: 1, most: longest }
}

const fn log_normal(mu: f64, sigma: f64) -> Law {
    Law::LogNormal { mu, sigma }
}

const fn exactly(rows: usize, length: usize) -> Tail {
    tail(rows, length, length)
}

const fn tail(rows: usize, least: usize, most: usize) -> Tail {
    Tail { rows, least, most }
}

/// Columns by weight, without communities.
const fn by(weight: Weight) -> Columns {
    Columns::Weighted { weight, communities: 1, inside: 0.0 }
}

/// Columns by the lengths of their own rows, mostly inside one's community.
const fn clustered(communities: usize, inside: f64) -> Columns {
    Columns::Weighted { weight: Weight::RowLength, communities, inside }
}
