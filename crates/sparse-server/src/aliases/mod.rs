//! Aliases: names that point to matrices of their tenant, and move from one to another in one step.
//!
//! The part that faces clients has them: it tells a request which matrices its aliases point to, wherever those are. An
//! alias that is durable is in a database of its own, `aliases.redb`, before it is acknowledged. A request that may
//! give a name to a matrix or to an alias claims it for as long as it is at work, so that both never have one.

mod claims;
mod requests;

use crate::durable::{ReopenedDatabase, checked, database_problem};
use crate::error::StartError;
use crate::lock::lock;
use crate::problem::Problem;
use crate::request::etag::Tags;
use axum::http::{HeaderValue, StatusCode};
use claims::Claims;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableError};
pub(crate) use requests::{describe, list, put, remove, resolve};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The target of each durable alias, by `tenant/name`.
const ALIASES: TableDefinition<'_, &str, &str> = TableDefinition::new("aliases");
/// The name of the database in the folder of data.
const FILE: &str = "aliases.redb";

/// Aliases that a tenant may have.
const ALIASES_PER_TENANT: usize = 1000;

/// The aliases of all tenants.
#[derive(Debug)]
pub(crate) struct Aliases {
    /// Made once there is a durable alias.
    database: ReopenedDatabase,
    /// Held while an alias changes.
    changing: Mutex<()>,
    /// By tenant and name.
    known: Mutex<HashMap<String, BTreeMap<String, Alias>>>,
    claims: Claims,
}

/// The matrix to which an alias points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Alias {
    /// `name`, whose newest version is meant, or `name@version`.
    target: String,
    durable: bool,
}

/// The conditions of a request under which an alias may change: `If-None-Match` and `If-Match`.
#[derive(Debug, Default)]
struct Conditions {
    /// The alias must be new.
    is_first: bool,
    /// The alias must have one of these tags.
    if_match: Option<Tags>,
}

impl Alias {
    /// The entity tag: the target, in quotes.
    fn tag(&self) -> HeaderValue {
        HeaderValue::from_str(&format!("\"{}\"", self.target)).unwrap_or(HeaderValue::from_static("\"\""))
    }
}

impl Conditions {
    fn check(&self, found: Option<&Alias>) -> Result<(), Problem> {
        let failed = |detail| Err(Problem::new(StatusCode::PRECONDITION_FAILED, "no-match", detail));
        match (found, &self.if_match) {
            (Some(alias), _) if self.is_first => {
                failed(format!("If-None-Match: the alias points to `{}`", alias.target))
            }
            (Some(alias), Some(tags)) if !tags.contain(&alias.tag()) => {
                failed(format!("If-Match: the alias points to `{}`", alias.target))
            }
            (None, Some(_)) => failed("If-Match: there is no such alias".into()),
            _ => Ok(()),
        }
    }
}

impl Aliases {
    /// The durable aliases of a folder of data. A request whose client is gone has no effect after the time.
    pub(crate) fn open(data: &Path, longest_request: Duration) -> Result<Arc<Self>, StartError> {
        let path = data.join(FILE);
        let database = ReopenedDatabase::at(path.clone());
        let known = match path.exists() {
            true => checked(&path, || Ok(database.with(read)?))?,
            false => HashMap::new(),
        };
        let (changing, known, claims) = (Mutex::default(), Mutex::new(known), Claims::new(longest_request));
        Ok(Arc::new(Self { database, changing, known, claims }))
    }

    fn has_any(&self, tenant: &str) -> bool {
        lock(&self.known).contains_key(tenant)
    }

    fn find(&self, tenant: &str, name: &str) -> Option<Alias> {
        lock(&self.known).get(tenant)?.get(name).cloned()
    }

    /// Fails for the name of an alias, under which nothing is stored or deleted.
    fn check_no_alias(&self, tenant: &str, name: &str) -> Result<(), Problem> {
        match self.find(tenant, name) {
            None => Ok(()),
            Some(alias) => Err(Problem::conflict(format!(
                "`{name}` is an alias of `{}`: name the matrix, or /v1/aliases/{name} to change where it points",
                alias.target
            ))),
        }
    }

    fn of(&self, tenant: &str) -> BTreeMap<String, Alias> {
        lock(&self.known).get(tenant).cloned().unwrap_or_default()
    }

