//! Products on the host as contenders, once their results are checked.

use crate::check::Answer;
use crate::measure::Contender;
use crate::product::{Product, available};
use crate::value::Value;
use anyhow::{Context as _, Result};
use sparse_core::Host;
use std::time::Instant;

/// The plan, and the seconds of making it.
pub(super) fn planned<P>(plan: impl FnOnce() -> sparse_core::Result<P>) -> sparse_core::Result<(P, f64)> {
    let start = Instant::now();
    let plan = plan()?;
    Ok((plan, start.elapsed().as_secs_f64()))
}

/// A product as a contender, once its result is checked.
pub(super) fn checked<'a, T: Value>(
    product: Product<'a, T, Host>,
    expected: &impl Answer,
) -> Result<Contender<'a>> {
    let Product { name, plan_seconds, choice, mut run } = product;
    let mut output = vec![T::from_c64(f64::NAN.into()); expected.elements()];
    run(&mut output)?;
    expected.check(&output).with_context(|| name.clone())?;
    Ok(Contender::new(name, move || Ok(run(&mut output)?)).chosen(choice).planned(plan_seconds))
}

/// The products of another library as contenders; a wrong one is printed and not timed.
pub(super) fn of_library<'a, T: Value>(
    products: Vec<Product<'a, T, Host>>,
    expected: &impl Answer,
) -> impl Iterator<Item = Contender<'a>> {
    products.into_iter().filter_map(|product| available(&product.name.clone(), checked(product, expected)))
}
