//! Names that requests are about to give to a matrix or to an alias, so that none is ever given to both.

use super::Aliases;
use crate::lock::lock;
use crate::problem::Problem;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The claims on each `tenant/name`.
#[derive(Debug)]
pub(super) struct Claims {
    names: Mutex<Names>,
    /// Time after which a request whose client is gone makes no matrix any more.
    longest_request: Duration,
}

#[derive(Debug, Default)]
struct Names {
    claims: HashMap<String, NameClaims>,
    /// The number of names at which those without a claim are removed next.
    sweep_at: usize,
}

/// The claims on one name: all for a matrix, or all for an alias.
#[derive(Debug, Default)]
struct NameClaims {
    /// Requests in progress that may make a matrix.
    matrices: usize,
    /// Requests in progress that may make an alias.
    aliases: usize,
    /// The time until which a request whose client is gone may still make a matrix.
    abandoned_until: Option<Instant>,
}

/// The fewest names among which those without a claim are looked for.
const FEWEST_TO_SWEEP: usize = 1024;

/// A name that a request may give to a matrix, until it is answered.
#[derive(Debug)]
pub(super) struct MatrixClaim {
    aliases: Arc<Aliases>,
    key: String,
    is_answered: bool,
}

/// A name that a request may give to an alias.
#[derive(Debug)]
pub(super) struct AliasClaim {
    aliases: Arc<Aliases>,
    key: String,
}

impl Claims {
    pub(super) fn new(longest_request: Duration) -> Self {
        Self { names: Mutex::default(), longest_request }
    }
}

impl Names {
    /// The claims on a name. Now and then it removes the names whose abandoned claims have run out.
    fn claims_on(&mut self, key: &str) -> &mut NameClaims {
        if self.claims.len() >= self.sweep_at.max(FEWEST_TO_SWEEP) {
            self.claims.retain(|_, claims| !claims.is_empty());
            self.sweep_at = 2 * self.claims.len();
        }
        self.claims.entry(key.into()).or_default()
    }

    /// Changes the claims on a name, and removes the name if none is left.
    fn change(&mut self, key: &str, change: impl FnOnce(&mut NameClaims)) {
        let Some(claims) = self.claims.get_mut(key) else { return };
        change(claims);
        if claims.is_empty() {
            self.claims.remove(key);
        }
    }
}

impl NameClaims {
    fn may_become_a_matrix(&self) -> bool {
        self.matrices > 0 || self.abandoned_until.is_some_and(|until| until > Instant::now())
    }

    fn is_empty(&self) -> bool {
        self.aliases == 0 && !self.may_become_a_matrix()
    }
}

impl Aliases {
    /// Claims a name for a matrix; 409 if an alias has it, or may have it soon.
    pub(super) fn claim_for_matrix(
        self: &Arc<Self>,
        tenant: &str,
        name: &str,
    ) -> Result<MatrixClaim, Problem> {
        let key = super::key(tenant, name);
        let mut names = lock(&self.claims.names);
        // An alias gives up its claim once it is listed.
        self.check_no_alias(tenant, name)?;
        let claims = names.claims_on(&key);
        if claims.aliases > 0 {
            let detail =
                format!("a request is about to make `{name}` an alias: take another name, or try again");
            return Err(Problem::conflict(detail));
        }
        claims.matrices += 1;
        Ok(MatrixClaim { aliases: self.clone(), key, is_answered: false })
    }

    /// Claims a name for an alias; 409 if a request may make a matrix of it.
    pub(super) fn claim_for_alias(self: &Arc<Self>, tenant: &str, name: &str) -> Result<AliasClaim, Problem> {
        let key = super::key(tenant, name);
        let mut names = lock(&self.claims.names);
        let claims = names.claims_on(&key);
        if claims.may_become_a_matrix() {
            let detail =
                format!("a request may make a matrix `{name}`: take another name, or try again later");
            return Err(Problem::conflict(detail));
        }
        claims.aliases += 1;
        Ok(AliasClaim { aliases: self.clone(), key })
    }
}

impl MatrixClaim {
    /// Ends the claim of a request that was answered: what it has made is there, or is the target of a job.
    pub(super) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for MatrixClaim {
    fn drop(&mut self) {
        let Claims { names, longest_request } = &self.aliases.claims;
        lock(names).change(&self.key, |claims| {
            claims.matrices -= 1;
            if !self.is_answered {
                claims.abandoned_until = Some(Instant::now() + *longest_request);
            }
        });
    }
}

impl Drop for AliasClaim {
    fn drop(&mut self) {
        lock(&self.aliases.claims.names).change(&self.key, |claims| claims.aliases -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Alias, Conditions};
    use super::*;
    use axum::http::StatusCode;
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::thread;

    fn aliases(longest_request: Duration) -> (tempfile::TempDir, Arc<Aliases>) {
        let data = tempfile::tempdir().unwrap();
        let aliases = Aliases::open(data.path(), longest_request).unwrap();
        (data, aliases)
    }

    #[test]
    fn a_name_is_never_given_to_a_matrix_and_an_alias() {
        let (_data, aliases) = aliases(Duration::ZERO);
        let matrices: Mutex<HashSet<String>> = Mutex::default();
        let names: Vec<_> = (0..500).map(|k| format!("n{k}")).collect();
        // All come to each name at once, and leave others time before they give it.
        let all_begin = Barrier::new(4);
        let make_matrices = || {
            for name in &names {
                all_begin.wait();
                let Ok(claim) = aliases.claim_for_matrix("t", name) else { continue };
                thread::yield_now();
                lock(&matrices).insert(name.clone());
                claim.answered();
            }
        };
        let make_aliases = || {
            for name in &names {
                all_begin.wait();
                let Ok(_claim) = aliases.claim_for_alias("t", name) else { continue };
                let is_taken = lock(&matrices).contains(name);
                thread::yield_now();
                if !is_taken {
                    let alias = Alias { target: "a".into(), durable: false };
                    aliases.set(("t", name), alias, &Conditions::default()).unwrap();
                }
            }
        };
        thread::scope(|scope| {
            (0..2).for_each(|_| drop(scope.spawn(make_matrices)));
            (0..2).for_each(|_| drop(scope.spawn(make_aliases)));
        });
        let matrices = lock(&matrices);
        let found = aliases.of("t");
        assert!(names.iter().all(|name| !(matrices.contains(name) && found.contains_key(name))));
        assert!(lock(&aliases.claims.names).claims.is_empty(), "no claim is left");
    }

    #[test]
    fn a_request_whose_client_is_gone_may_make_its_matrix_still() {
        let (_data, aliases) = aliases(Duration::from_millis(50));
        drop(aliases.claim_for_matrix("t", "a").unwrap());
        let refused = aliases.claim_for_alias("t", "a").unwrap_err();
        assert_eq!(refused.status, StatusCode::CONFLICT);
        assert!(aliases.claim_for_alias("other", "a").is_ok() && aliases.claim_for_matrix("t", "a").is_ok());
        thread::sleep(Duration::from_millis(60));
        let claim = aliases.claim_for_alias("t", "a").unwrap();
        assert!(aliases.claim_for_matrix("t", "a").is_err(), "it may be an alias soon");
        drop(claim);
        aliases.claim_for_matrix("t", "a").unwrap().answered();
        assert!(aliases.claim_for_alias("t", "a").is_ok());
    }
}
