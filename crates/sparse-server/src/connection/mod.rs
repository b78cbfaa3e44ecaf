//! Connections of clients: slow ones, time limits of writes, bodies that were left unread, and how connections end.

pub(crate) mod lingering;
pub(crate) mod slow_clients;
pub(crate) mod unread_body;
pub(crate) mod write_timeout;
