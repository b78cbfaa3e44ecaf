//! Conjugate gradients in f32 on the 5-point Laplacian: a number of iterations, from x = 0, with b = 1.

use super::Bench;
use super::measured::Measured;
use crate::measure::Contender;
use crate::op::cg;
use crate::report::Report;
use anyhow::Result;
use sparse_core::{Backend, Csr, Matrix, Space, generate};
use sparse_device::Device;
use sparse_solvers::{Cg, Identity};
use std::ops::ControlFlow;

pub(super) fn run<D: Measured>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    let sides: &[usize] = if bench.arguments.smoke { &[200] } else { &[100, 300, 1000, 3000] };
    for &side in sides.iter().filter(|_| bench.arguments.wants("stencil_5")) {
        compare(bench, report, &format!("stencil_5 {side}²"), &generate::stencil_5(side, side)?)?;
    }
    Ok(())
}

fn compare<D: Measured>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    name: &str,
    host: &Csr<f32>,
) -> Result<()> {
    let (device, n) = (&bench.device, host.rows());
    let a = host.to_device(device)?;
    let mut solver = Cg::new(device, &a, Identity, &cg::options())?;
    let (b, mut x) = (device.upload(&vec![1.0_f32; n])?, device.zeros::<f32>(n)?);
    let ours = Contender::external("ours", || {
        bench.fill(&mut x, &[0.0])?;
        let mut solution = None;
        let seconds = D::seconds(device, &mut || {
            let (b, x) = (Device::<D>::view(&b), Device::<D>::view_mut(&mut x));
            solution = Some(solver.solve(&a, b, x, |_| ControlFlow::Continue(()))?);
            Ok(())
        })?;
        cg::check(solution)?;
        Ok(seconds)
    });
    report.compare(cg::case(name, host), vec![ours])
}
