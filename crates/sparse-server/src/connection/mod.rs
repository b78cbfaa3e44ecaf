//! Connections of clients: slow ones, and bodies that were left unread.

pub(crate) mod slow_clients;
pub(crate) mod unread_body;
