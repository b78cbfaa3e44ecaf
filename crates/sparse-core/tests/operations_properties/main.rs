//! Every conversion and operation of the reference against a dense model, on small integers, so that all sums are
//! exact and every type and every order of summation gives the same answer. Too slow for Miri.
#![cfg(not(miri))]

mod conversions;
mod model;
mod products;
mod scans;

/// Runs a generic check for every kind of scalar and every pair of index types.
macro_rules! for_types {
    ($check:ident($($argument:expr),* $(,)?)) => {{
        $check::<sparse_core::c64, i32, i64>($($argument),*).unwrap();
        $check::<f64, i32, i32>($($argument),*).unwrap();
        $check::<f32, i64, i64>($($argument),*).unwrap();
        $check::<sparse_core::f16, i32, i32>($($argument),*).unwrap();
    }};
}

/// Evaluates `body`, a result, for the matrix `csr` in all six formats; HYB takes two entries a row.
macro_rules! in_every_format {
    ($csr:expr, |$a:ident| $body:expr) => {{
        let csr = $csr;
        let sell = SellLayout { slice_height: 3, sort_window: 6 };
        in_every_format!(@one &csr, $a, $body);
        in_every_format!(@one &Reference.convert::<_, Csc<_, _, _, _>>(&csr, &())?, $a, $body);
        in_every_format!(@one &Reference.convert::<_, Coo<_, _, _>>(&csr, &())?, $a, $body);
        in_every_format!(@one &Reference.convert::<_, Ell<_, _, _>>(&csr, &EllLayout::default())?, $a, $body);
        in_every_format!(@one &Reference.convert::<_, Hyb<_, _, _>>(&csr, &HybWidth::Width(2))?, $a, $body);
        in_every_format!(@one &Reference.convert::<_, Sell<_, _, _, _>>(&csr, &sell)?, $a, $body);
    }};
    (@one $matrix:expr, $a:ident, $body:expr) => {{
        let $a = $matrix;
        $body?;
    }};
}

use {for_types, in_every_format};
