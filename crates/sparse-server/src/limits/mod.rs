//! Limits of each tenant: rates of requests and of workers' time, and usage of all devices.

pub(crate) mod rate;
pub(crate) mod usage;
