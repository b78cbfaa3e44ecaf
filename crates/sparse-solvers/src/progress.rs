//! The stopping rule: only the true residual decides.

use crate::outcome::{Breakdown, Outcome};

/// The most times in a row that a recurrence may claim convergence without progress.
const FALSE_CLAIMS: usize = 3;
/// The factor by which the true residual falls where there is progress.
const PROGRESS: f64 = 0.5;

const NOT_FINITE: Breakdown = Breakdown::NotFinite { quantity: "‖b − A·x‖" };

/// The progress of the true residual.
#[derive(Debug)]
pub(crate) struct Progress {
    target: f64,
    /// The residual at the last progress.
    last: f64,
    false_claims: usize,
}

impl Progress {
    pub(crate) fn towards(target: f64) -> Self {
        Self { target, last: f64::INFINITY, false_claims: 0 }
    }

    /// The residual to reach.
    pub(crate) fn target(&self) -> f64 {
        self.target
    }

    /// The outcome, given the true residual and the reason why the recurrence `ended`: it claims convergence, or an
    /// outcome of its own. `None` if a restart is worth while.
    pub(crate) fn outcome(&mut self, residual: f64, ended: Result<(), Outcome>) -> Option<Outcome> {
        let progress = residual <= PROGRESS * self.last;
        if progress {
            (self.last, self.false_claims) = (residual, 0);
        } else {
            self.false_claims += 1;
        }
        match ended {
            _ if !residual.is_finite() => Some(Outcome::Breakdown(NOT_FINITE)),
            _ if residual <= self.target => Some(Outcome::Converged),
            Err(Outcome::Breakdown(breakdown)) if progress && breakdown != Breakdown::IndefiniteMatrix => {
                None
            }
            Err(outcome) => Some(outcome),
            Ok(()) => {
                (self.false_claims == FALSE_CLAIMS).then_some(Outcome::Breakdown(Breakdown::Stagnation))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BREAKDOWN: Outcome = Outcome::Breakdown(Breakdown::RhoUnderflow);

    #[test]
    fn the_true_residual_overrules_how_the_recurrence_ended() {
        for ended in [Ok(()), Err(BREAKDOWN), Err(Outcome::Stopped)] {
            assert_eq!(Progress::towards(1.0).outcome(1.0, ended), Some(Outcome::Converged));
        }
    }

    #[test]
    fn claims_without_progress_are_stagnation() {
        let mut progress = Progress::towards(1.0);
        let outcomes = [9.0, 4.5, 4.0, 4.0, 4.0].map(|residual| progress.outcome(residual, Ok(())));
        assert_eq!(outcomes, [None, None, None, None, Some(Outcome::Breakdown(Breakdown::Stagnation))]);
    }

    #[test]
    fn progress_forgives_false_claims() {
        let mut progress = Progress::towards(1.0);
        let outcomes = [9.0, 8.0, 7.0, 4.0, 3.0, 3.0].map(|residual| progress.outcome(residual, Ok(())));
        assert_eq!(outcomes, [None; 6]);
    }

    #[test]
    fn a_breakdown_is_the_end_only_without_progress() {
        let mut progress = Progress::towards(1.0);
        assert_eq!(progress.outcome(9.0, Ok(())), None);
        assert_eq!(progress.outcome(3.0, Err(BREAKDOWN)), None);
        assert_eq!(progress.outcome(3.0, Err(BREAKDOWN)), Some(BREAKDOWN));
    }

    #[test]
    fn a_residual_that_is_not_finite_is_a_breakdown() {
        for (target, residual) in [(1.0, f64::NAN), (f64::INFINITY, f64::INFINITY)] {
            let outcome = Progress::towards(target).outcome(residual, Ok(()));
            assert_eq!(outcome, Some(Outcome::Breakdown(NOT_FINITE)));
        }
    }
}
