//! The folder of shared files, in which each tenant has one of its own.

use crate::error::StartError;
use crate::problem::Problem;
use rustix::fs::{Mode, OFlags, openat};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The folder of files, in which each tenant has one of its own.
#[derive(Debug)]
pub(crate) struct SharedFolder(OwnedFd);

impl SharedFolder {
    pub(crate) fn open(path: &Path) -> Result<Self, StartError> {
        let folder = File::open(path).map_err(|error| StartError::file(path, error))?;
        let is_folder = folder.metadata().is_ok_and(|found| found.is_dir());
        if is_folder { Ok(Self(folder.into())) } else { Err(StartError::file(path, "a folder is needed")) }
    }

    /// The folder of a tenant.
    pub(super) fn of(&self, tenant: &str) -> Result<OwnedFd, Problem> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.0, tenant, flags, Mode::empty()).map_err(|error| {
            Problem::unprocessable(format!("the folder `{tenant}` of shared files cannot be opened: {error}"))
        })
    }
}
