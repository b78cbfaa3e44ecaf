//! Execution of operations: tasks, threads, jobs and merged products.

pub(crate) mod jobs;
pub(crate) mod merge;
pub(crate) mod task;
pub(crate) mod thread_pool;
