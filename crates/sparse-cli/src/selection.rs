//! Chosen rows or columns, as options name them.

use crate::context::Context;
use crate::file;
use crate::operand::Operand;
use anyhow::{Result, bail};
use nnz::DType;
use nnz::io::npy;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Chosen rows or columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// `START:STOP:STEP`; a stop past the end is the end, as in NumPy.
    Range { start: usize, stop: Option<usize>, step: usize },
    /// One number.
    One(usize),
    /// The numbers of a .npy file.
    File(PathBuf),
}

impl FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.ends_with(".npy") {
            return Ok(Self::File(text.into()));
        }
        let number = |part: &str| match part {
            "" => Ok(None),
            part => match part.parse::<usize>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => {
                    Err(format!("`{part}` is no number from 0 on; START:STOP:STEP or a .npy file is needed"))
                }
            },
        };
        match text.split(':').map(number).collect::<Result<Vec<_>, _>>()?[..] {
            [Some(one)] => Ok(Self::One(one)),
            [start, stop] => Ok(Self::Range { start: start.unwrap_or(0), stop, step: 1 }),
            [_, _, Some(0)] => Err("the step is 0; 1 or more is needed".into()),
            [start, stop, step] => {
                Ok(Self::Range { start: start.unwrap_or(0), stop, step: step.unwrap_or(1) })
            }
            _ => Err("a number, START:STOP, START:STOP:STEP or a .npy file is needed".into()),
        }
    }
}

impl Selection {
    /// The chosen ones of `extent` rows or columns.
    pub(crate) fn indices(&self, extent: usize) -> Result<Vec<usize>> {
        match self {
            Self::Range { start, stop, step } => {
                Ok((*start..stop.unwrap_or(extent).min(extent)).step_by(*step).collect())
            }
            Self::One(one) => Ok(vec![*one]),
            Self::File(path) => {
                let list = Operand::read(path)?;
                list.check_vector()?;
                let is_mask = !file::is_standard(path) && npy::is_boolean(path)?;
                let list = list.into_dense(DType::F64, &Context::host()?)?;
                let whole = |number: f64| {
                    if number.fract() != 0.0 || number < 0.0 {
                        bail!("{}: {number} is no number of a row or column, from 0 on", path.display());
                    }
                    Ok(number as usize)
                };
                let numbers = list.values().to_vec::<f64>()?;
                if is_mask {
                    return masked(path, &numbers, extent);
                }
                numbers.into_iter().map(whole).collect()
            }
        }
    }
}

/// The positions where a mask is true, as in NumPy.
fn masked(path: &Path, mask: &[f64], extent: usize) -> Result<Vec<usize>> {
    if mask.len() != extent {
        bail!("{}: the mask has {} elements, but {extent} are needed", path.display(), mask.len());
    }
    Ok((0..extent).filter(|&index| mask[index] != 0.0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_numpy() {
        let indices = |text: &str| text.parse::<Selection>().unwrap().indices(5).unwrap();
        assert_eq!(indices(":"), [0, 1, 2, 3, 4]);
        assert_eq!(indices("1:3"), [1, 2]);
        assert_eq!(indices("1::2"), [1, 3]);
        assert_eq!(indices("3:99"), [3, 4]);
        assert_eq!(indices("4"), [4]);
        assert!(indices("4:2").is_empty());
        for text in ["", "::0", "a:3", "-1:", "1:2:3:4"] {
            assert!(text.parse::<Selection>().is_err(), "{text}");
        }
    }
}
