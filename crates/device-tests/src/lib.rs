//! Tests that every [`Library`] under `sparse-device` has to pass: [`tests!`] makes them for one.
//!
//! They run on every device that the library finds. Where there is none, they have nothing to show and say so on stderr.
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

pub mod arrays;
pub mod gradients;
pub mod operations;
pub mod vector;

use sparse_core::{Scalar, c64};
use sparse_device::{Device, Library};

/// The tests of [`arrays`], [`gradients`], [`operations`] and [`vector`] for a library.
#[macro_export]
macro_rules! tests {
    ($library:expr) => {
        $crate::tests! {
            $library,
            arrays::arrays_on_the_device_are_checked_there,
            arrays::arrays_of_another_device_are_refused,
            gradients::conjugate_gradients_wait_for_no_number,
            operations::products_and_conversions_in_single_precision,
            operations::products_and_conversions_of_complex_numbers,
            operations::many_duplicates_in_no_order_are_sorted_stably,
            operations::a_plan_compresses_matrices_with_more_and_with_fewer_entries,
            operations::entries_of_huge_matrices_are_sorted,
            operations::operations_that_look_into_entries,
            operations::a_batch_of_unequal_members_is_compressed_in_one_launch_and_multiplied,
            operations::prefix_sums_of_every_order_and_kind,
            operations::row_statistics_are_those_of_the_reference,
            vector::a_step_that_cannot_be_taken_changes_nothing,
            vector::all_types_agree_with_the_reference,
            vector::norms_neither_overflow_nor_underflow,
        }
    };
    ($library:expr, $($module:ident::$test:ident),+ $(,)?) => {
        $(
            #[test]
            fn $test() {
                $crate::$module::$test($library);
            }
        )+
    };
}

/// Runs a test on every device of a library.
pub fn each_device(library: &Library, test: impl Fn(&Device)) {
    let found = library.probe();
    if let Some(reason) = found.reason {
        eprintln!("skipped, for there is no {} device: {reason}", library.name);
    }
    for index in 0..found.devices.len() {
        test(&library.open(index).expect("a device that was found opens"));
    }
}

/// Small integers, never zero, that follow no pattern a kernel could hide in.
fn values<T: Scalar>(n: usize, seed: usize) -> Vec<T> {
    let number = |k: usize| ((k * 2_654_435_761 + seed * 40_503) >> 7) as i64 % 4;
    (0..n).map(|k| T::from_c64(c64::new(number(k) as f64 - 4.0, number(k + 1) as f64))).collect()
}
