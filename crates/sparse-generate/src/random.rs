//! Randomness that is the same on every machine.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sparse_core::scalar::{Scalar, c64};
use std::f64::consts::TAU;

/// The key of a family of independent streams.
#[derive(Debug)]
pub(super) struct Seed(ChaCha8Rng);

impl Seed {
    pub(super) fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self(ChaCha8Rng::from_seed(key))
    }

    /// The stream of row `row`.
    pub(super) fn row(&self, row: usize) -> Stream {
        self.stream(row as u64)
    }

    /// A stream for a purpose other than a row; `purpose` is small.
    pub(super) fn purpose(&self, purpose: u64) -> Stream {
        self.stream(u64::MAX - purpose)
    }

    fn stream(&self, number: u64) -> Stream {
        let mut rng = self.0.clone();
        rng.set_stream(number);
        Stream(rng)
    }
}

/// One stream of random numbers.
pub(super) struct Stream(ChaCha8Rng);

impl Stream {
    /// 64 random bits.
    #[inline]
    pub(super) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A whole number in `0..bound`, uniform up to a bias of `bound`·2⁻⁶⁴; `bound` is not 0.
    #[inline]
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// A multiple of 2⁻⁵³ in (0, 1].
    #[inline]
    pub(super) fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// True with probability `p`.
    #[inline]
    pub(super) fn chance(&mut self, p: f64) -> bool {
        self.unit() <= p
    }

    /// A standard normal number (Box and Muller 1958): `√(−2 ln u)·cos(2πv)`.
    pub(super) fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit()));
        radius * libm::cos(TAU * self.unit())
    }

    /// Puts `items` into a random order (Fisher and Yates; Durstenfeld 1964).
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// An integer from −4 to 4, not 0; the imaginary part likewise.
    pub(super) fn integer<T: Scalar>(&mut self) -> T {
        let bits = self.0.next_u32();
        let part = |bits: u32| {
            let k = f64::from(bits & 7) - 4.0;
            if k < 0.0 { k } else { k + 1.0 }
        };
        T::from_c64(c64::new(part(bits), part(bits >> 3)))
    }

    /// An odd multiple of 1/128 in (−1, 1); the imaginary part likewise.
    pub(super) fn fraction<T: Scalar>(&mut self) -> T {
        let bits = self.0.next_u32();
        let part = |bits: u32| (2.0 * f64::from(bits & 127) - 127.0) / 128.0;
        T::from_c64(c64::new(part(bits), part(bits >> 7)))
    }
}