    /// Points a name to a target, at first or in place of another one; true if the alias is new.
    fn set(
        &self,
        (tenant, name): (&str, &str),
        alias: Alias,
        conditions: &Conditions,
    ) -> Result<bool, Problem> {
        let _changing = lock(&self.changing);
        let found = self.find(tenant, name);
        conditions.check(found.as_ref())?;
        let count = lock(&self.known).get(tenant).map_or(0, BTreeMap::len);
        if found.is_none() && count >= ALIASES_PER_TENANT {
            let detail = format!("there are {count} aliases already, as many as may be: delete some");
            return Err(Problem::new(StatusCode::INSUFFICIENT_STORAGE, "too-many-objects", detail));
        }
        if alias.durable || found.as_ref().is_some_and(|found| found.durable) {
            self.write(&key(tenant, name), Some(&*alias.target).filter(|_| alias.durable))?;
        }
        lock(&self.known).entry(tenant.into()).or_default().insert(name.into(), alias);
        Ok(found.is_none())
    }

    fn remove(&self, (tenant, name): (&str, &str), conditions: &Conditions) -> Result<(), Problem> {
        let _changing = lock(&self.changing);
        let found = self.find(tenant, name).ok_or_else(|| missing(name))?;
        conditions.check(Some(&found))?;
        if found.durable {
            self.write(&key(tenant, name), None)?;
        }
        let mut known = lock(&self.known);
        if let Some(of_tenant) = known.get_mut(tenant) {
            of_tenant.remove(name);
            if of_tenant.is_empty() {
                known.remove(tenant);
            }
        }
        Ok(())
    }

    /// Brings the database up to date with an alias, or with one that is no longer there.
    fn write(&self, key: &str, target: Option<&str>) -> Result<(), Problem> {
        let written = self.database.with(|database| {
            let write = database.begin_write()?;
            let mut aliases = write.open_table(ALIASES)?;
            match target {
                Some(target) => aliases.insert(key, target)?,
                None => aliases.remove(key)?,
            };
            drop(aliases);
            Ok(write.commit()?)
        });
        written.map_err(|error| database_problem("the aliases", error))
    }
}

fn key(tenant: &str, name: &str) -> String {
    format!("{tenant}/{name}")
}

fn missing(name: &str) -> Problem {
    Problem::not_found(format!("there is no alias `{name}`: GET /v1/aliases lists them"))
}

fn read(database: &Database) -> Result<HashMap<String, BTreeMap<String, Alias>>, redb::Error> {
    let mut known: HashMap<String, BTreeMap<String, Alias>> = HashMap::new();
    let aliases = match database.begin_read()?.open_table(ALIASES) {
        // A process that was killed before its first alias leaves a database without a table.
        Err(TableError::TableDoesNotExist(_)) => return Ok(known),
        opened => opened?,
    };
    for entry in aliases.iter()? {
        let (key, target) = entry?;
        if let Some((tenant, name)) = key.value().split_once('/') {
            let alias = Alias { target: target.value().into(), durable: true };
            known.entry(tenant.into()).or_default().insert(name.into(), alias);
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alias(target: &str, durable: bool) -> Alias {
        Alias { target: target.into(), durable }
    }

    #[test]
    fn durable_aliases_are_there_again_and_others_are_not() {
        let data = tempfile::tempdir().unwrap();
        let aliases = Aliases::open(data.path(), Duration::ZERO).unwrap();
        let set =
            |name, to, durable| aliases.set(("t", name), alias(to, durable), &Conditions::default()).unwrap();
        assert!(set("fleeting", "a", false));
        assert!(!data.path().join(FILE).exists(), "nothing durable has been asked for");
        assert!(set("kept", "a@1", true) && !set("kept", "a@2", true));
        // One that is durable no longer does not come back with the target that it had.
        assert!(set("changed", "a@1", true) && !set("changed", "a@2", false));
        assert!(set("gone", "a", true));
        aliases.remove(("t", "gone"), &Conditions::default()).unwrap();
        assert_eq!(aliases.of("t").len(), 3);
        drop(aliases);
        let aliases = Aliases::open(data.path(), Duration::ZERO).unwrap();
        assert_eq!(aliases.of("t"), BTreeMap::from([("kept".into(), alias("a@2", true))]));
        assert!(!aliases.has_any("other") && aliases.find("other", "kept").is_none());
    }

    #[test]
    fn a_tenant_has_so_many_aliases_and_others_have_theirs() {
        let data = tempfile::tempdir().unwrap();
        let aliases = Aliases::open(data.path(), Duration::ZERO).unwrap();
        let set = |tenant, name: &str| aliases.set((tenant, name), alias("a", false), &Conditions::default());
        (0..ALIASES_PER_TENANT).for_each(|k| assert!(set("t", &format!("n{k}")).unwrap()));
        assert_eq!(set("t", "more").unwrap_err().status, StatusCode::INSUFFICIENT_STORAGE);
        assert!(!set("t", "n0").unwrap() && set("other", "more").unwrap());
    }
}
