//! The operands of one run, and its results.

use crate::array_dump::ArrayDump;
use crate::build::{Build, FormatOn};
use crate::guarded_operand::{Cell, DeviceOperand, Frame, GuardedOperand, POISON};
use sparse_core::{Backend, Result, Scalar, c64};

/// A function of the input and the output of a call; it may return a number.
pub(crate) type Operation<'a, B, E> =
    dyn FnMut(&DeviceOperand<B, E>, &mut DeviceOperand<B, E>) -> Result<Option<c64>> + 'a;

/// The operands of one run.
#[derive(Debug, Clone)]
pub struct Call {
    /// Distinguishes calls of one setting: `alpha=2 beta=-1`.
    pub label: String,
    /// The factor of the product.
    pub alpha: c64,
    /// The factor of the output.
    pub beta: c64,
    /// The input operand.
    pub x: GuardedOperand,
    /// The output's memory before the run.
    pub y: GuardedOperand,
}

impl Call {
    /// A call without factors and input operand.
    pub(crate) fn plain(y: GuardedOperand) -> Self {
        Self { label: String::new(), alpha: c64::ZERO, beta: c64::ZERO, x: GuardedOperand::none(), y }
    }

    /// A call without factors and input operand, whose output has this frame and must be written whole.
    pub(crate) fn with_output(frame: Frame) -> Self {
        Self::plain(GuardedOperand::output(frame, |_, _| POISON))
    }

    /// alpha and beta in the type of an accumulator.
    pub(crate) fn factors<A: Scalar>(&self) -> (A, A) {
        (A::from_c64(self.alpha), A::from_c64(self.beta))
    }

    /// Uploads the operands, runs, and downloads them; the run may return a number.
    pub(crate) fn on<B: Backend, E: Cell>(
        &self,
        backend: &B,
        y: &mut GuardedOperand,
        run: &mut Operation<'_, B, E>,
    ) -> Result<Outcome> {
        let x = DeviceOperand::new(backend, &self.x)?;
        let mut output = DeviceOperand::new(backend, y)?;
        let number = run(&x, &mut output);
        *y = output.read(backend)?;
        Ok(Outcome { number: number?, input_changed: x.is_changed(backend)?, ..Outcome::default() })
    }
}

/// The results of a run in addition to the output operand.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The matrix that the operation made.
    pub made: ArrayDump<'static>,
    /// The number that was computed; then the output operand was only read.
    pub number: Option<c64>,
    /// The order that a made matrix is marked with: (sorted, unique).
    pub marked_order: Option<(bool, bool)>,
    /// True if the memory of the input operand is no longer what it was before the run.
    pub input_changed: bool,
}

impl Outcome {
    /// The outcome of making a matrix.
    pub(crate) fn of<B: Backend, H: Build>(made: &FormatOn<B, H>, backend: &B) -> Result<Self> {
        let host = H::fetch(made, backend)?;
        Ok(Self {
            made: host.dump().into_owned(),
            marked_order: Some(host.marked_order()),
            ..Self::default()
        })
    }

    /// The first difference between two outcomes, in words.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let bits = |number: Option<c64>| number.map(|number| (number.re.to_bits(), number.im.to_bits()));
        if bits(self.number) != bits(other.number) {
            return Some(format!("the number is {:?} and {:?}", self.number, other.number));
        }
        if (self.marked_order, self.input_changed) != (other.marked_order, other.input_changed) {
            return Some("the order that a matrix is marked with, or a change of the input operand".into());
        }
        self.made.difference(&other.made)
    }
}
