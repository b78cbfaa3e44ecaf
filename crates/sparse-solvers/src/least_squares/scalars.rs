//! The scalar recurrences of LSQR and LSMR, in double precision for all types.

use super::LeastSquaresMethod;

/// Coefficients of an iteration: the direction d ← h + `bar`·d, or h itself where it is `None`; x ← x + `step`·d;
/// h ← v + `next`·h.
#[derive(Debug)]
pub(super) struct Update {
    pub(super) bar: Option<f64>,
    pub(super) step: f64,
    pub(super) next: f64,
}

/// Estimates after an iteration, of the problem with A and damp·I one above the other.
#[derive(Debug)]
pub(super) struct Estimates {
    pub(super) residual: f64,
    /// The norm of the residual of the normal equations over that of the residual.
    pub(super) normal_ratio: f64,
    pub(super) condition: f64,
}

/// The elements that Golub's and Kahan's process adds to the bidiagonal matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elements {
    pub(super) alpha: f64,
    pub(super) beta: f64,
}

/// The state of a method between two iterations.
#[derive(Debug)]
pub(super) enum Scalars {
    Lsqr(Lsqr),
    Lsmr(Lsmr),
}

/// The rotation of (`a`, `b`) to (r, 0): cosine, sine and r.
fn rotation(a: f64, b: f64) -> (f64, f64, f64) {
    match a.hypot(b) {
        0.0 => (0.0, 0.0, 0.0),
        r => (a / r, b / r, r),
    }
}

/// `a / b`, which is 0 where both are.
fn over(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a / b }
}

impl Scalars {
    pub(super) fn new(method: LeastSquaresMethod, start: Elements, damp: f64) -> Self {
        match method {
            LeastSquaresMethod::Lsqr => Self::Lsqr(Lsqr::new(start, damp)),
            LeastSquaresMethod::Lsmr => Self::Lsmr(Lsmr::new(start, damp)),
        }
    }

    /// ‖A‖ as the method estimates it: LSQR that of A and damp·I one above the other.
    pub(super) fn norm(&self) -> f64 {
        match self {
            Self::Lsqr(lsqr) => lsqr.norm,
            Self::Lsmr(lsmr) => lsmr.norm,
        }
    }
}

#[derive(Debug)]
pub(super) struct Lsqr {
    damp: f64,
    rho_bar: f64,
    phi_bar: f64,
    /// The part of the residual that damping adds.
    damped: f64,
    /// ‖(A; damp·I)‖ and the norm of its inverse, estimated by their elements.
    norm: f64,
    norm_of_inverse: f64,
}

impl Lsqr {
    fn new(Elements { alpha, beta }: Elements, damp: f64) -> Self {
        Self { damp, rho_bar: alpha, phi_bar: beta, damped: 0.0, norm: 0.0, norm_of_inverse: 0.0 }
    }

    /// `before` has α of the iteration before, `direction` is ‖h‖₂.
    pub(super) fn step(&mut self, before: f64, new: Elements, direction: f64) -> (Update, Estimates) {
        let Elements { alpha, beta } = new;
        self.norm = self.norm.hypot(before).hypot(beta).hypot(self.damp);
        let (cos, sin, rho_bar) = match self.damp {
            0.0 => (1.0, 0.0, self.rho_bar),
            damp => rotation(self.rho_bar, damp),
        };
        self.damped = self.damped.hypot(sin * self.phi_bar);
        let phi_bar = cos * self.phi_bar;

        let (cos, sin, rho) = rotation(rho_bar, beta);
        let theta = sin * alpha;
        let phi = cos * phi_bar;
        self.rho_bar = -cos * alpha;
        self.phi_bar = sin * phi_bar;
        self.norm_of_inverse = self.norm_of_inverse.hypot(direction / rho);
        let update = Update { bar: None, step: phi / rho, next: -theta / rho };
        let residual = self.phi_bar.hypot(self.damped);
        let normal_ratio = alpha * over((sin * phi).abs(), residual);
        (update, Estimates { residual, normal_ratio, condition: self.norm * self.norm_of_inverse })
    }
}

