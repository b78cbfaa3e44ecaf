//! Connections of clients: how many each may have, slow ones, time limits of writes, headers that are refused, bodies that were left unread, and
//! how connections end.

pub(crate) mod guarded_body;
pub(crate) mod layered;
pub(crate) mod lingering;
pub(crate) mod peers;
pub(crate) mod request_head;
pub(crate) mod slow_clients;
pub(crate) mod unread_body;
pub(crate) mod write_timeout;
