//! Parameters in the query of a request.

use crate::problem::Problem;
use nnz::op::Op;
use nnz::{Selection, c64};
use std::convert::Infallible;
use std::fmt::Display;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::ops::Range;
use std::str::FromStr;

/// An error of parsing, which says what would be right.
pub(crate) trait Needed: Display {
    fn needed(&self) -> String {
        self.to_string()
    }
}

impl Needed for nnz::Error {}
impl Needed for Infallible {}
impl Needed for &'static str {}

impl Needed for ParseIntError {
    fn needed(&self) -> String {
        match self.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "the number is too large".into(),
            _ => "a whole number is needed, such as 0 or 12".into(),
        }
    }
}

impl Needed for ParseFloatError {
    fn needed(&self) -> String {
        "a number is needed".into()
    }
}

/// The parameters of one request, each of which its operation knows.
#[derive(Debug, Default)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Fails for a name that is not among `known`, and for one that is there twice.
    pub(crate) fn new(pairs: Vec<(String, String)>, known: &[&str]) -> Result<Self, Problem> {
        let parameters = Self(pairs);
        parameters.check_known(known).map(|()| parameters)
    }

    /// Fails for a name that is not among `known`, and for one that is there twice.
    pub(crate) fn check_known(&self, known: &[&str]) -> Result<(), Problem> {
        let Self(pairs) = self;
        for (position, (name, _)) in pairs.iter().enumerate() {
            if !known.contains(&&**name) {
                let known = if known.is_empty() { "there are none".into() } else { known.join(", ") };
                return Err(Problem::bad_request(format!(
                    "unknown parameter `{}`: {known}",
                    name.escape_debug()
                )));
            }
            if pairs[..position].iter().any(|(other, _)| other == name) {
                return Err(Problem::bad_request(format!("parameter `{name}` is there twice")));
            }
        }
        Ok(())
    }

    /// Parameters whose names were checked before.
    pub(crate) fn checked(pairs: Vec<(String, String)>) -> Self {
        Self(pairs)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| &**value)
    }

    /// The value of a parameter, or `default` without it.
    pub(crate) fn get_or<T>(&self, name: &str, default: T) -> Result<T, Problem>
    where
        T: FromStr<Err: Needed>,
    {
        Ok(self.get(name)?.unwrap_or(default))
    }

    pub(crate) fn get<T>(&self, name: &str) -> Result<Option<T>, Problem>
    where
        T: FromStr<Err: Needed>,
    {
        let wrong = |text: &str, error: T::Err| {
            let needed = error.needed();
            Problem::bad_request(format!("parameter {name}={}: {needed}", text.escape_debug()))
        };
        self.text(name).map(|text| text.parse().map_err(|error| wrong(text, error))).transpose()
    }

    pub(crate) fn required<T>(&self, name: &str) -> Result<T, Problem>
    where
        T: FromStr<Err: Needed>,
    {
        self.get(name)?.ok_or_else(|| Problem::bad_request(format!("parameter `{name}` is needed")))
    }

    /// A real or complex factor such as `2`, `0.5` or `1,-2`; 1 without the parameter.
    pub(crate) fn factor(&self, name: &str) -> Result<c64, Problem> {
        let Some(text) = self.text(name) else { return Ok(c64::ONE) };
        let (re, im) = text.split_once(',').unwrap_or((text, "0"));
        match (re.parse(), im.parse()) {
            (Ok(re), Ok(im)) => Ok(c64::new(re, im)),
            _ => Err(Problem::bad_request(format!(
                "parameter {name}={}: a number, or RE,IM, is needed",
                text.escape_debug()
            ))),
        }
    }

    /// op(A) of a product; A itself without the parameter.
    pub(crate) fn op(&self) -> Result<Op, Problem> {
        self.get_or("op", Op::None)
    }

    /// True for `1` and `true`.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.text(name) {
            None | Some("0" | "false") => Ok(false),
            Some("1" | "true") => Ok(true),
            Some(other) => {
                let other = other.escape_debug();
                Err(Problem::bad_request(format!("parameter {name}={other}: one of 0, 1, false, true")))
            }
        }
    }

    /// Positions such as `0,3,3,5..9`, all below `extent`, and no more than `extent` or
    /// [`REPEATED_POSITIONS`]; all of them, once, without the parameter.
    pub(crate) fn positions(&self, name: &str, extent: usize) -> Result<Positions, Problem> {
        let Some(text) = self.text(name) else { return Ok(Positions(std::iter::once(0..extent).collect())) };
        let limit = extent.max(REPEATED_POSITIONS);
        let wrong = |part: &str| {
            let part = part.escape_debug();
            Problem::bad_request(format!(
                "parameter {name}: `{part}`: a number or a range A..B with B <= {extent} is needed, {limit} positions in all at most"
            ))
        };
        let (mut ranges, mut count) = (vec![], 0);
        for part in text.split(',') {
            let (first, end) = match part.split_once("..") {
                Some((first, end)) => (first.parse().ok(), end.parse().ok()),
                None => {
                    let position: Option<usize> = part.parse().ok();
                    (position, position.and_then(|position| position.checked_add(1)))
                }
            };
            match first.zip(end) {
                Some((first, end)) if first <= end && end <= extent && end - first <= limit - count => {
                    ranges.push(first..end);
                    count += end - first;
                }
                _ => return Err(wrong(part)),
            }
        }
        Ok(Positions(ranges))
    }
}

