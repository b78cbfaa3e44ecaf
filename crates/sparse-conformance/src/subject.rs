//! Subjects: one operation of one backend for one format and one triple of types, with these types erased; and checks,
//! which compute the answers that subjects must give.

use crate::array_dump::ArrayDump;
use crate::call::{Call, Outcome};
use crate::case::{Case, Problem};
use crate::device_matrix::PlannedMatrix;
use crate::equations::Equations;
use crate::error_bound::Bounded;
use crate::guarded_operand::GuardedOperand;
use crate::key::Key;
use crate::setting::Setting;
use crate::triplets::Triplets;
use sparse_core::{Algorithm, PlanOptions, Result};

/// One operation of one backend for one format and one triple of types.
pub trait Subject: Send + Sync {
    /// The name of the subject.
    fn key(&self) -> &Key;

    /// The expected results of the operation.
    fn check(&self) -> &'static dyn Check;

    /// The backend's table of algorithms.
    fn algorithms(&self, setting: &Setting) -> &'static [Algorithm];

    /// Builds the matrix in the subject's format, once for all settings and algorithms.
    ///
    /// # Errors
    /// [`Unsupported`](sparse_core::Error::Unsupported) if the format refuses; any other error is a failure of the
    /// case.
    fn given<'a>(&'a self, matrix: &'a Triplets) -> Result<Box<dyn Given + 'a>>;
}

/// A subject with the matrix of a case.
pub trait Given {
    /// Moves the matrix to the backend and makes a plan.
    ///
    /// # Errors
    /// [`Unsupported`](sparse_core::Error::Unsupported) if the backend refuses; any other error is a failure of the
    /// case.
    fn prepare(&self, setting: &Setting, options: &PlanOptions) -> Result<Box<dyn PlannedOperation + '_>>;
}

/// A subject without a matrix is its own [`Given`].
impl<S: Given + ?Sized> Given for &S {
    fn prepare(&self, setting: &Setting, options: &PlanOptions) -> Result<Box<dyn PlannedOperation + '_>> {
        (**self).prepare(setting, options)
    }
}

/// A plan and its matrix in a backend's memory, ready to run.
pub trait PlannedOperation {
    /// Uploads the operands, runs once, and downloads everything: `y` is the output's memory afterwards, also if the
    /// run was refused.
    ///
    /// # Errors
    /// Those of the operation.
    fn run(&mut self, call: &Call, y: &mut GuardedOperand) -> Result<Outcome>;

    /// The algorithm of the plan; `None` where there is nothing to choose.
    fn algorithm(&self) -> Option<&'static str> {
        None
    }

    /// The matrix, if there is one.
    fn matrix(&mut self) -> Option<&mut dyn PlannedMatrix> {
        None
    }
}

/// The expected result of a run.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// The elements of the output, column by column.
    pub y: Vec<Bounded>,
    /// The equations that the output satisfies up to rounding; then it has no expected elements.
    pub equations: Option<Equations>,
    /// True if the elements were moved, not computed: then −0 is not +0.
    pub moved: bool,
    /// The matrix or the numbers that the operation makes.
    pub made: ArrayDump<'static>,
    /// The order of a made matrix: (sorted, unique).
    pub marked_order: (bool, bool),
    /// True if a made matrix must be marked as sorted and unique.
    pub canonical: bool,
    /// True if the run must be refused with [`Error::Format`](sparse_core::Error::Format).
    pub refused: bool,
}

/// An operation's part of the table. The defaults fit an operation whose only operand is a matrix.
pub trait Check: Sync {
    /// True if the case applies to the operation.
    fn takes(&self, _: &Case) -> bool {
        true
    }

    /// The settings of plans; empty if the matrix is too large for the operation.
    fn settings(&self, _: &Key, _: &Problem) -> Vec<Setting> {
        vec![Setting::Plain]
    }

    /// The operands of the runs of a plan.
    fn calls(&self, _: &Setting, _: &Problem) -> Vec<Call> {
        vec![Call::plain(GuardedOperand::none())]
    }

    /// Operands whose shapes do not fit, which must be refused.
    fn invalid_calls(&self, _: &Setting, _: &Problem) -> Vec<Call> {
        vec![]
    }

    /// True if settings, calls and answers are the same for all formats and types of indices.
    fn is_of_all_formats(&self) -> bool {
        false
    }

    /// The part of a snapshot's label that distinguishes answers of one operation, setting and call: nothing if all
    /// formats agree, the format if they do not; `None` if answers depend on the types.
    fn scope(&self, key: &Key, _: &Setting) -> Option<String> {
        Some(match () {
            () if !self.is_of_all_formats() => key.format.clone(),
            () if key.is_batch() => "batch".into(),
            () => String::new(),
        })
    }

    /// The expected result of a run. Without it the answer of the serial reference counts, bit for bit: where
    /// operations only move data or add in a fixed order.
    fn expected(&self, _: &Setting, _: &Call, _: &Problem) -> Option<Expected> {
        None
    }

    /// True if a made matrix must be marked as sorted and unique.
    fn is_canonical(&self) -> bool {
        false
    }
}
