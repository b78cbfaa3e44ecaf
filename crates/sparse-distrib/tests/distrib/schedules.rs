//! The table of policies, and what every schedule must be.

use crate::common::cases;
use proptest::prelude::*;
use sparse_distrib::schedule::{Device, Job, Policy};

const GB: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;
/// Memory as the drivers report it, and links' rates.
const M2070: Device = Device { memory_bytes: 6 * GB, rate: 5.7e9 };
const H200: Device = Device { memory_bytes: 143_771 * MIB, rate: 55e9 };
const H100: Device = Device { memory_bytes: 81_559 * MIB, rate: 55e9 };
const L4: Device = Device { memory_bytes: 23_034 * MIB, rate: 26e9 };

/// Matrices of order n of `f32`, half of their elements nonzero: compressed they are as long as dense.
fn job(order: u64) -> Job {
    Job { bytes: order * order * 4, resident_bytes: order * order * 8 }
}

const POLICIES: [Policy; 6] = [
    Policy::Type1,
    Policy::Type2ByCount,
    Policy::Type2ByBytes,
    Policy::Lpt,
    Policy::Pull { chunk_bytes: 64 * MIB },
    Policy::Pull { chunk_bytes: 16 * MIB },
];

fn percentages(jobs: &[Job], devices: &[Device]) -> [f64; 6] {
    POLICIES.map(|policy| {
        let schedule = policy.schedule(jobs, devices).unwrap();
        (100.0 * schedule.efficiency(jobs, devices)).round()
    })
}

#[test]
fn efficiencies_of_6000_equal_matrices() {
    let jobs = vec![job(1024); 6000];
    assert_eq!(percentages(&jobs, &[M2070; 12]), [67.0, 100.0, 100.0, 100.0, 98.0, 100.0]);
    assert_eq!(percentages(&jobs, &[H200; 4]), [25.0, 100.0, 100.0, 100.0, 100.0, 100.0]);
    assert_eq!(percentages(&jobs, &[H200, H100, L4, L4]), [34.0, 64.0, 64.0, 100.0, 99.0, 100.0]);
}

#[test]
fn type1_makes_16_pieces_on_12_devices() {
    let jobs = vec![job(1024); 6000];
    let schedule = Policy::Type1.schedule(&jobs, &[M2070; 12]).unwrap();
    let lengths: Vec<usize> = schedule.queues().iter().map(Vec::len).collect();
    assert_eq!(lengths, [750, 750, 750, 750, 375, 375, 375, 375, 375, 375, 375, 375]);
    assert_eq!(schedule.queues()[0][..2], [0, 1]);
    assert_eq!(schedule.queues()[0][375], 375 * 12);
}

#[test]
fn a_job_that_no_half_makes_fit_is_named() {
    let error = Policy::Type1.schedule(&[job(32_768)], &[M2070]).unwrap_err();
    assert_eq!(error.to_string(), "out of memory: 8589934592 bytes needed, 6000000000 available");
    assert!(Policy::Lpt.schedule(&[job(1)], &[]).is_err());
    assert!(Policy::Lpt.schedule(&[job(1)], &[Device { rate: f64::NAN, ..L4 }]).is_err());
}

/// Orders 128 to 1024, drawn by a linear congruential generator.
fn mixed() -> Vec<Job> {
    let mut state = 1_u64;
    (0..6000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            job(128 << (state >> 62))
        })
        .collect()
}

#[test]
fn efficiencies_of_6000_matrices_of_mixed_sizes() {
    assert_eq!(percentages(&mixed(), &[M2070; 12]), [32.0, 89.0, 100.0, 100.0, 98.0, 99.0]);
    assert_eq!(percentages(&mixed(), &[H200, H100, L4, L4]), [34.0, 63.0, 64.0, 100.0, 99.0, 100.0]);
}

#[test]
fn names_are_read_back() {
    for policy in Policy::ALL {
        assert_eq!(policy.name().parse::<Policy>().unwrap(), policy);
    }
    assert_eq!("type2".parse::<Policy>().unwrap(), Policy::Type2ByBytes);
    let error = "steal".parse::<Policy>().unwrap_err().to_string();
    assert!(error.ends_with("use one of type1, type2_by_count, type2_by_bytes, lpt, pull"), "{error}");
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn every_job_runs_once(
        orders in prop::collection::vec(0_u64..2000, 0..60),
        rates in prop::collection::vec(1.0..100.0, 1..17),
    ) {
        let jobs: Vec<Job> = orders.into_iter().map(job).collect();
        let devices: Vec<Device> = rates.into_iter().map(|rate| Device { memory_bytes: GB, rate }).collect();
        for policy in POLICIES {
            let schedule = policy.schedule(&jobs, &devices).unwrap();
            let mut all: Vec<usize> = schedule.queues().concat();
            all.sort_unstable();
            prop_assert!(all.into_iter().eq(0..jobs.len()), "{}", policy);
            prop_assert_eq!(schedule.queues().len(), devices.len());
            prop_assert!(schedule.efficiency(&jobs, &devices) <= 1.0 + 1e-9);
        }
    }
}
