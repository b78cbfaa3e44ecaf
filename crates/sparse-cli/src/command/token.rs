//! `nnz token`: a token for `nnz serve`.

use crate::context::Context;
use crate::failure::usage;
use anyhow::Result;
use clap::Args;
use serde::Serialize;
use sparse_server::{Scope, new_token};
use std::fmt::{Display, Formatter};

/// Makes a token for `nnz serve`
///
/// Prints the token, which only the client needs, and the line with its hash for the file of --token-file.
#[derive(Debug, Args)]
pub(crate) struct Token {
    /// Tenant whose matrices the token gives access to
    #[arg(value_name = "TENANT")]
    tenant: String,
    /// Scopes of the token: read, write, admin
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "read,write")]
    scopes: Vec<Scope>,
}

/// A token, and its line in the file of tokens.
#[derive(Debug, Serialize)]
struct Made {
    token: String,
    line: String,
}

impl Display for Made {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "token: {}\nline:  {}", self.token, self.line)
    }
}

impl Token {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let (token, line) = new_token(&self.tenant, &self.scopes).map_err(usage)?;
        context.report(&Made { token, line })
    }
}