/// Positions of which few rows or columns may be repeated: a query of a few bytes may ask for as many each.
const REPEATED_POSITIONS: usize = 1 << 16;

/// Chosen rows or columns, as ranges: all columns of a wide matrix are more than memory holds.
#[derive(Debug)]
pub(crate) struct Positions(Vec<Range<usize>>);

impl Positions {
    /// The number of positions.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|range| range.len()).sum()
    }

    /// True for one range, of which the library takes no list.
    pub(crate) fn is_range(&self) -> bool {
        self.0.len() == 1
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().cloned().flatten()
    }

    /// The same for the library, without a list where one range is all.
    pub(crate) fn selection(&self) -> Selection<'static> {
        match &self.0[..] {
            [range] => range.clone().into(),
            _ => Selection::List(self.iter().collect::<Vec<_>>().into()),
        }
    }

    /// The number of times that the most frequent position occurs.
    pub(crate) fn most_repeats(&self) -> usize {
        // Ends come before starts at the same position, which they do not contain.
        let mut changes: Vec<_> =
            self.0.iter().flat_map(|range| [(range.start, 1), (range.end, -1)]).collect();
        changes.sort_unstable();
        let repeats = changes.iter().scan(0, |repeats: &mut isize, (_, change)| {
            *repeats += change;
            Some(*repeats)
        });
        repeats.max().map_or(0, isize::unsigned_abs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_known_and_positions_in_range() {
        let parse = |text: &str| {
            let pairs = vec![("rows".to_owned(), text.to_owned())];
            Parameters::new(pairs, &["rows"]).unwrap().positions("rows", 10)
        };
        let listed = parse("0,3,5..8").unwrap();
        assert_eq!(listed.iter().collect::<Vec<_>>(), [0, 3, 5, 6, 7]);
        assert_eq!((listed.len(), listed.most_repeats()), (5, 1));
        assert_eq!(parse("0,3..5,4..6,4,6..8,1..1").unwrap().most_repeats(), 3);
        let repeated = format!("0..10,{}", ["3"; 20].join(","));
        assert_eq!((parse(&repeated).unwrap().len(), parse(&repeated).unwrap().most_repeats()), (30, 21));
        let many = |count: usize| vec!["0..10"; count / 10].join(",");
        assert!(parse(&many(REPEATED_POSITIONS)).is_ok() && parse(&many(REPEATED_POSITIONS + 10)).is_err());
        let all = Parameters::default().positions("rows", usize::MAX).unwrap();
        assert_eq!((all.len(), all.most_repeats()), (usize::MAX, 1));
        for wrong in ["10", "0..11", "-1", "3..2", "", "x", "18446744073709551615"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(Parameters::new(vec![("a".into(), "1".into())], &["rows"]).is_err());
    }

    #[test]
    fn numbers_that_are_none_are_told_what_is() {
        let value = |text: &str| Parameters::checked(vec![("ttl".into(), text.into())]);
        for (text, needed) in [
            ("-1", "whole number"),
            ("1.5", "whole number"),
            ("1e9", "whole number"),
            ("99999999999999999999", "too large"),
        ] {
            let refused = value(text).get::<u64>("ttl").unwrap_err();
            assert!(refused.detail().contains(needed), "{text}: {}", refused.detail());
        }
        assert!(value("x").get::<f64>("ttl").unwrap_err().detail().ends_with("ttl=x: a number is needed"));
    }
}
