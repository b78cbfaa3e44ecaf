//! The folders of the data of a service's devices.

use super::{MANIFEST, has_records};
use crate::error::StartError;
use std::fs;
use std::path::{Path, PathBuf};

/// Begins the name of the folder of a device's data, and its number follows.
const DEVICE_FOLDER: &str = "device-";

/// The folder of the data of a device: that of the first is the folder of the service, as if there were no others.
pub(crate) fn folder_of_device(data: &Path, device: usize) -> PathBuf {
    if device == 0 { data.into() } else { data.join(format!("{DEVICE_FOLDER}{device}")) }
}

/// Makes a folder, or removes what is in it.
#[cfg(unix)]
pub(crate) fn empty_folder(folder: &Path) -> Result<(), StartError> {
    let emptied = fs::create_dir_all(folder)
        .and_then(|()| fs::remove_dir_all(folder))
        .and_then(|()| fs::create_dir(folder));
    emptied.map_err(|error| StartError::file(folder, error))
}

/// Fails unless the folder of data is one, or if a device whose data is in the folder is not among the `count` that are served.
pub(crate) fn check_folders(data: &Path, count: usize) -> Result<(), StartError> {
    if data.exists() && !data.is_dir() {
        return Err(StartError::file(data, "it is no folder, which is needed for the data"));
    }
    // A folder that is not there yet has no data.
    for entry in fs::read_dir(data).into_iter().flatten() {
        let path = entry.map_err(|error| StartError::file(data, error))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_prefix(DEVICE_FOLDER).and_then(|number| number.parse::<usize>().ok());
        if let Some(number) = number
            && number >= count
            && has_records(&path.join(MANIFEST))
        {
            let reason = format!(
                "it has the data of device {number}, and the last device is {}: start the server with {} devices \
                 (`nnz serve --devices`), or move this folder away to do without its matrices",
                count - 1,
                number + 1
            );
            return Err(StartError::file(path, reason));
        }
    }
    Ok(())
}
