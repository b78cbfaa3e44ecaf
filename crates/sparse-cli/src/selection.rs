//! Chosen rows or columns, as options name them.

use crate::claim;
use crate::context::Context;
use crate::file;
use crate::operand::Operand;
use anyhow::{Result, bail};
use nnz::io::npy;
use nnz::{DType, Matrix};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Chosen rows or columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// `START:STOP:STEP` as in NumPy: negative ones count from the end, and a stop past the end is the end.
    Range { start: Option<isize>, stop: Option<isize>, step: isize },
    /// One number; a negative one counts from the end.
    One(isize),
    /// The numbers of a .npy file, of which negative ones count from the end; or its booleans.
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
            part => match part.parse::<isize>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => {
                    Err(format!("`{part}` is not a whole number; START:STOP:STEP or a .npy file is needed"))
                }
            },
        };
        match text.split(':').map(number).collect::<Result<Vec<_>, _>>()?[..] {
            [Some(one)] => Ok(Self::One(one)),
            [start, stop] => Ok(Self::Range { start, stop, step: 1 }),
            [_, _, Some(0)] => Err("the step is 0; another number is needed".into()),
            [start, stop, step] => Ok(Self::Range { start, stop, step: step.unwrap_or(1) }),
            _ => Err("a number, START:STOP, START:STOP:STEP or a .npy file is needed".into()),
        }
    }
}

impl Selection {
    /// The chosen ones of `extent` rows or columns of a matrix, which justifies the memory for a list; `what` is `row`
    /// or `column`.
    pub(crate) fn of(&self, what: &str, extent: usize, a: &Matrix) -> Result<nnz::Selection<'static>> {
        let Self::Range { start, stop, step } = self else {
            return Ok(nnz::Selection::List(self.indices(what, extent)?.into()));
        };
        let (range, stride) = range(extent, *start, *stop, *step);
        if *step == 1 {
            return Ok(range.into());
        }
        let bytes = range.len().div_ceil(stride).saturating_mul(size_of::<usize>());
        claim::check(&format!("the list of {what}s"), bytes, a.nnz().saturating_mul(a.dtype().bytes()))?;
        Ok(nnz::Selection::List(self.indices(what, extent)?.into()))
    }

    /// The chosen ones of `extent` rows or columns; `what` is `row` or `column`.
    pub(crate) fn indices(&self, what: &str, extent: usize) -> Result<Vec<usize>> {
        match self {
            Self::Range { start, stop, step } => {
                let (range, stride) = range(extent, *start, *stop, *step);
                Ok(if *step > 0 {
                    range.step_by(stride).collect()
                } else {
                    range.rev().step_by(stride).collect()
                })
            }
            Self::One(one) => match from_start(extent, *one).filter(|&index| index < extent) {
                Some(index) => Ok(vec![index]),
                None => bail!("{what} {one}: there are {extent} {what}s, numbered from 0"),
            },
            Self::File(path) => {
                let list = Operand::read(path)?;
                list.check_vector()?;
                let is_mask = !file::is_standard(path) && npy::is_boolean(path)?;
                let list = list.into_dense(DType::F64, &Context::host()?)?;
                let numbers = list.values().to_vec::<f64>()?;
                if is_mask {
                    return masked(path, &numbers, extent);
                }
                let index = |number: f64| match listed(extent, number) {
                    Some(index) => Ok(index),
                    None => bail!(
                        "{}: {number} is not the number of a {what}: there are {extent}, numbered from 0",
                        path.display()
                    ),
                };
                numbers.into_iter().map(index).collect()
            }
        }
    }
}

/// An index that counts from the end where it is negative; none before the first.
fn from_start(extent: usize, index: isize) -> Option<usize> {
    if index >= 0 { Some(index.unsigned_abs()) } else { extent.checked_sub(index.unsigned_abs()) }
}

/// The index that a number of a list stands for, perhaps beyond the last; none if it is before the first or not whole.
fn listed(extent: usize, number: f64) -> Option<usize> {
    if number.fract() == 0.0 { from_start(extent, number as isize) } else { None }
}

/// The half-open range of indices that a NumPy slice spans: it takes every `step`-th one from the first, or from the
/// last backwards if the step is negative.
fn range(extent: usize, start: Option<isize>, stop: Option<isize>, step: isize) -> (Range<usize>, usize) {
    if step > 0 {
        let bound = |index: isize| from_start(extent, index).unwrap_or(0).min(extent);
        let (start, stop) = (start.map_or(0, bound), stop.map_or(extent, bound));
        return (start..stop.max(start), step.unsigned_abs());
    }
    // Numbers of indices from 0 on: the start belongs to a range that descends, and the stop does not.
    let count =
        |index: isize| from_start(extent, index).map_or(0, |index| index.saturating_add(1)).min(extent);
    (stop.map_or(0, count)..start.map_or(extent, count), step.unsigned_abs())
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
        let indices = |text: &str| text.parse::<Selection>().unwrap().indices("row", 5).unwrap();
        assert_eq!(indices(":"), [0, 1, 2, 3, 4]);
        assert_eq!(indices("1:3"), [1, 2]);
        assert_eq!(indices("1::2"), [1, 3]);
        assert_eq!(indices("3:99"), [3, 4]);
        assert_eq!(indices("4"), [4]);
        assert_eq!(indices("-2"), [3]);
        assert_eq!(indices("-2:"), [3, 4]);
        assert_eq!(indices("-99:-3"), [0, 1]);
        assert_eq!(indices("::-1"), [4, 3, 2, 1, 0]);
        assert_eq!(indices("3::-2"), [3, 1]);
        assert_eq!(indices("99:1:-1"), [4, 3, 2]);
        assert_eq!(indices("-1:-4:-2"), [4, 2]);
        for text in ["4:2", "1:3:-1", "-9::-1", ":-1:-1"] {
            assert!(indices(text).is_empty(), "{text}");
        }
        for text in ["-6", "5"] {
            let error = text.parse::<Selection>().unwrap().indices("row", 5).unwrap_err();
            assert_eq!(error.to_string(), format!("row {text}: there are 5 rows, numbered from 0"));
        }
        for text in ["", "::0", "a:3", "1.5:", "1:2:3:4"] {
            assert!(text.parse::<Selection>().is_err(), "{text}");
        }
    }
}
