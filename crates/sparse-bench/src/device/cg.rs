//! Conjugate gradients on the 5-point Laplacian: a number of iterations, from x = 0, with b = 1.

use super::bench::Bench;
use super::device_timer::DeviceTimer;
use crate::measure::Contender;
use crate::op::cg;
use crate::peer::interface::Peer;
use crate::product::{Product, planned};
use crate::report::Report;
use crate::value::Value;
use crate::workload;
use anyhow::{Context, Result, ensure};
use backend_cpu::Cpu;
use sparse_core::{Backend, Csr, Space, SparseFormat};
use sparse_device::{Buffer, Device, View, ViewMut};
use sparse_solvers::{Cg, EnqueuedCg, Identity, Jacobi, Krylov, Recurrence, Solution};
use std::cell::RefCell;
use std::ops::ControlFlow;

pub(super) fn run<D: DeviceTimer, T: Value>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    let sides: &[usize] = if bench.arguments.smoke { &[200] } else { &[100, 300, 1000, 3000] };
    for &side in sides.iter().filter(|_| bench.arguments.generates::<T>("stencil_5")) {
        compare::<D, T>(bench, report, side)?;
    }
    Ok(())
}

fn compare<D: DeviceTimer, T: Value>(bench: &Bench<'_, D>, report: &mut Report, side: usize) -> Result<()> {
    let host: Csr<T> = workload::laplacian(side)?;
    let (device, n) = (&bench.device, host.nrows());
    let a = host.to_device(device)?;
    let b = device.upload(&vec![T::ONE; n])?;
    let system = System {
        bench,
        a: &a,
        b: Device::view(&b),
        x: RefCell::new(device.zeros(n)?),
        expected: cg::Expected::new::<T::Double>(&Cpu::new()?, side)?,
    };
    let mut solvers = vec![system.fixed()?];
    if let Some(peer) = &bench.peer {
        solvers.extend(peer.cg(system.a, system.b, cg::ITERATIONS)?);
    }
    let solvers: Vec<_> = solvers.into_iter().map(RefCell::new).collect();
    let (mut ours, seconds) =
        planned(device, || EnqueuedCg::new(device, system.a, Identity, &cg::options()))?;
    let mut solver = Cg::new(device, system.a, Identity, &cg::options())?;
    // The diagonal is constant, so that the iterates are the same.
    let jacobi = || Jacobi::new(device, &host);
    let mut jacobi_enqueued = EnqueuedCg::new(device, system.a, jacobi()?, &cg::options())?;
    let mut untested = EnqueuedCg::new(device, system.a, Identity, &cg::options())?;
    let mut jacobi_cg = Cg::new(device, system.a, jacobi()?, &cg::options())?;
    let mut contenders = vec![system.tested("ours", &mut ours)?.planned(seconds)];
    for solver in &solvers {
        contenders.extend(system.contenders(solver)?);
    }
    contenders.push(system.untested(&mut untested)?);
    contenders.push(system.tested("ours:jacobi", &mut jacobi_enqueued)?);
    contenders.push(system.tested("ours:cg", &mut solver)?);
    contenders.push(system.tested("ours:cg:jacobi", &mut jacobi_cg)?);
    report.compare(cg::case(&T::name_of("cg"), &format!("stencil_5 {side}²"), &host), contenders)
}

/// The system to solve.
struct System<'a, D: DeviceTimer, T: Value> {
    bench: &'a Bench<'a, D>,
    a: &'a Csr<T, Device>,
    b: View<'a, T>,
    x: RefCell<Buffer<T>>,
    expected: cg::Expected,
}

/// The mode of a solver's work: launched, or recorded and replayed at once.
#[derive(Clone, Copy)]
enum Enqueued {
    AsGraph,
    OneByOne,
}

