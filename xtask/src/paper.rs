//! A driver whose devices have tables of algorithms and nothing else.

use kernels_core::File;
use sparse_core::{Caps, Error};
use sparse_device::{Arg, Defines, Driver, Grid, Properties};
use std::marker::PhantomData;

/// A device on paper: it has the kernels of a driver and every extension, and runs nothing.
#[derive(Debug)]
pub(crate) struct Paper<D> {
    properties: Properties,
    driver: PhantomData<fn() -> D>,
}

impl<D: Driver> Paper<D> {
    pub(crate) fn new() -> Self {
        let needs = D::FILES.iter().flat_map(|file| file.needs);
        let caps = Caps {
            backend: D::NAME,
            device: "paper".into(),
            compute_units: 1,
            memory_bytes: None,
            f64: true,
            flushes_subnormals: false,
            features: needs.map(ToString::to_string).collect(),
        };
        let properties =
            Properties { caps, is_cpu: false, cache_bytes: 0, shared_bytes: 1 << 16, largest_group: 256 };
        Self { properties, driver: PhantomData }
    }

    fn refused<T>() -> sparse_core::Result<T> {
        Err(Error::unsupported("work on a device on paper", "it has tables alone"))
    }
}

impl<D: Driver> Driver for Paper<D> {
    const NAME: &'static str = D::NAME;
    const DEVICE_VARIABLE: &'static str = D::DEVICE_VARIABLE;
    const FILES: &'static [File] = D::FILES;
    const WARPS_PER_GROUP: usize = D::WARPS_PER_GROUP;
    type Memory = ();
    type Program = ();
    type Kernel = ();

    fn devices() -> Result<Vec<Caps>, String> {
        Ok(vec![])
    }

    fn open(_: usize) -> sparse_core::Result<Self> {
        Self::refused()
    }

    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, _: usize) -> sparse_core::Result<()> {
        Self::refused()
    }

    fn write(&self, (): &(), _: usize, _: &[u8]) -> sparse_core::Result<()> {
        Self::refused()
    }

    fn read(&self, (): &(), _: usize, _: &mut [u8]) -> sparse_core::Result<()> {
        Self::refused()
    }

    fn copy(&self, _: (&(), usize), _: (&(), usize), _: usize) -> sparse_core::Result<()> {
        Self::refused()
    }

    fn flush(&self) -> sparse_core::Result<()> {
        Self::refused()
    }

    fn synchronize(&self) -> sparse_core::Result<()> {
        Self::refused()
    }

    fn build(&self, _: &File, _: &Defines) -> sparse_core::Result<()> {
        Self::refused()
    }

    fn kernel(&self, (): &(), _: &str) -> sparse_core::Result<()> {
        Self::refused()
    }

    fn launch(&self, (): &(), _: Grid, _: &[Arg<'_, ()>]) -> sparse_core::Result<()> {
        Self::refused()
    }
}
