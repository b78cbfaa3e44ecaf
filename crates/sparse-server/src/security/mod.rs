//! Who calls and what they may do: tokens, rules for browsers, TLS and the audit log.

pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod caller;
pub(crate) mod tls;
