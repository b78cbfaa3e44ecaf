//! Files instead of bodies, for clients on the same machine: a request names a file that has its body, and one that is
//! to have the answer's. They are in the folder of its tenant, in memory (`/dev/shm`) or on a disk, or were passed as
//! open descriptors ([`crate::local_files::descriptors`]).
//!
//! A file is a name without folders, in a folder that is opened by its name under the one that the operator has named,
//! and no symbolic link is followed: there is no path that leads elsewhere. Files are read and not mapped, so that one
//! that is cut short meanwhile is an error and no signal.

pub(crate) mod descriptors;
pub(crate) mod exchange;
pub(crate) mod shared_folder;
