//! From one sparse format to another, in every layout.

use super::Check;
use crate::build::{Build, On};
use crate::case::Problem;
use crate::matrix_subject::{MatrixOperation, MatrixTrial};
use crate::memory::Memory;
use crate::subject::{Call, Key, Outcome, Setting};
use sparse_core::op::{Conversion, ConvertKernel, ConvertPlan, Duplicates};
use sparse_core::{Algorithm, EllLayout, HybWidth, PlanOptions, Result, SellLayout};
use std::marker::PhantomData;

/// The check of conversions.
#[derive(Debug)]
pub(crate) struct Convert;

/// What a target format needs to know, as the table chooses it.
pub trait Layout: Default {
    /// The layout of a setting of this kind; `None` for one of another.
    fn of(setting: &Setting) -> Option<Self>;
}

macro_rules! layouts {
    ($($layout:ty: $variant:pat => $value:expr;)*) => {$(
        impl Layout for $layout {
            fn of(setting: &Setting) -> Option<Self> {
                if let $variant = *setting { Some($value) } else { None }
            }
        }
    )*};
}

layouts! {
    (): Setting::Plain => ();
    Duplicates: Setting::Duplicates(duplicates) => duplicates;
    EllLayout: Setting::Ell(layout) => layout;
    HybWidth: Setting::Hyb(width) => width;
    SellLayout: Setting::Sell(layout) => layout;
}

const SELL: [(usize, usize); 5] = [(1, 1), (2, 4), (4, 1), (32, 4096), (64, 128)];

impl Check for Convert {
    fn settings(&self, key: &Key, problem: &Problem) -> Vec<Setting> {
        let sell = |(slice_height, sort_window)| SellLayout { slice_height, sort_window };
        let mut settings: Vec<_> = match key.format.as_str() {
            "coo_to_csr" | "coo_to_csc" => {
                [Duplicates::Sum, Duplicates::Keep, Duplicates::Last, Duplicates::Error]
                    .map(Setting::Duplicates)
                    .into()
            }
            "csr_to_ell" => {
                let wider = EllLayout { width: Some(problem.matrix.longest_row() + 2), max_bytes: None };
                [EllLayout::default(), wider].map(Setting::Ell).into()
            }
            "csr_to_hyb" => {
                [HybWidth::MinBytes, HybWidth::Fraction(0.125), HybWidth::Width(0), HybWidth::Width(3)]
                    .map(Setting::Hyb)
                    .into()
            }
            "csr_to_sell" => {
                let default = [Setting::Sell(SellLayout::default())];
                default.into_iter().chain(SELL.map(sell).map(Setting::Sell)).collect()
            }
            _ => vec![Setting::Plain],
        };
        settings.truncate(if problem.case.large { 2 } else { settings.len() });
        settings
    }

    /// The width of least bytes depends on the bytes of the types.
    fn scope(&self, key: &Key, setting: &Setting) -> Option<String> {
        (*setting != Setting::Hyb(HybWidth::MinBytes)).then(|| key.format.clone())
    }
}

/// A conversion to the format `To`.
pub(crate) struct ConvertTo<To>(PhantomData<To>);

impl<B, From, To> MatrixOperation<B, From> for ConvertTo<To>
where
    B: ConvertKernel<On<B, From>, On<B, To>>,
    From: Build,
    To: Build,
    On<B, From>: Conversion<On<B, To>, Layout: Layout>,
{
    type Plan = ConvertPlan<B, On<B, From>, On<B, To>>;
    const CHECK: &'static dyn Check = &Convert;

    fn key() -> Key {
        let types = if From::types().len() > To::types().len() { From::types() } else { To::types() };
        Key::new::<From::Scalar>("convert", <On<B, From> as Conversion<On<B, To>>>::NAME, types)
    }

    fn algorithms(backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.convert_algorithms()
    }

    fn plan(backend: &B, a: &On<B, From>, setting: &Setting, options: &PlanOptions) -> Result<Self::Plan> {
        ConvertPlan::new(backend, a, &Layout::of(setting).unwrap_or_default(), options)
    }

    fn run(trial: &mut MatrixTrial<'_, B, From, Self>, _: &Call, _: &mut Memory) -> Result<Outcome> {
        Outcome::of::<B, To>(&trial.plan.run(&trial.a.device)?, trial.a.backend)
    }
}
