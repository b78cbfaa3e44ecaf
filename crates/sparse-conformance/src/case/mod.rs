//! The cases of the table: matrices and operands, before any format or type.

mod corpus;
mod definition;
mod problem;
mod pseudo_random;
mod random;
mod rules;
mod shapes;
mod tier;

pub use corpus::{corpus, corpus_folder, repository_corpus};
pub use definition::{Case, Operands};
pub use problem::Problem;
pub(crate) use pseudo_random::scramble;
pub use tier::Tier;

/// All cases of matrices except those of files.
pub(crate) fn cases() -> Vec<Case> {
    [shapes::cases(), rules::cases(), random::cases()].into_iter().flatten().collect()
}
