//! Products whose result is checked, then timed with a cold and with a warm cache.

use super::bench::Bench;
use super::device_timer::DeviceTimer;
use crate::check::Answer;
use crate::measure::Contender;
use crate::product::{Product, available};
use crate::report::{Case, Report};
use anyhow::{Result, ensure};
use sparse_core::{Backend, Scalar, Space};
use sparse_device::Device;
use std::cell::RefCell;

/// The workload of a comparison of products.
pub(super) struct Comparison<'a, A> {
    pub(super) op: String,
    pub(super) workload: &'a str,
    /// Bytes that have to move.
    pub(super) bytes: usize,
    pub(super) expected: &'a A,
    /// Elements of a result.
    pub(super) elements: usize,
    /// Entries of A.
    pub(super) entries: usize,
    /// Columns of the result.
    pub(super) columns: usize,
}

/// Bytes of a working set so large that no cache is ever warm.
const ALWAYS_COLD: usize = 1 << 30;

/// A product whose result was checked.
struct Checked<'a, T: Scalar> {
    product: Product<'a, T>,
    /// Launches that are timed together.
    launches: usize,
    /// True if they are recorded and replayed.
    replays: bool,
}

impl<A: Answer> Comparison<'_, A> {
    /// Checks and times every product, ours first, then the gathers if there are any. Errors of other libraries are
    /// printed.
    pub(super) fn run<D: DeviceTimer, T: Scalar>(
        &self,
        bench: &Bench<'_, D>,
        report: &mut Report,
        products: Vec<Product<'_, T>>,
        gathers: Option<sparse_core::Result<Product<'_, T>>>,
    ) -> Result<()> {
        let mut output = bench.device.zeros(self.elements)?;
        let mut host = vec![T::ZERO; self.elements];
        let mut checked = vec![];
        for mut product in products {
            if let Err(error) = self.check(bench, &mut product, &mut output, &mut host) {
                let wrong = format!("{} {}: {}: {error:#}", self.op, self.workload, product.name);
                ensure!(!product.name.starts_with("ours"), wrong);
                eprintln!("left out: {wrong}");
                continue;
            }
            checked.push(Checked::new(bench, product, &mut output)?);
        }
        let gathers = gathers.and_then(|gathers| available("limit:gather", gathers));
        let mut gathers = gathers.map(|gathers| Checked::new(bench, gathers, &mut output)).transpose()?;
        let output = RefCell::new(output);
        let warm = checked.iter_mut().map(|product| product.warm(bench, &output)).collect();
        let gather = gathers.as_mut().map(|gathers| gathers.warm(bench, &output));
        report.compare(self.case(&format!("{} warm", self.op), gather), warm)?;
        if self.bytes < ALWAYS_COLD {
            let cold = checked.iter_mut().map(|product| product.cold(bench, &output)).collect();
            let gather = gathers.as_mut().map(|gathers| gathers.cold(bench, &output));
            report.compare(self.case(&format!("{} cold", self.op), gather), cold)?;
        }
        Ok(())
    }

    fn case<'a>(&'a self, op: &'a str, gather: Option<Contender<'a>>) -> Case<'a> {
        let flops = 2 * self.entries * self.columns;
        Case { op, workload: self.workload, bytes: self.bytes, entries: self.entries, flops, gather }
    }

    /// An error unless the product writes every element as it should.
    fn check<D: DeviceTimer, T: Scalar>(
        &self,
        bench: &Bench<'_, D>,
        product: &mut Product<'_, T>,
        output: &mut <Device as Space>::Buffer<T>,
        host: &mut [T],
    ) -> Result<()> {
        bench.fill(output, &[T::from_c64(f64::NAN.into()); 1 << 16])?;
        (product.run)(Device::view_mut(output))?;
        bench.device.download_into(Device::view(output), host)?;
        self.expected.check(host)
    }
}

/// Seconds of the launches that are timed together, about.
const ROUND: f64 = 1e-3;
/// The most launches that are timed together.
const MAX_LAUNCHES: usize = 100;

impl<'a, T: Scalar> Checked<'a, T> {
    fn new<D: DeviceTimer>(
        bench: &Bench<'_, D>,
        mut product: Product<'a, T>,
        output: &mut <Device as Space>::Buffer<T>,
    ) -> Result<Self> {
        let mut work = || (product.run)(Device::view_mut(output));
        let once = D::seconds(&bench.device, &mut work)?;
        let launches = ((ROUND / once) as usize).clamp(1, MAX_LAUNCHES);
        let replays = launches > 1 && D::replays(&bench.device, &mut work);
        if D::HAS_GRAPHS && launches > 1 && !replays {
            eprintln!("launched one by one, since it cannot be recorded: {}", product.name);
        }
        Ok(Self { product, launches, replays })
    }

    /// Times the same launch again and again.
    fn warm<'b, D: DeviceTimer>(
        &'b mut self,
        bench: &'b Bench<'_, D>,
        output: &'b RefCell<<Device as Space>::Buffer<T>>,
    ) -> Contender<'b> {
        let Self { product, launches, replays } = self;
        let run = &mut product.run;
        let seconds = move || {
            let mut output = output.borrow_mut();
            let mut work = || run(Device::view_mut(&mut output));
            let seconds = match replays {
                true => D::replayed(&bench.device, *launches, &mut work)?,
                false => D::seconds(&bench.device, &mut || (0..*launches).try_for_each(|_| work()))?,
            };
            Ok(seconds / *launches as f64)
        };
        Contender::external(&product.name, seconds)
            .planned(product.plan_seconds)
            .chosen(product.choice.clone())
    }

    /// Times a launch after the cache was filled with other data.
    fn cold<'b, D: DeviceTimer>(
        &'b mut self,
        bench: &'b Bench<'_, D>,
        output: &'b RefCell<<Device as Space>::Buffer<T>>,
    ) -> Contender<'b> {
        let run = &mut self.product.run;
        let seconds = move || {
            let mut output = output.borrow_mut();
            bench.fill_cache()?;
            Ok(D::seconds(&bench.device, &mut || run(Device::view_mut(&mut output)))?)
        };
        Contender::external(&self.product.name, seconds)
            .planned(self.product.plan_seconds)
            .chosen(self.product.choice.clone())
    }
}