/// The notation is that of Fong and Saunders, for the problem divided by ‖b − A·x₀‖: α·β would underflow where A and b
/// are small.
#[derive(Debug)]
pub(super) struct Lsmr {
    damp: f64,
    /// ‖b − A·x₀‖₂.
    scale: f64,
    norm: f64,
    alpha_bar: f64,
    rho: f64,
    rho_bar: f64,
    cos_bar: f64,
    sin_bar: f64,
    zeta: f64,
    zeta_bar: f64,
    largest_rho: f64,
    smallest_rho: f64,
    residual: LsmrResidual,
}

/// The estimate of ‖r‖₂.
#[derive(Debug)]
struct LsmrResidual {
    beta_dd: f64,
    beta_d: f64,
    rho_d: f64,
    tau_tilde: f64,
    theta_tilde: f64,
    damped: f64,
}

impl Lsmr {
    fn new(Elements { alpha, beta }: Elements, damp: f64) -> Self {
        let residual = LsmrResidual {
            beta_dd: 1.0,
            beta_d: 0.0,
            rho_d: 1.0,
            tau_tilde: 0.0,
            theta_tilde: 0.0,
            damped: 0.0,
        };
        Self {
            damp,
            scale: beta,
            norm: 0.0,
            alpha_bar: alpha,
            rho: 1.0,
            rho_bar: 1.0,
            cos_bar: 1.0,
            sin_bar: 0.0,
            zeta: 0.0,
            zeta_bar: alpha,
            largest_rho: 0.0,
            smallest_rho: f64::INFINITY,
            residual,
        }
    }

    /// `before` has α of the iteration before.
    pub(super) fn step(&mut self, before: f64, new: Elements) -> (Update, Estimates) {
        let Elements { alpha, beta } = new;
        self.norm = self.norm.hypot(before).hypot(beta);
        let (damped_cos, damped_sin, alpha_hat) = rotation(self.alpha_bar, self.damp);
        let (rho_before, rho_bar_before, zeta_before) = (self.rho, self.rho_bar, self.zeta);
        let (cos, sin, rho) = rotation(alpha_hat, beta);
        let theta = sin * alpha;
        self.rho = rho;
        self.alpha_bar = cos * alpha;

        let theta_bar = self.sin_bar * rho;
        let rho_of_bar = self.cos_bar * rho;
        (self.cos_bar, self.sin_bar, self.rho_bar) = rotation(rho_of_bar, theta);
        self.zeta = self.cos_bar * self.zeta_bar;
        self.zeta_bar *= -self.sin_bar;

        let update = Update {
            bar: Some(-(theta_bar / rho_before) * (rho / rho_bar_before)),
            step: self.zeta / rho / self.rho_bar * self.scale,
            next: -theta / rho,
        };
        let residual = &mut self.residual;
        residual.damp(damped_cos, damped_sin);
        let residual = residual.rotate((cos, sin), theta_bar, self.rho_bar, (zeta_before, self.zeta));
        let condition = self.largest_rho.max(rho_of_bar) / self.smallest_rho.min(rho_of_bar);
        self.largest_rho = self.largest_rho.max(self.rho_bar);
        self.smallest_rho = self.smallest_rho.min(self.rho_bar);
        let normal_ratio = over(self.zeta_bar.abs(), residual);
        (update, Estimates { residual: residual * self.scale, normal_ratio, condition })
    }
}

impl LsmrResidual {
    fn damp(&mut self, cos: f64, sin: f64) {
        self.damped = self.damped.hypot(sin * self.beta_dd);
        self.beta_dd *= cos;
    }

    fn rotate(
        &mut self,
        (cos, sin): (f64, f64),
        theta_bar: f64,
        rho_bar: f64,
        (zeta_before, zeta): (f64, f64),
    ) -> f64 {
        let beta_hat = cos * self.beta_dd;
        self.beta_dd *= -sin;
        let theta_before = self.theta_tilde;
        let (tilde_cos, tilde_sin, rho_tilde) = rotation(self.rho_d, theta_bar);
        self.theta_tilde = tilde_sin * rho_bar;
        self.rho_d = tilde_cos * rho_bar;
        self.beta_d = tilde_cos * beta_hat - tilde_sin * self.beta_d;
        self.tau_tilde = (zeta_before - theta_before * self.tau_tilde) / rho_tilde;
        let tau = (zeta - self.theta_tilde * self.tau_tilde) / self.rho_d;
        self.damped.hypot(self.beta_d - tau).hypot(self.beta_dd)
    }
}
