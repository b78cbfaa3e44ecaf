//! Foreign libraries and the devices that they find.

use crate::{Device, Driver};
use sparse_core::{Caps, Error, Probe, Result};

/// A foreign library: how its devices are found and opened.
#[derive(Debug)]
pub struct Library {
    /// The backend's name in messages and in [`Caps`].
    pub name: &'static str,
    /// The environment variable that names the device to take where none is asked for: an index, or a part of a name.
    pub device_variable: &'static str,
    /// The devices that are there, or why there are none.
    pub devices: fn() -> Result<Vec<Caps>, String>,
    /// Opens a device by its position among `devices`.
    pub driver: fn(index: usize) -> Result<Box<dyn Driver>>,
}

impl Library {
    /// The devices in the library's order, or why there are none (rule P1).
    pub fn probe(&self) -> Probe {
        match (self.devices)() {
            Ok(devices) => Probe { devices, reason: None },
            Err(reason) => Probe { devices: vec![], reason: Some(reason) },
        }
    }

    /// Opens device number `index` of [`probe`](Self::probe).
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there is no such device, with the reason; [`Error::Backend`] if it does not start.
    pub fn open(&self, index: usize) -> Result<Device> {
        let what = format!("{} device {index}", self.name);
        let devices = (self.devices)().map_err(|reason| Error::unsupported(&what, reason))?;
        if index >= devices.len() {
            let reason = format!("there are {}: {}", devices.len(), names(&devices));
            return Err(Error::unsupported(what, reason));
        }
        Device::from_driver((self.driver)(index)?)
    }

    /// Opens the first device whose name, or whose platform's name, contains `part`; upper and lower case are the same.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_named(&self, part: &str) -> Result<Device> {
        self.open(self.index_of(part)?)
    }

    /// Opens the device that [`preferred_index`](Self::preferred_index) names.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_preferred(&self) -> Result<Device> {
        self.open(self.preferred_index()?)
    }

    /// The index of the device that [`device_variable`](Self::device_variable) names, by its index or by a part of its
    /// name; 0 without it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if no device has such a name.
    pub fn preferred_index(&self) -> Result<usize> {
        match std::env::var(self.device_variable) {
            Err(_) => Ok(0),
            Ok(choice) => choice.parse().or_else(|_| self.index_of(&choice)),
        }
    }

    /// The first device whose name or whose platform's name contains `part`.
    fn index_of(&self, part: &str) -> Result<usize> {
        let what = format!("{} device `{part}`", self.name);
        let devices = (self.devices)().map_err(|reason| Error::unsupported(&what, reason))?;
        let wanted = part.to_lowercase();
        let position = devices.iter().position(|caps| caps.device.to_lowercase().contains(&wanted));
        position.ok_or_else(|| Error::unsupported(what, format!("the devices are {}", names(&devices))))
    }
}

fn names(devices: &[Caps]) -> String {
    let names: Vec<_> = devices.iter().map(|caps| caps.device.as_str()).collect();
    names.join(", ")
}
