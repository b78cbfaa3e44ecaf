//! The tiers of the table.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The time at which a case runs. Each tier includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Tier {
    /// A few small matrices with one type of values, for simulators that take a second per kernel.
    Tiny,
    /// Seconds, or minutes where kernels are compiled for a CPU: on every change.
    Quick,
    /// Minutes: before a merge. Hours where kernels are compiled for a CPU.
    #[default]
    Ci,
    /// Longer.
    Nightly,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tiny => "tiny",
            Self::Quick => "quick",
            Self::Ci => "ci",
            Self::Nightly => "nightly",
        })
    }
}

impl std::str::FromStr for Tier {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "tiny" => Ok(Self::Tiny),
            "quick" => Ok(Self::Quick),
            "ci" => Ok(Self::Ci),
            "nightly" => Ok(Self::Nightly),
            _ => Err(format!("unknown tier `{name}`: one of tiny, quick, ci, nightly")),
        }
    }
}
