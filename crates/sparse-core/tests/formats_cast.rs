//! Changes of value and index types. Runs under Miri.

use sparse_core::{Coo, Csc, Csr, Host, Result, SparseFormat, bf16, c32, c64, cast_slice, f16};

fn refusal<M: std::fmt::Debug>(result: Result<M>) -> String {
    result.expect_err("the change was accepted").to_string()
}

#[test]
fn values_round_to_nearest_even() -> Result<()> {
    let just_above_one = 1.0 + f64::powi(2.0, -24);
    assert_eq!(cast_slice::<f64, f32>(&[just_above_one, 0.1])?, [1.0, 0.1]);
    assert_eq!(cast_slice::<f32, f64>(&[0.1])?, [f64::from(0.1_f32)]);
    assert_eq!(cast_slice::<f64, c32>(&[2.0])?, [c32::new(2.0, 0.0)]);
    Ok(())
}

/// A tie at eleven (or eight) bits that a far lower bit breaks: rounding by way of f32, or of the upper half of the
/// f64, gives 1.
#[test]
fn half_precision_rounds_once() -> Result<()> {
    let tiny = f64::powi(2.0, -45);
    let (tie16, tie_b16) = (1.0 + f64::powi(2.0, -11), 1.0 + f64::powi(2.0, -8));
    let halves = cast_slice::<f64, f16>(&[tie16, tie16 + tiny, tie16 - tiny, -tie16 - tiny])?;
    let up = 1.0 + f64::powi(2.0, -10);
    assert_eq!(halves.iter().map(|v| v.to_f64()).collect::<Vec<_>>(), [1.0, up, 1.0, -up]);
    let brains = cast_slice::<f64, bf16>(&[tie_b16, tie_b16 + tiny, tie_b16 - tiny])?;
    let up = 1.0 + f64::powi(2.0, -7);
    assert_eq!(brains.iter().map(|v| v.to_f64()).collect::<Vec<_>>(), [1.0, up, 1.0]);
    Ok(())
}

#[test]
fn underflow_is_allowed_and_overflow_is_not() -> Result<()> {
    assert_eq!(cast_slice::<f64, f32>(&[1e-300, -1e-300])?, [0.0, 0.0]);
    assert_eq!(refusal(cast_slice::<f64, f32>(&[1.0, 1e39])), "entry 1: 1e39 does not fit f32");
    assert_eq!(refusal(cast_slice::<f32, f16>(&[65520.0])), "entry 0: 65520.0 does not fit f16");
    assert_eq!(cast_slice::<f32, f16>(&[65519.0])?, [f16::MAX]);
    let not_finite = cast_slice::<f64, f32>(&[f64::INFINITY, f64::NAN])?;
    assert!(not_finite[0] == f32::INFINITY && not_finite[1].is_nan());
    Ok(())
}

#[test]
fn complex_values_do_not_become_real() {
    assert_eq!(
        refusal(cast_slice::<c64, f64>(&[c64::new(1.0, 0.0)])),
        "a change of values from c64 to f64 is not supported: the imaginary parts would be lost"
    );
}

#[test]
fn a_matrix_of_other_values_keeps_its_pattern() -> Result<()> {
    let a = Csr::<f64>::new(2, 2, vec![0, 1, 2], vec![1, 0], vec![0.1, 0.2])?;
    let b = a.cast_values::<f32>()?;
    assert_eq!((b.values().as_slice(), b.pattern_id()), ([0.1_f32, 0.2].as_slice(), a.pattern_id()));
    let c = Coo::<f64>::from_triplets(2, 2, [(1, 1, 0.1)])?.cast_values::<f32>()?;
    assert_eq!(c.values(), &[0.1_f32]);
    Ok(())
}

#[test]
fn indices_narrow_where_they_fit_and_name_the_value_where_not() -> Result<()> {
    let wide = Csr::<f32, Host, i64, i64>::new(1, 10, vec![0, 2], vec![3, 7], vec![1.0, 2.0])?;
    let narrow: Csr<f32> = wide.try_cast_indices()?;
    assert_eq!(narrow, Csr::new(1, 10, vec![0, 2], vec![3, 7], vec![1.0, 2.0])?);
    assert_eq!(narrow.try_cast_indices::<i64, i64>()?, wide);

    let far = Csr::<f32, Host, i64, i64>::new(1, 3 << 30, vec![0, 1], vec![5 << 29], vec![1.0])?;
    assert_eq!(refusal(far.try_cast_indices::<i32, i32>()), "column = 2684354560 does not fit i32");
    let far = far.into_transpose();
    assert_eq!(refusal(far.try_cast_indices::<i32, i64>()), "row = 2684354560 does not fit i32");
    let broad = Csc::<f32, Host, i64, i64>::new(3 << 30, 1, vec![0, 0], vec![], vec![])?;
    assert_eq!(refusal(broad.try_cast_indices::<i32, i32>()), "rows = 3221225472 does not fit i32");

    let coo = Coo::<f32, Host, i64>::from_triplets(3 << 30, 1, [(5 << 29, 0, 1.0)])?;
    assert_eq!(refusal(coo.try_cast_indices::<i32>()), "row = 2684354560 does not fit i32");
    Ok(())
}
