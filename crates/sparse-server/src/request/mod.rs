//! The parts of a request: parameters, conditions, names, labels and idempotency keys.

pub(crate) mod arguments;
pub(crate) mod etag;
pub(crate) mod idempotency;
pub(crate) mod labels;
pub(crate) mod media;
pub(crate) mod name;
pub(crate) mod parameters;
pub(crate) mod put_options;
