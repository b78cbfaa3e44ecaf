//! CSR to ELL, HYB and SELL, and back.

use super::{ParallelConvert, SEQUENTIAL, row_blocks};
use crate::Cpu;
use sparse_core::reference::Convert;
use sparse_core::{
    Algorithm, Csr, Ell, EllLayout, Host, Hyb, HybWidth, Index, Result, Scalar, Sell, SellLayout, algorithms,
};

algorithms! {
    /// The algorithms of conversions from and to ELL, HYB and SELL.
    pub enum PaddedAlgorithm {
        RowBlocks = Algorithm::new("row_blocks", "always: every block of rows is written by one thread");
        Sequential = SEQUENTIAL;
    }
}

macro_rules! padded {
    ($from:ty => $to:ty, $layout:ty, $row_blocks:expr) => {
        impl<T: Scalar, I: Index, O: Index> ParallelConvert<$to> for $from {
            type Algorithm = PaddedAlgorithm;
            const AUTOMATIC: Self::Algorithm = PaddedAlgorithm::RowBlocks;

            fn run(&self, cpu: &Cpu, algorithm: PaddedAlgorithm, layout: &$layout) -> Result<$to> {
                match algorithm {
                    PaddedAlgorithm::RowBlocks => $row_blocks(cpu, self, layout),
                    PaddedAlgorithm::Sequential => self.convert(layout),
                }
            }
        }
    };
}

padded!(Csr<T, Host, I, O> => Ell<T, Host, I>, EllLayout, row_blocks::csr_to_ell);
padded!(Csr<T, Host, I, O> => Hyb<T, Host, I>, HybWidth, row_blocks::csr_to_hyb);
padded!(Csr<T, Host, I, O> => Sell<T, Host, I, O>, SellLayout, row_blocks::csr_to_sell);
padded!(Ell<T, Host, I> => Csr<T, Host, I, O>, (), row_blocks::ell_to_csr);
padded!(Hyb<T, Host, I> => Csr<T, Host, I, O>, (), row_blocks::hyb_to_csr);
padded!(Sell<T, Host, I, O> => Csr<T, Host, I, O>, (), row_blocks::sell_to_csr);
