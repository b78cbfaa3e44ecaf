//! Tests for every [`Library`] of `sparse-device`, and the program that runs them: [`main`].
//!
//! They run on every device of the library. Without one they are skipped, each by its name, and the last line gives
//! their number; [`REQUIRE_VARIABLE`] makes that a failure.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that runs tests says how they went")]

pub mod arrays;
pub mod compression;
pub mod contexts;
pub mod elementwise;
pub mod engine;
pub mod faults;
pub mod foreign;
pub mod gradients;
pub mod limits;
pub mod operations;
pub mod ranks;
pub mod spgemm;
pub mod trisolve;
pub mod vector;

use libtest_mimic::{Arguments, Trial};
use sparse_core::{Scalar, c64};
use sparse_device::Device;
pub use sparse_device::Library;
use std::process::ExitCode;

/// The environment variable that names the libraries that must have a device, separated by commas.
pub const REQUIRE_VARIABLE: &str = "NNZ_REQUIRE";

/// A test of a library.
#[derive(Debug, Clone, Copy)]
pub struct Test {
    /// The name, as in `vector::norms_neither_overflow_nor_underflow`.
    pub name: &'static str,
    /// Runs it; a panic is a failure.
    pub run: fn(&'static Library),
    /// True if there is nothing to test without a device.
    pub needs_device: bool,
}

/// An array of [`Test`]s that need a device, named by their functions.
#[macro_export]
macro_rules! tests {
    ($($($part:ident)::+),+ $(,)?) => {
        [$($crate::Test {
            name: concat!($("::", stringify!($part)),+).split_at(2).1,
            run: $($part)::+,
            needs_device: true,
        }),+]
    };
}

/// The tests of every library.
const TESTS: &[Test] = &tests![
    arrays::arrays_on_the_device_are_checked_there,
    arrays::arrays_of_another_device_are_refused,
    contexts::copies_are_checked_before_anything_is_written,
    contexts::values_of_another_context_are_refused,
    contexts::memory_of_another_context_is_refused,
    contexts::two_devices_in_one_thread_take_turns,
    contexts::eight_threads_share_a_device,
    contexts::plans_of_several_types_compress_at_once,
    contexts::a_device_is_dropped_with_work_in_its_queue,
    elementwise::sums_and_products_of_many_tiles_are_those_of_the_reference,
    engine::a_device_and_the_host_compress_together,
    faults::nothing_is_found_without_a_fault,
    foreign::stacks_are_compressed_where_they_lie,
    foreign::stacks_and_sources_of_the_host_are_compressed_together,
    gradients::conjugate_gradients_wait_for_no_number,
    operations::products_and_conversions_in_single_precision,
    operations::products_and_conversions_of_complex_numbers,
    operations::types_outside_the_catalogue_multiply,
    operations::columns_of_16_bits_are_in_a_few_windows,
    operations::counts_of_some_thousand_rows_are_added_up,
    operations::many_duplicates_in_no_order_are_sorted_stably,
    compression::a_plan_compresses_matrices_with_more_and_with_fewer_entries,
    compression::many_small_matrices_are_compressed_alike_by_every_algorithm,
    compression::many_tiles_are_compressed_in_a_single_pass,
    compression::many_tiles_of_a_batch_are_compressed_in_a_single_pass,
    operations::entries_of_huge_matrices_are_sorted,
    operations::operations_that_look_into_entries,
    compression::a_batch_of_unequal_members_is_compressed_in_one_launch_and_multiplied,
    operations::prefix_sums_of_every_order_and_kind,
    operations::row_statistics_are_those_of_the_reference,
    ranks::examples_of_the_literature_have_their_numbers,
    ranks::ranks_have_the_bytes_of_those_on_the_host,
    spgemm::plans_name_the_algorithm_that_runs,
    spgemm::products_of_far_columns_are_those_of_the_reference,
    spgemm::products_of_long_rows_are_those_of_the_reference,
    spgemm::products_that_meet_are_added_in_order,
    spgemm::strips_are_those_of_the_reference,
    spgemm::strips_keep_no_places,
    spgemm::blocks_of_unknowns_are_those_of_the_reference,
    spgemm::short_rows_of_unlike_lengths_are_those_of_the_reference,
    spgemm::merges_are_those_of_the_reference,
    spgemm::merges_of_many_rows_are_those_of_the_reference,
    spgemm::rows_that_do_not_merge_have_bins,
    spgemm::runs_of_a_plan_give_the_same_bits,
    trisolve::complex_quotients_neither_overflow_nor_underflow,
    trisolve::solves_of_chains_are_those_of_the_reference,
    trisolve::solves_of_chains_by_levels_are_those_of_the_reference,
    trisolve::enqueued_solves_are_those_that_wait,
    vector::a_step_that_cannot_be_taken_changes_nothing,
    vector::all_types_agree_with_the_reference,
    vector::complex_coefficients_neither_overflow_nor_underflow,
    vector::norms_neither_overflow_nor_underflow,
    vector::real_factors_leave_complex_infinities_infinite,
];

/// The tests of every library that need no device.
const WITHOUT_A_DEVICE: [Test; 2] = [
    Test { needs_device: false, ..tests![an_empty_list_has_a_reason][0] },
    Test { needs_device: false, ..tests![a_device_that_is_not_there_is_an_error_that_says_what_is][0] },
];

/// Runs the tests of every library, one for each of its faults among them, and a library's `own`, with the options of
/// `cargo test`.
pub fn main(library: &'static Library, own: &[Test]) -> ExitCode {
    let reason = library.probe().reason;
    let trial = |name: String, needs_device: bool, run: Box<dyn FnOnce() + Send>| {
        let runner = move || {
            run();
            Ok(())
        };
        Trial::test(name, runner).with_ignored_flag(needs_device && reason.is_some())
    };
    let tests = WITHOUT_A_DEVICE.iter().chain(TESTS).chain(own).map(|test| {
        let run = test.run;
        trial(test.name.into(), test.needs_device, Box::new(move || run(library)))
    });
    let planted = faults::faults().filter(|fault| fault.is_for(library)).map(|fault| {
        trial(format!("faults::{}", fault.name()), true, Box::new(move || faults::is_found(library, fault)))
    });
    let trials: Vec<_> = tests.chain(planted).collect();
    let skipped = trials.iter().filter(|trial| trial.has_ignored_flag()).count();
    let passed = libtest_mimic::run(&Arguments::from_args(), trials).exit_code();
    let Some(reason) = reason else { return passed };
    let required = std::env::var(REQUIRE_VARIABLE).unwrap_or_default();
    if required.split(',').any(|name| name.trim() == library.name) {
        eprintln!("error: {REQUIRE_VARIABLE} asks for {}, which has no device: {reason}", library.name);
        return ExitCode::FAILURE;
    }
    println!("{}: no device: skipped {skipped}: {reason}", library.name);
    passed
}

/// Runs a test on every device of a library.
pub fn each_device(library: &Library, test: impl Fn(&Device)) {
    for index in 0..library.probe().devices.len() {
        test(&library.open(index).expect("a device that was found opens"));
    }
}

fn an_empty_list_has_a_reason(library: &Library) {
    let found = library.probe();
    assert_eq!(found.devices.is_empty(), found.reason.is_some());
    assert!(found.devices.iter().all(|caps| caps.backend == library.name && caps.compute_units > 0));
}

fn a_device_that_is_not_there_is_an_error_that_says_what_is(library: &Library) {
    let error = library.open(usize::MAX).unwrap_err().to_string();
    let start = format!("{} device {} is not supported: ", library.name, usize::MAX);
    assert!(error.starts_with(&start), "{error}");
    let named = library.open_named("no device is called so");
    assert!(matches!(named, Err(sparse_core::Error::Unsupported { .. })), "{named:?}");
}

/// Small integers, never zero, without a regular pattern.
pub fn values<T: Scalar>(n: usize, seed: usize) -> Vec<T> {
    let number = |k: usize| ((k * 2_654_435_761 + seed * 40_503) >> 7) as i64 % 4;
    (0..n).map(|k| T::from_c64(c64::new(number(k) as f64 - 4.0, number(k + 1) as f64))).collect()
}
