//! Foreign libraries and their devices.

use crate::device::Device;
use crate::driver::Driver;
use sparse_core::{Caps, Error, Probe, Result};
use std::fmt::Display;
use std::process;
use std::sync::OnceLock;

/// A foreign library: finds devices and opens them.
#[derive(Debug)]
pub struct Library {
    /// The backend's name in messages and in [`Caps`].
    pub name: &'static str,
    /// The environment variable that names the default device: an index, or a part of a name.
    pub device_variable: &'static str,
    /// Finds the devices, or the reason why there are none.
    pub devices: fn() -> Result<Vec<Caps>, String>,
    /// Opens a device by its position among `devices`.
    pub driver: fn(index: usize) -> Result<Box<dyn Driver>>,
    /// The process that first searched for devices, and thereby loaded the library.
    pub process: OnceLock<u32>,
}

impl Library {
    /// The devices in the library's order, or why there are none.
    pub fn probe(&self) -> Probe {
        match self.found() {
            Ok(devices) => Probe { devices, reason: None },
            Err(reason) => Probe { devices: vec![], reason: Some(reason) },
        }
    }

    fn found(&self) -> Result<Vec<Caps>, String> {
        self.process.get_or_init(process::id);
        (self.devices)()
    }

    /// Opens device number `index` of [`probe`](Self::probe).
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there is no such device, with the reason, and in a process that was forked after the
    /// first search for devices; [`Error::Backend`] if it does not start.
    pub fn open(&self, index: usize) -> Result<Device> {
        let what = format!("{} device {index}", self.name);
        let devices = self.found().map_err(|reason| Error::unsupported(&what, reason))?;
        self.start(&what, || {
            if index >= devices.len() {
                let reason = format!("there are {}: {}", devices.len(), names(&devices));
                return Err(Error::unsupported(&what, reason));
            }
            (self.driver)(index)
        })
    }

    /// The device of a driver that `driver` opens in another way than [`open`](Self::open); errors name it by `what`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a process that was forked since the library was loaded, where `driver` is not called;
    /// those of `driver`.
    pub fn start(
        &self,
        what: impl Display,
        driver: impl FnOnce() -> Result<Box<dyn Driver>>,
    ) -> Result<Device> {
        if *self.process.get_or_init(process::id) != process::id() {
            let reason = "its library was loaded before the fork: a new process (spawn) can open it";
            return Err(Error::unsupported(format!("{what} in a forked process"), reason));
        }
        Device::from_driver(driver()?)
    }

    /// Opens the first device whose name, or whose platform's name, contains `part`; upper and lower case are the same.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_named(&self, part: &str) -> Result<Device> {
        self.open(self.index_of(part)?)
    }

    /// Opens the first of the [`preferred`](Self::preferred) devices that starts.
    ///
    /// # Errors
    /// As for [`open`](Self::open) for the first of them.
    pub fn open_preferred(&self) -> Result<Device> {
        let preferred = self.preferred()?;
        let first = self.open(preferred.first().copied().unwrap_or(0));
        first.or_else(|error| {
            let mut others = preferred.into_iter().skip(1);
            others.find_map(|index| self.open(index).ok()).ok_or(error)
        })
    }

    /// The index of the first of the [`preferred`](Self::preferred) devices; 0 where there is none.
    ///
    /// # Errors
    /// As for [`preferred`](Self::preferred).
    pub fn preferred_index(&self) -> Result<usize> {
        Ok(self.preferred()?.first().copied().unwrap_or(0))
    }

    /// The indices of the default devices, the best first: only the one that [`device_variable`](Self::device_variable)
    /// names, by its index or by a part of its name, if it is set; otherwise GPUs in the library's order, then
    /// processors of the host.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if no device has the name.
    pub fn preferred(&self) -> Result<Vec<usize>> {
        if let Ok(choice) = std::env::var(self.device_variable) {
            return Ok(vec![choice.parse().or_else(|_| self.index_of(&choice))?]);
        }
        let devices = self.probe().devices;
        let mut indices: Vec<_> = (0..devices.len()).collect();
        indices.sort_by_key(|&index| devices[index].is_cpu);
        Ok(indices)
    }

    /// The index of the first device whose name or whose platform's name contains `part`.
    fn index_of(&self, part: &str) -> Result<usize> {
        let what = format!("{} device `{part}`", self.name);
        let devices = self.found().map_err(|reason| Error::unsupported(&what, reason))?;
        let wanted = part.to_lowercase();
        let position = devices.iter().position(|caps| caps.device.to_lowercase().contains(&wanted));
        position.ok_or_else(|| Error::unsupported(what, format!("the devices are {}", names(&devices))))
    }
}

fn names(devices: &[Caps]) -> String {
    let names: Vec<_> = devices.iter().map(|caps| caps.device.as_str()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Two processors of the host and two GPUs.
    fn devices() -> Result<Vec<Caps>, String> {
        let device = |(device, is_cpu): (&str, bool)| Caps {
            backend: "test",
            device: device.into(),
            compute_units: 1,
            is_cpu,
            memory_bytes: None,
            f64: true,
            flushes_subnormals: false,
            features: vec![],
        };
        Ok([("first cpu", true), ("first gpu", false), ("second cpu", true), ("second gpu", false)]
            .map(device)
            .into())
    }

    /// The devices that were asked to start; none does.
    static ASKED: Mutex<Vec<usize>> = Mutex::new(vec![]);

    #[test]
    fn no_driver_is_opened_in_a_forked_process() {
        let process = OnceLock::from(process::id() + 1);
        let library =
            Library { name: "test", device_variable: "", devices, driver: |_| unreachable!(), process };
        let reason = "its library was loaded before the fork: a new process (spawn) can open it";
        let refused = |what, result: Result<Device>| {
            let expected = format!("{what} in a forked process is not supported: {reason}");
            assert_eq!(result.unwrap_err().to_string(), expected);
        };
        refused("test device 0", library.open(0));
        refused("the caller's queue", library.start("the caller's queue", || unreachable!()));
    }

    static LIBRARY: Library = Library {
        name: "test",
        device_variable: "NNZ_NO_SUCH_VARIABLE",
        devices,
        driver: |index| {
            ASKED.lock().unwrap().push(index);
            Err(Error::unsupported(format!("device {index}"), "it does not start"))
        },
        process: OnceLock::new(),
    };

    #[test]
    fn a_gpu_is_preferred_and_one_that_does_not_start_hides_no_other() {
        assert_eq!(LIBRARY.preferred().unwrap(), [1, 3, 0, 2]);
        assert_eq!(LIBRARY.preferred_index().unwrap(), 1);
        let error = LIBRARY.open_preferred().unwrap_err();
        assert!(error.to_string().contains("device 1"), "{error}");
        assert_eq!(*ASKED.lock().unwrap(), [1, 3, 0, 2]);
    }
}
