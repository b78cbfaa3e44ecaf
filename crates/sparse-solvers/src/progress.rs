//! The stopping rule: only the true residual decides.

use crate::outcome::{Breakdown, Iteration, Outcome};
use std::ops::ControlFlow;

/// The most times in a row that a recurrence may claim convergence without progress.
const FALSE_CLAIMS: usize = 3;
/// The factor by which the true residual falls where there is progress.
const PROGRESS: f64 = 0.5;

/// The least part of the residual that a cycle of a restarted method must take away: with less, a digit would take more
/// than two million cycles.
const MIN_PROGRESS: f64 = 1e-6;

const NOT_FINITE: Breakdown = Breakdown::NotFinite { quantity: "‖b − A·x‖" };

/// The reason why the true residual is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Ended {
    /// Nothing was done yet.
    Start,
    /// The recurrence claims convergence.
    Claim,
    /// A cycle is over, and the method has to start again; the recurrence claims this residual.
    Cycle(f64),
    /// The recurrence ended with this outcome.
    By(Outcome),
}

/// The progress of the true residual.
#[derive(Debug)]
pub(crate) struct Progress {
    target: f64,
    /// The residual at the last start.
    before: f64,
    /// The residual at the last progress.
    last: f64,
    false_claims: usize,
}

impl Progress {
    pub(crate) fn towards(target: f64) -> Self {
        Self { target, before: f64::INFINITY, last: f64::INFINITY, false_claims: 0 }
    }

    /// The residual to reach.
    pub(crate) fn target(&self) -> f64 {
        self.target
    }

    /// The outcome, given the true residual and the reason why the recurrence `ended`. `None` if the solver should
    /// restart.
    pub(crate) fn outcome(&mut self, residual: f64, ended: Ended) -> Option<Outcome> {
        let enough = (1.0 - MIN_PROGRESS) * std::mem::replace(&mut self.before, residual);
        let progress = residual <= PROGRESS * self.last;
        if progress {
            (self.last, self.false_claims) = (residual, 0);
        } else if ended == Ended::Claim {
            self.false_claims += 1;
        }
        match ended {
            _ if !residual.is_finite() => Some(Outcome::Breakdown(NOT_FINITE)),
            _ if residual <= self.target => Some(Outcome::Converged),
            Ended::By(Outcome::Breakdown(breakdown))
                if progress && breakdown != Breakdown::IndefiniteMatrix =>
            {
                None
            }
            Ended::By(outcome) => Some(outcome),
            Ended::Cycle(_) if residual <= enough => None,
            Ended::Cycle(claimed) if claimed <= enough => Some(Breakdown::Stagnation.into()),
            Ended::Cycle(_) => Some(Breakdown::StalledCycle.into()),
            Ended::Start => None,
            Ended::Claim => {
                (self.false_claims == FALSE_CLAIMS).then_some(Outcome::Breakdown(Breakdown::Stagnation))
            }
        }
    }
}

/// Counts the iterations and passes them to the callback.
pub(crate) struct Watch<F> {
    pub(crate) iterations: usize,
    pub(crate) limit: usize,
    pub(crate) norm_b: f64,
    pub(crate) callback: F,
}

impl<F: FnMut(Iteration) -> ControlFlow<()>> Watch<F> {
    pub(crate) fn see(&mut self, taken: usize, claimed: f64) -> Result<(), Outcome> {
        self.iterations += taken;
        let iteration = Iteration { number: self.iterations, relative_residual: claimed / self.norm_b };
        if (self.callback)(iteration).is_break() {
            return Err(Outcome::Stopped);
        }
        if !claimed.is_finite() {
            return Err(Breakdown::NotFinite { quantity: "‖r‖" }.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BREAKDOWN: Outcome = Outcome::Breakdown(Breakdown::RhoUnderflow);

    #[test]
    fn the_true_residual_overrules_how_the_recurrence_ended() {
        let outcomes = [BREAKDOWN, Outcome::Stopped].map(Ended::By);
        for ended in [Ended::Start, Ended::Claim, Ended::Cycle(1.0)].into_iter().chain(outcomes) {
            assert_eq!(Progress::towards(1.0).outcome(1.0, ended), Some(Outcome::Converged));
        }
    }

    #[test]
    fn claims_without_progress_are_stagnation() {
        let mut progress = Progress::towards(1.0);
        let outcomes = [9.0, 4.5, 4.0, 4.0, 4.0].map(|residual| progress.outcome(residual, Ended::Claim));
        assert_eq!(outcomes, [None, None, None, None, Some(Outcome::Breakdown(Breakdown::Stagnation))]);
    }

    #[test]
    fn progress_forgives_false_claims() {
        let mut progress = Progress::towards(1.0);
        let outcomes =
            [9.0, 8.0, 7.0, 4.0, 3.0, 3.0].map(|residual| progress.outcome(residual, Ended::Claim));
        assert_eq!(outcomes, [None; 6]);
    }

    #[test]
    fn a_breakdown_is_the_end_only_without_progress() {
        let mut progress = Progress::towards(1.0);
        assert_eq!(progress.outcome(9.0, Ended::Claim), None);
        assert_eq!(progress.outcome(3.0, Ended::By(BREAKDOWN)), None);
        assert_eq!(progress.outcome(3.0, Ended::By(BREAKDOWN)), Some(BREAKDOWN));
    }

    #[test]
    fn a_cycle_may_be_slow_but_not_stand_still() {
        let mut progress = Progress::towards(1.0);
        let outcomes =
            [9.0, 8.9, 8.8, 8.7, 8.6].map(|residual| progress.outcome(residual, Ended::Cycle(residual)));
        assert_eq!(outcomes, [None; 5]);
        assert_eq!(progress.outcome(8.6, Ended::Cycle(8.6)), Some(Breakdown::StalledCycle.into()));
        assert_eq!(progress.outcome(8.6, Ended::Cycle(4.0)), Some(Breakdown::Stagnation.into()));
    }

    #[test]
    fn a_residual_that_is_not_finite_is_a_breakdown() {
        for (target, residual) in [(1.0, f64::NAN), (f64::INFINITY, f64::INFINITY)] {
            let outcome = Progress::towards(target).outcome(residual, Ended::Claim);
            assert_eq!(outcome, Some(Outcome::Breakdown(NOT_FINITE)));
        }
    }
}
