//! The common tests of drivers, on every CUDA device present, and tests of CUDA alone.
#![allow(clippy::print_stderr, reason = "a test that measures says what it found")]

mod arrays;
mod bands;
mod contexts;
mod graphs;
mod grids;
mod memory;
mod nodes;
mod peers;

use backend_cuda::CUDA;
use device_tests::{limits, tests};
use std::process::ExitCode;

fn main() -> ExitCode {
    device_tests::main(
        &CUDA,
        &tests![
            memory::memory_keeps_what_is_written_in_pieces_and_whole,
            memory::pinned_memory_is_copied_whole_and_in_part,
            memory::threads_upload_beside_each_other_and_beside_work,
            memory::events_measure_copies_and_views_have_addresses,
            memory::too_much_memory_is_refused_and_the_context_stays_usable,
            graphs::a_recorded_plan_repeats_and_sees_new_operands,
            graphs::an_iteration_of_conjugate_gradients_is_recorded,
            graphs::recorded_iterations_of_a_solver_have_the_bits_of_launched_ones,
            graphs::a_solver_repeats_its_recording_only_for_the_same_memory,
            graphs::a_failed_recording_poisons_nothing,
            graphs::other_threads_wait_for_a_recording,
            graphs::a_graph_shares_what_it_names,
            contexts::the_context_of_the_caller_comes_back,
            graphs::a_launch_in_a_graph_costs_under_two_microseconds,
            contexts::devices_of_one_process_work_side_by_side,
            arrays::arrays_of_another_library_are_compressed_where_they_lie,
            arrays::memory_that_the_device_cannot_use_is_refused,
            arrays::a_thousand_matrices_in_memory_are_compressed_at_its_rate,
            memory::a_carve_out_changes_no_result,
            bands::bands_larger_than_the_cache_have_exact_products,
            bands::rows_of_blocks_are_like_each_other,
            bands::long_rows_and_few_columns_have_exact_products,
            grids::rows_of_grids_have_exact_products,
            grids::many_patterns_are_left_to_other_algorithms,
            nodes::blocks_of_several_unknowns_have_exact_products,
            peers::products_have_the_same_bits_by_every_path,
            peers::conjugate_gradients_take_the_same_steps_by_every_path,
            limits::about_2_to_the_31_entries,
            limits::more_than_2_to_the_31_rows,
            limits::more_than_2_to_the_31_columns,
            limits::a_product_with_more_than_2_to_the_31_elements,
            limits::a_factor_with_more_than_2_to_the_31_elements,
        ],
    )
}
