//! Tokens: who calls, and what they may do.

use crate::error::StartError;
use crate::limits::usage::Usage;
use crate::problem::Problem;
use crate::request::name;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::path::Path;
use std::str::FromStr;
use subtle::ConstantTimeEq;

/// A permission of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// Lists and reads objects, and computes with them.
    Read,
    /// Uploads, stores results and deletes.
    Write,
    /// Reads the metrics.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

impl Display for Scope {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|scope| scope.name() == name);
        found.ok_or_else(|| format!("unknown scope `{name}`: one of read, write, admin"))
    }
}

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) tenant: String,
    scopes: Vec<Scope>,
    /// The first digits of the hash of the token, if there is one; for the front end alone.
    #[serde(skip)]
    pub(crate) token: Option<String>,
    /// The numbers of copies of matrices of other devices that were made for the request, by their names in it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) copies: BTreeMap<String, u64>,
    /// The matrices to which aliases point, by their names in the request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) aliases: BTreeMap<String, String>,
    /// The usage of the tenant on other devices, where that is to be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) elsewhere: Option<Usage>,
}

impl Identity {
    /// The caller where no tokens are configured.
    pub(crate) fn anonymous() -> Self {
        Self::new("default", Scope::ALL.to_vec(), None)
    }

    fn new(tenant: &str, scopes: Vec<Scope>, token: Option<String>) -> Self {
        Self {
            tenant: tenant.into(),
            scopes,
            token,
            copies: BTreeMap::new(),
            aliases: BTreeMap::new(),
            elsewhere: None,
        }
    }

    /// The caller, whose usage elsewhere the request does not tell.
    #[cfg(unix)]
    pub(crate) fn uncounted(&self) -> Self {
        Self { elsewhere: None, ..self.clone() }
    }

    /// The `name` or `name@version` that a text of the request stands for, which may be an alias.
    pub(crate) fn target<'a>(&'a self, text: &'a str) -> &'a str {
        self.aliases.get(text).map_or(text, |target| target)
    }

    /// Fails with 403 unless the caller's token has the scope.
    pub(crate) fn check(&self, scope: Scope) -> Result<(), Problem> {
        if self.scopes.contains(&scope) {
            return Ok(());
        }
        Err(Problem::forbidden(format!("the token lacks the scope `{scope}`")))
    }
}

const HASH_BYTES: usize = 32;
/// Bytes of the hash of a token by which the audit log names it.
const TOKEN_ID_BYTES: usize = 6;

/// The hashes of the tokens of a file.
#[derive(Debug)]
pub(crate) struct Tokens(Vec<([u8; HASH_BYTES], Identity)>);

impl Tokens {
    /// Reads a file of lines `tenant scopes sha256`; the scopes are separated by commas, `#` begins a comment.
    pub(crate) fn read(path: &Path) -> Result<Self, StartError> {
        let text = std::fs::read_to_string(path).map_err(|error| StartError::file(path, error))?;
        let mut tokens = vec![];
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if !line.is_empty() {
                let at_line = |reason| StartError::file(path, format!("line {}: {reason}", number + 1));
                tokens.push(parse_line(line).map_err(at_line)?);
            }
        }
        Ok(Self(tokens))
    }

    /// The caller whose token this is. Every hash is compared, and in constant time.
    pub(crate) fn find(&self, token: &[u8]) -> Option<&Identity> {
        let hash = Sha256::digest(token);
        let mut found = None;
        for (known, identity) in &self.0 {
            if bool::from(known[..].ct_eq(&hash[..])) {
                found = Some(identity);
            }
        }
        found
    }
}

fn parse_line(line: &str) -> Result<([u8; HASH_BYTES], Identity), String> {
    let [tenant, scopes, hash] = line.split_whitespace().collect::<Vec<_>>()[..] else {
        return Err("tenant, scopes and the SHA-256 of the token are needed".into());
    };
    name::check("tenant", tenant)?;
    let scopes = scopes.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let hash = from_hex(hash).ok_or("the SHA-256 of a token has 64 hexadecimal digits")?;
    let token = Some(to_hex(&hash[..TOKEN_ID_BYTES]));
    Ok((hash, Identity::new(tenant, scopes, token)))
}

fn from_hex(text: &str) -> Option<[u8; HASH_BYTES]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * HASH_BYTES || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut bytes = [0; HASH_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A new token of 256 random bits, and the line for the file of tokens, which has its hash alone.
///
/// # Errors
/// A tenant that is no name, no scopes, or an operating system without random numbers.
///
/// ```
/// let (token, line) = sparse_server::new_token("lab", &[sparse_server::Scope::Read])?;
/// assert!(token.starts_with("nnz_") && line.starts_with("lab read ") && !line.contains(&token));
/// # Ok::<(), String>(())
/// ```
pub fn new_token(tenant: &str, scopes: &[Scope]) -> Result<(String, String), String> {
    name::check("tenant", tenant)?;
    if scopes.is_empty() {
        return Err("at least one scope is needed: read, write or admin".into());
    }
    let mut random = [0; HASH_BYTES];
    getrandom::fill(&mut random).map_err(|error| format!("random numbers: {error}"))?;
    let token = format!("nnz_{}", to_hex(&random));
    let scopes: Vec<_> = scopes.iter().map(|scope| scope.name()).collect();
    let line = format!("{tenant} {} {}", scopes.join(","), to_hex(&Sha256::digest(&token)));
    Ok((token, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_by_its_hash_alone() {
        let (token, line) = new_token("lab", &[Scope::Read, Scope::Write]).unwrap();
        let tokens = Tokens(vec![parse_line(&line).unwrap()]);
        let found = tokens.find(token.as_bytes()).unwrap();
        assert!(
            found.tenant == "lab" && found.check(Scope::Write).is_ok() && found.check(Scope::Admin).is_err()
        );
        assert_eq!(tokens.find(&token.as_bytes()[1..]), None);
    }

    #[test]
    fn wrong_lines_say_what_is_needed() {
        for (line, reason) in [
            ("lab read", "tenant, scopes and the SHA-256"),
            ("lab own 00", "unknown scope `own`"),
            ("lab read 00", "64 hexadecimal digits"),
            ("../lab read 00", "tenant"),
        ] {
            assert!(parse_line(line).unwrap_err().contains(reason), "{line}");
        }
    }
}
