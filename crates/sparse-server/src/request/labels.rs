//! Labels of objects: pairs of key and value, by which objects are listed.

use crate::problem::Problem;
use crate::request::name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Labels that one object may have.
const MAX_LABELS: usize = 32;

/// The labels of an object, at most one for each key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Labels(BTreeMap<String, String>);

impl Labels {
    /// Parses `key=value,key=value`; an empty text has none.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let mut labels = BTreeMap::new();
        for (key, value) in pairs(text)? {
            let value = value.ok_or_else(|| wrong(&format!("`{key}` has no value: KEY=VALUE is needed")))?;
            if labels.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(wrong(&format!("`{key}` is there twice")));
            }
        }
        if labels.len() > MAX_LABELS {
            return Err(wrong(&format!("{} labels where {MAX_LABELS} may be", labels.len())));
        }
        Ok(Self(labels))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The labels that listed objects must have, all of them: `key=value`, or `key` with any value.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector(Vec<(String, Option<String>)>);

impl Selector {
    /// Parses `key=value,key`; an empty text selects everything.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let owned = |(key, value): (&str, Option<&str>)| (key.to_owned(), value.map(str::to_owned));
        Ok(Self(pairs(text)?.into_iter().map(owned).collect()))
    }

    pub(crate) fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|(key, value)| {
            let found = labels.0.get(key);
            found.is_some_and(|found| value.as_ref().is_none_or(|value| value == found))
        })
    }
}

/// The keys and values of a list that commas separate.
fn pairs(text: &str) -> Result<Vec<(&str, Option<&str>)>, Problem> {
    if text.is_empty() {
        return Ok(vec![]);
    }
    text.split(',').map(|part| pair(part).map_err(|reason| wrong(&reason))).collect()
}

/// The parts of `key=value` or `key`.
fn pair(text: &str) -> Result<(&str, Option<&str>), String> {
    let (key, value) = text.split_once('=').map_or((text, None), |(key, value)| (key, Some(value)));
    name::check("key", key)?;
    value.map_or(Ok(()), |value| name::check("value", value))?;
    Ok((key, value))
}

fn wrong(reason: &str) -> Problem {
    Problem::bad_request(format!("labels: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_selected_by_key_and_value() {
        let labels = Labels::parse("project=pde,run=7").unwrap();
        let selects = |text| Selector::parse(text).unwrap().matches(&labels);
        for selected in ["", "run", "run=7", "project=pde,run=7", "run,project"] {
            assert!(selects(selected), "{selected}");
        }
        for left_out in ["run=8", "project,run=8", "user"] {
            assert!(!selects(left_out), "{left_out}");
        }
        assert!(Labels::parse("").unwrap().is_empty());
    }

    #[test]
    fn wrong_labels_are_refused() {
        let many: Vec<_> = (0..=MAX_LABELS).map(|k| format!("k{k}=1")).collect();
        for wrong in ["run", "run=", "=7", "a=1,a=2", "a=1,", "a=1;b", "a=\n", &many.join(",")] {
            assert!(Labels::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Selector::parse("a,,b").is_err());
    }
}
