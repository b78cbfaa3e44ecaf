//! A device as a backend.

use crate::launch::LANES;
use crate::program::Programs;
use crate::{Buffer, Defines, Driver};
use kernels_core::File;
use sparse_core::backend::{Buf, ViewMutOf, ViewOf};
use sparse_core::{Backend, Caps, ContextId, Element, Error, Probe, Result, error::checked_product};
use std::marker::PhantomData;
use std::sync::Arc;

/// The largest work-group that kernels use.
const LARGEST_BLOCK: usize = 256;

/// A device: a context and an in-order queue. Cloning shares them.
#[derive(Debug)]
pub struct Device<D: Driver> {
    pub(crate) inner: Arc<Inner<D>>,
}

#[derive(Debug)]
pub(crate) struct Inner<D: Driver> {
    // Fields are dropped in this order: programs before their context.
    pub(crate) programs: Programs<D>,
    pub(crate) driver: D,
    pub(crate) block: usize,
    context: ContextId,
}

impl<D: Driver> Clone for Device<D> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

/// The devices that a driver finds, in its order, or why there are none (rule P1).
pub fn probe<D: Driver>() -> Probe {
    match D::devices() {
        Ok(devices) => Probe { devices, reason: None },
        Err(reason) => Probe { devices: vec![], reason: Some(reason) },
    }
}

/// The index of the device that [`Driver::DEVICE_VARIABLE`] names, by its index or by a part of its name; 0 without it.
///
/// # Errors
/// [`Error::Unsupported`] if no device has such a name.
pub fn preferred_index<D: Driver>() -> Result<usize> {
    match std::env::var(D::DEVICE_VARIABLE) {
        Err(_) => Ok(0),
        Ok(choice) => choice.parse().or_else(|_| index_of::<D>(&choice)),
    }
}

/// The first device whose name or whose platform's name contains `part`.
fn index_of<D: Driver>(part: &str) -> Result<usize> {
    let what = format!("{} device `{part}`", D::NAME);
    let devices = D::devices().map_err(|reason| Error::unsupported(&what, reason))?;
    let wanted = part.to_lowercase();
    let position = devices.iter().position(|caps| caps.device.to_lowercase().contains(&wanted));
    position.ok_or_else(|| Error::unsupported(what, format!("the devices are {}", names(&devices))))
}

fn names(devices: &[Caps]) -> String {
    let names: Vec<_> = devices.iter().map(|caps| caps.device.as_str()).collect();
    names.join(", ")
}

impl<D: Driver> Device<D> {
    /// Device number `index` of [`probe`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there is no such device, with the reason; [`Error::Backend`] if it does not start.
    pub fn new(index: usize) -> Result<Self> {
        let what = format!("{} device {index}", D::NAME);
        let devices = D::devices().map_err(|reason| Error::unsupported(&what, reason))?;
        match devices.get(index) {
            Some(_) => Self::from_driver(D::open(index)?),
            None => {
                Err(Error::unsupported(what, format!("there are {}: {}", devices.len(), names(&devices))))
            }
        }
    }

    /// The first device whose name, or whose platform's name, contains `part`; upper and lower case are the same.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn named(part: &str) -> Result<Self> {
        Self::new(index_of::<D>(part)?)
    }

    /// The device that [`preferred_index`] names.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_env() -> Result<Self> {
        Self::new(preferred_index::<D>()?)
    }

    /// The device of a driver that is open already.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if its work-groups are too small for the kernels.
    pub fn from_driver(driver: D) -> Result<Self> {
        let largest_group = driver.properties().largest_group;
        if largest_group < LANES {
            let what = format!("{} device {}", D::NAME, driver.caps().device);
            let reason = format!("its work-groups hold {largest_group}, {LANES} are needed");
            return Err(Error::unsupported(what, reason));
        }
        let inner = Inner {
            programs: Programs::default(),
            driver,
            block: LARGEST_BLOCK.min(1 << largest_group.ilog2()),
            context: ContextId::unique(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The driver, for what it can do beyond operations.
    pub fn driver(&self) -> &D {
        &self.inner.driver
    }

    /// Compiles a file of kernels, to see whether it compiles; `defines` are all that it takes.
    ///
    /// # Errors
    /// [`Error::Backend`] with the file, the options and the compiler's whole log.
    pub fn compile(&self, file: &File, defines: &[(&'static str, &str)]) -> Result<()> {
        let all = Defines::default();
        let all = defines.iter().fold(all, |all, &(name, value)| all.set(name, value));
        self.driver().build(file, &all).map(drop)
    }

    /// Whether the driver has the kernels of a file, by its name without the extension, and the device what they need.
    pub(crate) fn has(&self, stem: &str) -> bool {
        self.lacks(stem).is_none()
    }

    /// Why the kernels of a file cannot be had, if they cannot.
    pub(crate) fn lacks(&self, stem: &str) -> Option<String> {
        let caps = self.driver().caps();
        let Some(file) = D::FILES.iter().find(|file| file.stem() == stem) else {
            return Some(format!("{} has no kernels of {stem}", D::NAME));
        };
        let lacks = file.lacks(&caps.features);
        (!lacks.is_empty()).then(|| format!("{} lacks {} for {}", caps.device, lacks.join(", "), file.name))
    }

    /// A buffer of `len` elements over memory that a driver has of someone else.
    ///
    /// # Safety
    /// The memory is of this device's context and holds `len` initialised elements; from there on it can be read up to
    /// the next multiple of 16 bytes.
    pub unsafe fn adopt<T: Element>(&self, memory: D::Memory, len: usize) -> Buffer<D, T> {
        Buffer { memory, len, context: self.inner.context, element: PhantomData }
    }

    /// A buffer that holds anything: whoever asks for it writes all of it before it is read.
    pub(crate) fn allocate<T: Element>(&self, len: usize) -> Result<Buffer<D, T>> {
        let bytes = checked_product("length x size of an element", len, size_of::<T>())?;
        let memory = self.driver().allocate(bytes)?;
        Ok(Buffer { memory, len, context: self.inner.context, element: PhantomData })
    }
}

impl<D: Driver> Backend for Device<D> {
    type Space = Self;

    fn caps(&self) -> &Caps {
        self.driver().caps()
    }

    fn context(&self) -> ContextId {
        self.inner.context
    }

    fn upload<T: Element>(&self, host: &[T]) -> Result<Buf<Self, T>> {
        let buffer = self.allocate(host.len())?;
        self.driver().write(&buffer.memory, 0, bytemuck::cast_slice(host))?;
        Ok(buffer)
    }

    fn download_into<T: Element>(&self, device: ViewOf<'_, Self, T>, host: &mut [T]) -> Result<()> {
        self.driver().read(device.memory, device.offset(), bytemuck::cast_slice_mut(host))
    }

    fn zeros<T: Element>(&self, len: usize) -> Result<Buf<Self, T>> {
        let buffer = self.allocate(len)?;
        self.clear(&buffer)?;
        Ok(buffer)
    }

    fn copy<T: Element>(&self, from: ViewOf<'_, Self, T>, to: ViewMutOf<'_, Self, T>) -> Result<()> {
        let bytes = sparse_core::space::View::len(&from) * size_of::<T>();
        self.driver().copy((from.memory, from.offset()), (to.memory, to.offset()), bytes)
    }

    fn synchronize(&self) -> Result<()> {
        self.driver().synchronize()
    }
}
