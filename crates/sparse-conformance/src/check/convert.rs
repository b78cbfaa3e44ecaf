//! From one sparse format to another, in every layout.

use super::moved::{by_reference, plain_call};
use super::{Check, Expected};
use crate::build::{Build, On};
use crate::case::Problem;
use crate::held::{Held, HeldMatrix};
use crate::memory::Memory;
use crate::subject::{Call, Key, Outcome, Setting, Subject, Trial};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::op::{Conversion, ConvertKernel, ConvertPlan, Duplicates};
use sparse_core::{Algorithm, Backend, EllLayout, HybWidth, PlanOptions, Result, SellLayout};
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

    fn calls(&self, _: &Setting, _: &Problem) -> Vec<Call> {
        vec![plain_call(Memory::none())]
    }

    /// The width of least bytes depends on the bytes of the types.
    fn scope(&self, key: &Key, setting: &Setting) -> Option<String> {
        (*setting != Setting::Hyb(HybWidth::MinBytes)).then(|| key.format.clone())
    }

    fn expected(
        &self,
        key: &Key,
        setting: &Setting,
        call: &Call,
        problem: &Problem,
        reference: &Suite,
    ) -> Result<Expected> {
        by_reference(key, setting, call, problem, reference)
    }
}

/// A conversion of one backend.
#[derive(Debug)]
pub(crate) struct ConvertSubject<B, From, To> {
    backend: B,
    key: Key,
    formats: PhantomData<fn(From) -> To>,
}

impl<B: Backend, From: Build, To: Build> ConvertSubject<B, From, To>
where
    On<B, From>: Conversion<On<B, To>>,
{
    pub(crate) fn new(backend: B) -> Self {
        let types = if From::types().len() > To::types().len() { From::types() } else { To::types() };
        let key = Key::new::<From::Scalar>("convert", <On<B, From> as Conversion<On<B, To>>>::NAME, types);
        Self { backend, key, formats: PhantomData }
    }
}

struct ConvertTrial<B, From, To>
where
    B: ConvertKernel<On<B, From>, On<B, To>>,
    From: Build,
    To: Build,
    On<B, From>: Conversion<On<B, To>>,
{
    a: Held<B, From>,
    plan: ConvertPlan<B, On<B, From>, On<B, To>>,
}

impl<B, From, To> Subject for ConvertSubject<B, From, To>
where
    B: ConvertKernel<On<B, From>, On<B, To>>,
    From: Build,
    To: Build,
    On<B, From>: Conversion<On<B, To>, Layout: Layout>,
{
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        &Convert
    }

    fn algorithms(&self, _: &Setting) -> &'static [Algorithm] {
        self.backend.convert_algorithms()
    }

    fn prepare(
        &self,
        matrix: &Triplets,
        setting: &Setting,
        options: &PlanOptions,
    ) -> Result<Box<dyn Trial + '_>> {
        let a = Held::<B, From>::new(&self.backend, matrix)?;
        let layout = Layout::of(setting).unwrap_or_default();
        let plan = ConvertPlan::<B, On<B, From>, On<B, To>>::new(&self.backend, &a.device, &layout, options)?;
        Ok(Box::new(ConvertTrial::<B, From, To> { a, plan }))
    }
}

impl<B, From, To> Trial for ConvertTrial<B, From, To>
where
    B: ConvertKernel<On<B, From>, On<B, To>>,
    From: Build,
    To: Build,
    On<B, From>: Conversion<On<B, To>>,
{
    fn run(&mut self, _: &Call, _: &mut Memory) -> Result<Outcome> {
        let made = self.plan.run(&self.a.device)?;
        Outcome::of::<B, To>(&made, &self.a.backend)
    }

    fn matrix(&mut self) -> Option<&mut dyn HeldMatrix> {
        Some(&mut self.a)
    }
}
