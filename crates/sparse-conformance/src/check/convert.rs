//! Conversions between sparse formats, in every layout.

use crate::build::{Build, FormatOn};
use crate::call::Outcome;
use crate::case::Problem;
use crate::key::Key;
use crate::matrix_subject::{MatrixOperation, MatrixPlan, MatrixSubject};
use crate::setting::Setting;
use crate::subject::Check;
use crate::suite::Suite;
use sparse_core::catalog::Operation;
use sparse_core::op::{Conversion, ConvertKernel, ConvertPlan, Duplicates};
use sparse_core::{Algorithm, Backend, EllLayout, HybWidth, PlanOptions, Result, SellLayout};
use std::marker::PhantomData;

/// The layouts of a target format that the table tests.
pub trait TestedLayout: Default {
    /// The layout of a setting of this kind; `None` for others.
    fn of(setting: &Setting) -> Option<Self>;
}

macro_rules! layouts {
    ($($layout:ty: $variant:pat => $value:expr;)*) => {$(
        impl TestedLayout for $layout {
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

/// The check of conversions to the format `To`.
pub(crate) struct ConvertTo<To>(PhantomData<fn() -> To>);

impl Suite {
    /// Conversion between two formats.
    pub fn convert<B, From, To>(&mut self, backend: &B) -> &mut Self
    where
        B: ConvertKernel<FormatOn<B, From>, FormatOn<B, To>>,
        From: Build,
        To: Build,
        FormatOn<B, From>: Conversion<FormatOn<B, To>, Layout: TestedLayout>,
    {
        self.add(MatrixSubject::<B, From>::new(
            backend,
            ConvertTo::<To>::key::<B, From>(),
            &ConvertTo::<To>::OPERATION,
        ))
    }
}

impl<To> Check for ConvertTo<To> {
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

impl<To: Build> ConvertTo<To> {
    pub(crate) const OPERATION: Self = Self(PhantomData);

    /// The name of the conversion from `From`.
    pub(crate) fn key<B: Backend, From: Build>() -> Key
    where
        FormatOn<B, From>: Conversion<FormatOn<B, To>>,
    {
        let types = if From::types().len() > To::types().len() { From::types() } else { To::types() };
        Key::new::<From::Scalar>(
            Operation::Convert,
            <FormatOn<B, From> as Conversion<FormatOn<B, To>>>::NAME,
            types,
        )
    }
}

impl<B, From, To> MatrixOperation<B, From> for ConvertTo<To>
where
    B: ConvertKernel<FormatOn<B, From>, FormatOn<B, To>>,
    From: Build,
    To: Build,
    FormatOn<B, From>: Conversion<FormatOn<B, To>, Layout: TestedLayout>,
{
    fn algorithms(&self, backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.convert_algorithms()
    }

    fn plan(
        &self,
        backend: &B,
        a: &FormatOn<B, From>,
        setting: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, From>> {
        let layout = TestedLayout::of(setting).unwrap_or_default();
        let mut plan = ConvertPlan::new(backend, a, &layout, options)?;
        Ok(MatrixPlan {
            algorithm: plan.choice().algorithm,
            run: Box::new(move |a, _, _| Outcome::of::<B, To>(&plan.run(&a.device)?, a.backend)),
        })
    }
}
