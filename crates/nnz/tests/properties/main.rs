//! Every conversion and operation against a dense model, on every backend present: the serial reference and the CPU
//! always, OpenCL, SYCL and CUDA if they have devices. Numbers are small integers, so that all sums are exact and every
//! type and every order of summation gives the same result. Too slow for Miri.
#![cfg(all(not(miri), feature = "cpu"))]

mod conversions;
mod model;
mod products;
mod scans;
mod sparse_products;

use nnz::op::{AllTypes, WithBackend};
use nnz::reference::Reference;
use nnz::{Backend, BackendKind, Cpu, Device, Host, Result};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::any::TypeId;
use std::fmt::Debug;

/// A property of an operation, with the operands to try it on.
trait Property: Debug + Clone + Sized {
    /// Any operands.
    fn any() -> impl Strategy<Value = Self>;

    /// Panics if the property does not hold.
    fn check<B: AllTypes>(&self, backend: &B) -> Result<()>;
}

/// Checks properties on this number of operands.
struct Cases(u32);

impl Cases {
    fn hold<P: Property>(&self, backend: &impl AllTypes) {
        let config = Config { cases: self.0, failure_persistence: None, ..Config::default() };
        let check =
            |property: P| property.check(backend).map_err(|error| TestCaseError::fail(error.to_string()));
        if let Err(error) = TestRunner::new(config).run(&P::any(), check) {
            panic!("{} {}: {error}", backend.caps().backend, backend.caps().device);
        }
    }
}

impl WithBackend for Cases {
    type Out = ();

    fn call<B: AllTypes>(self, backend: &B) {
        self.hold::<conversions::RoundTrip>(backend);
        self.hold::<conversions::DuplicatesByPolicy>(backend);
        self.hold::<conversions::DenseAndBack>(backend);
        self.hold::<conversions::BatchOfMembers>(backend);
        self.hold::<conversions::Pruned>(backend);
        self.hold::<conversions::Selected>(backend);
        self.hold::<conversions::Statistics>(backend);
        self.hold::<products::Spmv>(backend);
        self.hold::<products::Spmm>(backend);
        self.hold::<products::BatchSpmv>(backend);
        self.hold::<products::Vectors>(backend);
        self.hold::<scans::Scan>(backend);
        self.hold::<sparse_products::Sum>(backend);
        self.hold::<sparse_products::Sampled>(backend);
        self.hold::<sparse_products::Aggregated>(backend);
        self.hold::<sparse_products::Softmax>(backend);
    }
}

/// Cases of each property on the host, where one takes microseconds.
const HOST: u32 = 256;
/// Cases of each property on a device, where one takes some hundred launches.
const DEVICE: u32 = 8;

fn on_every_device(kind: BackendKind) {
    for index in 0..kind.probe().devices.len() {
        let device: Device = format!("{kind}:{index}").parse().unwrap();
        device.with(Cases(DEVICE));
    }
}

#[test]
fn properties_hold_on_the_reference() {
    Cases(HOST).call(&Reference);
}

#[test]
fn properties_hold_on_the_cpu() {
    Cases(HOST).call(&Cpu::new().unwrap());
}

#[test]
fn properties_hold_on_opencl() {
    on_every_device(BackendKind::OpenCl);
}

#[test]
fn properties_hold_on_sycl() {
    on_every_device(BackendKind::Sycl);
}

#[test]
fn properties_hold_on_cuda() {
    on_every_device(BackendKind::Cuda);
}

/// True for the reference and the CPU. On a device each type is some dozen programs to compile, so that two types stand
/// for all.
fn is_host<B: Backend>() -> bool {
    TypeId::of::<B::Space>() == TypeId::of::<Host>()
}

/// Checks a property for every kind of scalar that the backend computes with, and every pair of index types.
macro_rules! for_types {
    ($property:ident.$check:ident($backend:ident)) => {{
        if $crate::is_host::<B>() {
            $property.$check::<B, f64, i32, i32>($backend)?;
            $property.$check::<B, nnz::f16, i32, i32>($backend)?;
        }
        if $backend.caps().f64 {
            $property.$check::<B, nnz::c64, i32, i64>($backend)?;
        }
        $property.$check::<B, f32, i64, i64>($backend)
    }};
}

/// Evaluates `body`, a result, for the matrix `csr` in all six formats on the backend; HYB takes two entries a row.
macro_rules! in_every_format {
    ($backend:expr, $csr:expr, |$a:ident| $body:expr) => {{
        let csr = $csr;
        let sell = nnz::SellLayout { slice_height: 3, sort_window: 6 };
        in_every_format!(@one $backend, csr, $a, $body);
        in_every_format!(@one $backend, Reference.convert::<_, nnz::Csc<_, _, _, _>>(&csr, &())?, $a, $body);
        in_every_format!(@one $backend, Reference.convert::<_, nnz::Coo<_, _, _>>(&csr, &())?, $a, $body);
        in_every_format!(@one $backend, Reference.convert::<_, nnz::Ell<_, _, _>>(&csr, &Default::default())?, $a, $body);
        in_every_format!(@one $backend, Reference.convert::<_, nnz::Hyb<_, _, _>>(&csr, &nnz::HybWidth::Width(2))?, $a, $body);
        in_every_format!(@one $backend, Reference.convert::<_, nnz::Sell<_, _, _, _>>(&csr, &sell)?, $a, $body);
    }};
    (@one $backend:expr, $matrix:expr, $a:ident, $body:expr) => {{
        let $a = &$matrix.to_device($backend)?;
        $body?;
    }};
}

use {for_types, in_every_format};
