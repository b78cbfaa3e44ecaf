//! Limits of each tenant: rates of requests and of workers' time, usage of all devices, and portions of what all have together.

pub(crate) mod rate;
pub(crate) mod shared_capacity;
pub(crate) mod usage;
