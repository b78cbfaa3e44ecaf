//! The registry of accelerators that this process has open.

use super::DeviceId;
use sparse_core::Result;
use sparse_device::{Device as Accelerator, WeakDevice};
use std::sync::{Mutex, PoisonError};

/// Open devices, each once: matrices of different contexts cannot be combined, so a device has only one context while
/// it is open.
static OPENED: Mutex<Vec<(DeviceId, WeakDevice)>> = Mutex::new(vec![]);

/// The device `id` if it is open, else what `open` returns. Concurrent calls for one device return the same.
pub(super) fn find_or_open(id: DeviceId, open: impl FnOnce() -> Result<Accelerator>) -> Result<Accelerator> {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = opened.iter().find(|(known, _)| *known == id).and_then(|(_, device)| device.upgrade());
    if let Some(device) = known {
        return Ok(device);
    }
    let device = open()?;
    opened.retain(|(known, _)| *known != id);
    opened.push((id, device.downgrade()));
    Ok(device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BackendKind;
    use sparse_core::Backend as _;

    #[test]
    fn a_device_is_opened_once_and_again_after_the_last_of_it_is_gone() {
        let id = |index| DeviceId { backend: BackendKind::OpenCl, index };
        let open =
            |index| find_or_open(id(index), || Accelerator::without_hardware("none", &[], 32)).unwrap();
        let first = open(usize::MAX);
        let other = open(usize::MAX - 1);
        assert_eq!(first.context(), open(usize::MAX).context());
        assert_ne!(first.context(), other.context());
        let context = first.context();
        drop(first);
        assert_ne!(open(usize::MAX).context(), context);
    }
}
