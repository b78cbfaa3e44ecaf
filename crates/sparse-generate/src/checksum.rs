//! A fingerprint of a matrix.

use sparse_core::format::Csr;
use sparse_core::index::Index;
use sparse_core::scalar::Scalar;
use sparse_core::space::Host;

/// A hash of shape, offsets, columns and values, the same on every machine.
///
/// It is FNV-1a over 64-bit words in place of bytes, with the high half folded into the low one after every
/// multiplication. Indices enter as numbers and values as the bits of their double-precision parts, so that a matrix
/// has one checksum in all index types, and in all scalar types that hold its values exactly and agree on being real.
///
/// ```
/// use sparse_generate::{band, checksum};
///
/// assert_eq!(checksum(&band::<f64>(9, 1, 1, 7)?), checksum(&band::<f64>(9, 1, 1, 7)?));
/// assert_ne!(checksum(&band::<f64>(9, 1, 1, 7)?), checksum(&band::<f64>(9, 1, 1, 8)?));
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub fn checksum<T: Scalar, I: Index, O: Index>(a: &Csr<T, Host, I, O>) -> u64 {
    let mut hash = Fnv::new();
    hash.add(a.nrows() as u64);
    hash.add(a.ncols() as u64);
    a.row_ptr().iter().for_each(|offset| hash.add(offset.as_usize() as u64));
    a.col_idx().iter().for_each(|col| hash.add(col.as_usize() as u64));
    for value in a.values() {
        let value = value.to_c64();
        hash.add(value.re.to_bits());
        hash.add(value.im.to_bits());
    }
    hash.0
}

/// The state of Fowler, Noll and Vo's hash.
struct Fnv(u64);

impl Fnv {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;

    fn new() -> Self {
        Self(Self::BASIS)
    }

    #[inline]
    fn add(&mut self, word: u64) {
        let product = (self.0 ^ word).wrapping_mul(Self::PRIME);
        self.0 = product ^ (product >> 32);
    }
}
