//! Matrices with about 2^31 entries, rows or columns, on devices with enough memory.

use crate::each_device;
use sparse_core::op::{Op, SpmvKernel, SpmvPlan};
use sparse_core::{Backend, Csr, Error, Host, Index, PlanOptions, Space, SparseFormat, f16};
use sparse_device::{Device, Library};

/// 2^31, the first number that does not fit `i32`.
const LIMIT: usize = 1 << 31;

/// Bytes of a device's memory from which on these matrices fit, on the host too.
const ENOUGH: u64 = 60 << 30;

/// The entries of a row: a number that fits `f16`.
const ROW: usize = 2048;

/// Slightly fewer entries than 32-bit offsets can count, and more than they can with 64-bit ones.
pub fn about_2_to_the_31_entries(library: &'static Library) {
    each_device(library, |device| {
        if holds_limits(device) {
            full_rows::<i32>(device, LIMIT - 5);
            full_rows::<i64>(device, LIMIT + 3 * ROW + 1);
        }
    });
}

/// More rows than an `i32` can count, of which the first and the last have entries.
pub fn more_than_2_to_the_31_rows(library: &'static Library) {
    each_device(library, |device| {
        if holds_limits(device) {
            let rows = LIMIT + 7;
            let mut offsets = vec![1_i64; rows + 1];
            (offsets[0], offsets[rows]) = (0, 3);
            let a = Csr::new(rows, 2, offsets, vec![0_i64, 0, 1], vec![f16::ONE; 3]).unwrap();
            multiply(device, &a, 0, &[(0, 1), (rows - 1, 2)]);
        }
    });
}

/// More columns than an `i32` can count.
pub fn more_than_2_to_the_31_columns(library: &'static Library) {
    each_device(library, |device| {
        if holds_limits(device) {
            let indices = vec![1, LIMIT as i64 - 1, LIMIT as i64, LIMIT as i64 + 6];
            let a = Csr::new(2, LIMIT + 7, vec![0_i64, 1, 4], indices, vec![f16::ONE; 4]).unwrap();
            multiply(device, &a, 0, &[(0, 1), (1, 3)]);
        }
    });
}

fn holds_limits(device: &Device) -> bool {
    let caps = device.caps();
    let holds = caps.memory_bytes.is_some_and(|bytes| bytes >= ENOUGH);
    if !holds {
        eprintln!("skipped on {}: it has less than {ENOUGH} bytes", caps.device);
    }
    holds
}

/// A matrix of ones in rows of [`ROW`] entries; the last has the rest.
fn full_rows<O: Index>(device: &Device, nnz: usize) {
    let row: Vec<i32> = (0..ROW as i32).collect();
    let mut indices = Vec::with_capacity(nnz);
    while indices.len() < nnz {
        indices.extend_from_slice(&row[..ROW.min(nnz - indices.len())]);
    }
    let rows = nnz.div_ceil(ROW);
    let offsets = (0..=rows).map(|row| O::cast(nnz.min(row * ROW))).collect();
    let a = Csr::<f16, _, i32, O>::new(rows, ROW, offsets, indices, vec![f16::ONE; nnz]).unwrap();
    multiply(device, &a, ROW, &[(rows - 1, nnz - (rows - 1) * ROW)]);
}

/// Multiplies the matrix of ones by a vector of ones by every algorithm: an element of y is the row's number of
/// entries, which is `most` in all rows except the `others`.
fn multiply<I: Index, O: Index>(
    device: &Device,
    host: &Csr<f16, Host, I, O>,
    most: usize,
    others: &[(usize, usize)],
) where
    Device: SpmvKernel<Csr<f16, Device, I, O>> + Backend<Space = Device>,
{
    let number = |n: usize| f16::from_f64(n as f64).to_bits();
    let others: Vec<_> = others.iter().map(|&(row, n)| (row, number(n))).collect();
    let most = number(most);
    let mut found = vec![f16::ZERO; host.rows()];
    let a = host.to_device(device).unwrap();
    let x = device.upload(&vec![f16::ONE; host.cols()]).unwrap();
    let unwritten = device.upload(&vec![f16::NAN; host.rows()]).unwrap();
    let mut y = device.zeros(host.rows()).unwrap();
    for algorithm in Device::spmv_algorithms(device, Op::None) {
        device.copy(Device::view(&unwritten), Device::view_mut(&mut y)).unwrap();
        let options = PlanOptions::forced(algorithm.name).relaxed();
        let run = SpmvPlan::new(device, &a, Op::None, &options)
            .and_then(|mut plan| plan.run(1.0, &a, Device::view(&x), 0.0, Device::view_mut(&mut y)));
        match run {
            Err(Error::OutOfMemory { .. } | Error::Unsupported { .. }) => continue,
            done => done.unwrap_or_else(|error| panic!("{}: {error}", algorithm.name)),
        }
        device.download_into(Device::view(&y), &mut found).unwrap();
        let bits = found.iter().map(|element| element.to_bits()).enumerate();
        let different: Vec<_> = bits.filter(|&(_, bits)| bits != most).take(9).collect();
        assert_eq!(different, others, "{}", algorithm.name);
    }
}
