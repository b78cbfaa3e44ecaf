//! The stopping criteria of least-squares solvers: only true norms decide.

use crate::outcome::{Breakdown, Outcome};
use crate::progress::{Ended, Progress};

/// The norms that the criteria compare, estimated by a recurrence or computed from x.
#[derive(Debug, Clone, Copy)]
pub(super) struct Norms {
    /// ‖(b − A·x; damp·(x₀ − x))‖₂.
    pub(super) residual: f64,
    /// ‖Aᴴ·(b − A·x) − damp²·(x − x₀)‖₂ over `residual`. The product of ‖A‖ and the residual, which would be its bound,
    /// may underflow or overflow; this and ‖A‖ do not.
    pub(super) normal_ratio: f64,
    /// ‖(A; damp·I)‖, by an estimate.
    pub(super) a: f64,
    /// ‖x‖₂.
    pub(super) x: f64,
}

/// Paige's and Saunders' criteria: the residual is within the precision of A and b, or orthogonal to the columns of A
/// within the precision of A.
#[derive(Debug)]
pub(super) struct Criterion {
    atol: f64,
    btol: f64,
    norm_b: f64,
    /// The precision of the type.
    epsilon: f64,
    /// The distance of estimates at which they claim convergence. It falls with each false claim.
    claim: f64,
    progress: Progress,
}

impl Criterion {
    pub(super) fn new((atol, btol): (f64, f64), norm_b: f64, epsilon: f64) -> Self {
        Self { atol, btol, norm_b, epsilon, claim: 1.0, progress: Progress::towards(0.0) }
    }

    /// True if it is time to compute the true norms.
    pub(super) fn claimed_by(&self, estimates: &Norms) -> bool {
        self.distance(estimates) <= self.claim
    }

    /// The outcome for the true norms, given the estimates and the reason why the recurrence `ended`. `None` if the
    /// solver should continue.
    pub(super) fn outcome(&mut self, truth: &Norms, estimates: &Norms, ended: Ended) -> Option<Outcome> {
        let &Norms { residual, normal_ratio, a, x } = truth;
        match ended {
            _ if !residual.is_finite() || !normal_ratio.is_finite() => {
                Some(Breakdown::NotFinite { quantity: "‖b − A·x‖" }.into())
            }
            _ if residual <= self.btol * self.norm_b + self.atol * a * x => Some(Outcome::Converged),
            _ if normal_ratio <= self.atol * a => Some(Outcome::LeastSquares),
            Ended::By(outcome) => Some(outcome),
            _ => {
                let (true_distance, estimate) = (self.distance(truth), self.distance(estimates));
                self.claim = 0.5 * estimate / true_distance.max(1.0);
                self.progress.outcome(true_distance.min(f64::MAX), Ended::Claim)
            }
        }
    }

    /// The smaller of the ratios of a norm to its bound, with tolerances of at least the precision of the type.
    fn distance(&self, norms: &Norms) -> f64 {
        let (atol, btol) = (self.atol.max(self.epsilon), self.btol.max(self.epsilon));
        let compatible = norms.residual / (btol * self.norm_b + atol * norms.a * norms.x);
        let orthogonal = norms.normal_ratio / (atol * norms.a);
        compatible.min(orthogonal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: Norms = Norms { residual: 1.0, normal_ratio: 1.0, a: 1.0, x: 0.0 };

    fn criterion() -> Criterion {
        Criterion::new((1e-6, 1e-6), 1.0, f64::EPSILON)
    }

    #[test]
    fn each_criterion_is_enough() {
        let small = Norms { residual: 1e-7, ..FAR };
        let orthogonal = Norms { normal_ratio: 1e-7, ..FAR };
        assert!(criterion().claimed_by(&small) && criterion().claimed_by(&orthogonal));
        assert_eq!(criterion().outcome(&small, &small, Ended::Claim), Some(Outcome::Converged));
        assert_eq!(criterion().outcome(&orthogonal, &FAR, Ended::Claim), Some(Outcome::LeastSquares));
        let limit = Ended::By(Outcome::IterationLimit);
        assert_eq!(criterion().outcome(&FAR, &small, limit), Some(Outcome::IterationLimit));
    }

    #[test]
    fn false_claims_ask_for_more_and_then_stagnate() {
        let claimed = Norms { residual: 1e-6, ..FAR };
        let truth = Norms { residual: 1e-4, ..FAR };
        let mut criterion = criterion();
        assert_eq!(criterion.outcome(&truth, &claimed, Ended::Claim), None);
        assert!(!criterion.claimed_by(&claimed));
        assert!(criterion.claimed_by(&Norms { residual: 4e-9, ..FAR }));
        let ends = [(); 3].map(|()| criterion.outcome(&truth, &claimed, Ended::Claim));
        assert_eq!(ends, [None, None, Some(Outcome::Breakdown(Breakdown::Stagnation))]);
    }
}
