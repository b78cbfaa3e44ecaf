//! A product by an algorithm of ours or of another library, planned and ready to run.

use sparse_core::{Algorithm, Backend, Choice, Host, PlanOptions, Scalar, Space};
use sparse_device::{Device, ViewMut};
use std::fmt::Display;
use std::time::Instant;

/// Runs a plan: computes the product, or enqueues that, and writes it into the view.
type Run<'a, T, S> = Box<dyn FnMut(<S as Space>::ViewMut<'_, T>) -> sparse_core::Result<()> + 'a>;

/// A planned product, or a solver, whose start does not depend on its output.
pub(crate) struct Product<'a, T: Scalar, S: Space = Device> {
    pub(crate) name: String,
    /// The seconds of its plan, if it has one.
    pub(crate) plan_seconds: Option<f64>,
    pub(crate) choice: Option<Choice>,
    pub(crate) run: Run<'a, T, S>,
}

impl<'a, T: Scalar> Product<'a, T> {
    /// A product on a device whose plan took `plan_seconds`.
    pub(crate) fn new(
        name: impl Into<String>,
        plan_seconds: f64,
        run: impl FnMut(ViewMut<'_, T>) -> sparse_core::Result<()> + 'a,
    ) -> Self {
        let plan_seconds = Some(plan_seconds);
        Self { name: name.into(), plan_seconds, choice: None, run: Box::new(run) }
    }
}

impl<T: Scalar, S: Space> Product<'_, T, S> {
    /// Sets the choice of its plan.
    pub(crate) fn chosen(self, choice: Choice) -> Self {
        Self { choice: Some(choice), ..self }
    }
}

impl<'a, T: Scalar> Product<'a, T, Host> {
    /// A product on the host.
    pub(crate) fn on_host(
        name: impl Into<String>,
        plan_seconds: Option<f64>,
        run: impl FnMut(&mut [T]) -> sparse_core::Result<()> + 'a,
    ) -> Self {
        Self { name: name.into(), plan_seconds, choice: None, run: Box::new(run) }
    }
}

/// Makes a plan and returns the time of that; kernels are compiled before.
pub(crate) fn planned<P>(
    device: &Device,
    make: impl Fn() -> sparse_core::Result<P>,
) -> sparse_core::Result<(P, f64)> {
    drop(make()?);
    device.synchronize()?;
    let start = Instant::now();
    let plan = make()?;
    device.synchronize()?;
    Ok((plan, start.elapsed().as_secs_f64()))
}

/// The automatic choice of ours, then every algorithm that takes the operands; the reason why one does not is printed.
pub(crate) fn by_each_algorithm<'a, T: Scalar, S: Space>(
    algorithms: &[Algorithm],
    product: impl Fn(String, &PlanOptions) -> sparse_core::Result<Product<'a, T, S>>,
) -> sparse_core::Result<Vec<Product<'a, T, S>>> {
    let mut products = vec![product("ours".into(), &PlanOptions::often())?];
    for algorithm in algorithms {
        let name = format!("ours:{}", algorithm.name);
        products
            .extend(available(&name, product(name.clone(), &PlanOptions::forced(algorithm.name).relaxed())));
    }
    Ok(products)
}

/// The contender, unless it was refused, which is printed.
pub(crate) fn available<P, E: Display>(name: &str, made: Result<P, E>) -> Option<P> {
    made.inspect_err(|error| eprintln!("left out: {name}: {error:#}")).ok()
}