impl<D: DeviceTimer, T: Value> System<'_, D, T> {
    /// Ours without its stopping test, which does not wait for the host.
    fn fixed(&self) -> Result<Product<'_, T>> {
        let Self { bench: Bench { device, .. }, a, b, .. } = *self;
        let (mut solver, seconds) = planned(device, || EnqueuedCg::new(device, a, Identity, &cg::options()))?;
        let (choice, zero) = (solver.choice().clone(), device.zeros(a.nrows())?);
        let run = move |mut x: ViewMut<'_, T>| {
            device.copy(Device::view(&zero), Device::reborrow(&mut x))?;
            solver.start(a, b, Device::as_shared(&x))?;
            solver.run(a, cg::ITERATIONS, x)
        };
        Ok(Product::new("ours:fixed", seconds, run).chosen(choice))
    }

    /// A solver with its stopping test, if its x is right.
    fn tested<'b, R>(
        &'b self,
        name: &'static str,
        solver: &'b mut Krylov<Device, Csr<T, Device>, R>,
    ) -> Result<Contender<'b>>
    where
        R: Recurrence<Device, Csr<T, Device>>,
    {
        let choice = solver.choice().clone();
        let solve = move |x: ViewMut<'_, T>| solver.solve(self.a, self.b, x, |_| ControlFlow::Continue(()));
        Ok(self.solving(name, solve)?.chosen(choice))
    }

    /// Ours without its stopping test, from start to end of a solve, if its x is right.
    fn untested<'b>(&'b self, solver: &'b mut EnqueuedCg<Device, Csr<T, Device>>) -> Result<Contender<'b>> {
        let choice = solver.choice().clone();
        let solve = move |x: ViewMut<'_, T>| solver.solve_fixed(self.a, self.b, x, cg::ITERATIONS);
        Ok(self.solving("ours:solve_fixed", solve)?.chosen(choice))
    }

    fn solving<'b>(
        &'b self,
        name: &'static str,
        mut solve: impl FnMut(ViewMut<'_, T>) -> sparse_core::Result<Solution> + 'b,
    ) -> Result<Contender<'b>> {
        let device = &self.bench.device;
        let mut run = move || {
            let mut x = self.x.borrow_mut();
            self.bench.fill(&mut x, &[T::ZERO; 1 << 16])?;
            let mut solution = None;
            let seconds = D::seconds(device, &mut || {
                solution = Some(solve(Device::view_mut(&mut x))?);
                Ok(())
            })?;
            cg::check(solution)?;
            Ok(seconds)
        };
        run()?;
        self.check().context(name)?;
        Ok(Contender::external(name, run))
    }

    /// A solver in every mode, the graph first, if its x is right; errors of other libraries are printed and not timed.
    /// It is launched before it is recorded, since the modules that a library loads with its first launches cannot be
    /// recorded.
    fn contenders<'b>(&'b self, solver: &'b RefCell<Product<'_, T>>) -> Result<Vec<Contender<'b>>> {
        let modes: &[_] = match D::HAS_GRAPHS {
            true => &[(":launched", Enqueued::OneByOne), ("", Enqueued::AsGraph)],
            false => &[("", Enqueued::OneByOne)],
        };
        let mut contenders = vec![];
        for &(suffix, mode) in modes {
            let name = format!("{}{suffix}", solver.borrow().name);
            if let Err(error) = self.checked(&mut solver.borrow_mut(), mode) {
                ensure!(!name.starts_with("ours"), "{name}: {error:#}");
                eprintln!("left out: {name}: {error:#}");
                continue;
            }
            let seconds = move || Ok(self.seconds(&mut solver.borrow_mut(), mode)?);
            let contender = Contender::external(name, seconds).planned(solver.borrow().plan_seconds);
            contenders.push(contender.chosen(solver.borrow().choice.clone()));
        }
        contenders.reverse();
        Ok(contenders)
    }

    /// An error unless a solver finds x, which is cleared before.
    fn checked(&self, solver: &mut Product<'_, T>, mode: Enqueued) -> Result<()> {
        self.bench.fill(&mut self.x.borrow_mut(), &[T::from_c64(f64::NAN.into()); 1 << 16])?;
        self.seconds(solver, mode)?;
        self.check()
    }

    fn check(&self) -> Result<()> {
        self.expected.check(&self.bench.device.download(&self.x.borrow())?)
    }

    fn seconds(&self, solver: &mut Product<'_, T>, mode: Enqueued) -> sparse_core::Result<f64> {
        let (device, mut x) = (&self.bench.device, self.x.borrow_mut());
        let mut work = || (solver.run)(Device::view_mut(&mut x));
        match mode {
            Enqueued::AsGraph => D::replayed(device, 1, &mut work),
            Enqueued::OneByOne => D::seconds(device, &mut work),
        }
    }
}
