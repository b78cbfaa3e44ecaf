//! Matrices with about 2^31 entries, rows or columns, and dense ones with more elements, on devices with enough memory.

use crate::each_device;
use sparse_core::op::{Op, Operations, SpmmKernel, SpmmPlan, SpmvKernel, SpmvPlan, VectorKernel};
use sparse_core::reference::Reference;
use sparse_core::{
    Backend, Coo, Csr, DenseView, DenseViewMut, Error, Host, Index, Order, PlanOptions, Space, SparseFormat,
    f16,
};
use sparse_device::{Device, Library};

/// 2^31, the first number that does not fit `i32`.
const LIMIT: usize = 1 << 31;

/// Bytes of a device's memory from which on these matrices fit, on the host too.
const ENOUGH: u64 = 60 << 30;

/// The entries of a row: a number that fits `f16`.
const ROW: usize = 2048;

/// The columns of B and C where one of them is large, and where A is.
const COLUMNS: usize = 1024;
const FEW_COLUMNS: usize = 8;

/// The period of the elements of B in memory: a prime, so that neighbours of every kind differ. The sum of two smaller
/// numbers is exact in `f16`.
const PERIOD: usize = 1009;

/// Products with a few entries less than offsets of 32 bits can count, and with offsets of 64 bits a few more: times a
/// vector, and times a few columns.
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

/// A product C with more elements than an `i32` can count.
pub fn a_product_with_more_than_2_to_the_31_elements(library: &'static Library) {
    each_device(library, |device| {
        if holds_limits(device) {
            tall_product(device, LIMIT / COLUMNS + 3);
        }
    });
}

/// A dense factor B with more elements than an `i32` can count.
pub fn a_factor_with_more_than_2_to_the_31_elements(library: &'static Library) {
    each_device(library, |device| {
        if holds_limits(device) {
            tall_factor(device, LIMIT / COLUMNS + 3);
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
    multiply_dense(device, &a, &a, FEW_COLUMNS, 2);
}

/// `A·B` with many rows of A, two entries in each, and few rows of B.
fn tall_product(device: &Device, rows: usize) {
    let offsets = (0..=rows).map(|row| 2 * row as i32).collect();
    let indices = (0..rows).flat_map(|row| [row as i32 % 3, 3]).collect();
    let a = Csr::<f16>::new(rows, 4, offsets, indices, vec![f16::ONE; 2 * rows]).unwrap();
    multiply_short_rows(device, &a);
}

/// `A·B` with five rows of A, of which no row has more than two entries, and many rows of B.
fn tall_factor(device: &Device, rows: usize) {
    let last = rows as i32 - 1;
    let (offsets, indices) = (vec![0, 2, 3, 5, 5, 6], vec![0, last, 1, last / 2, last - 1, last]);
    let a = Csr::<f16>::new(5, rows, offsets, indices, vec![f16::ONE; 6]).unwrap();
    multiply_short_rows(device, &a);
}

/// The product with [`COLUMNS`] columns by all algorithms of CSR and COO, for rows of at most two entries.
fn multiply_short_rows(device: &Device, a: &Csr<f16>) {
    multiply_dense(device, a, a, COLUMNS, PERIOD);
    let coo: Coo<f16> = Reference.convert(a, &()).unwrap();
    multiply_dense(device, &coo, a, COLUMNS, PERIOD);
}

/// The number at a position of the memory of B, below `most`.
fn number_at(position: usize, most: usize) -> usize {
    position % PERIOD % most
}

/// `A·B` by every algorithm and in both orders of B and C. Compared with `rows`, which is A too, are the first and the
/// last rows of C, and some between.
fn multiply_dense<M, O>(device: &Device, host: &M, rows: &Csr<f16, Host, i32, O>, columns: usize, most: usize)
where
    M: SparseFormat<Scalar = f16, Space = Host>,
    O: Index,
    Device: SpmmKernel<M::In<Device>> + VectorKernel<f16> + Backend<Space = Device>,
{
    let (height, inner) = (host.nrows(), host.ncols());
    let period: Vec<f16> = (0..PERIOD).map(|at| f16::from_f64(number_at(at, most) as f64)).collect();
    let mut elements = period.repeat((inner * columns).div_ceil(PERIOD));
    elements.truncate(inner * columns);
    let (a, b) = (host.to_device(device).unwrap(), device.upload(&elements).unwrap());
    drop(elements);
    let mut found = vec![f16::NAN; height * columns];
    let unwritten = device.upload(&found).unwrap();
    let mut c = device.zeros(height * columns).unwrap();
    let ends = (0..height.min(3)).chain(height.saturating_sub(4)..height);
    let looked_at: Vec<usize> = ends.chain((0..height).step_by(height / 97 + 1)).collect();
    for algorithm in Device::spmm_algorithms(device, Op::None) {
        let options = PlanOptions::forced(algorithm.name).relaxed();
        let plan = SpmmPlan::new(device, &a, Op::None, columns, &options);
        let mut plan = match plan {
            Err(Error::OutOfMemory { .. } | Error::Unsupported { .. }) => continue,
            plan => plan.unwrap_or_else(|error| panic!("{}: {error}", algorithm.name)),
        };
        for order in [Order::RowMajor, Order::ColMajor] {
            let leading = |rows| if order == Order::RowMajor { columns } else { rows };
            let position = |rows, i, j| if order == Order::RowMajor { i * columns + j } else { i + j * rows };
            device.copy(Device::view(&unwritten), Device::view_mut(&mut c)).unwrap();
            let b_view = DenseView::new(Device::view(&b), inner, columns, leading(inner), order).unwrap();
            let c_view = Device::view_mut(&mut c);
            let c_view = DenseViewMut::new(c_view, height, columns, leading(height), order).unwrap();
            plan.run(1.0, &a, b_view, 0.0, c_view).unwrap();
            device.download_into(Device::view(&c), &mut found).unwrap();
            for (&i, j) in looked_at.iter().flat_map(|i| (0..columns).map(move |j| (i, j))) {
                let products = rows.major_entries(i).map(|(k, _)| number_at(position(inner, k, j), most));
                let (sum, element) = (products.sum::<usize>(), found[position(height, i, j)]);
                assert_eq!(element.to_f64(), sum as f64, "{} {order:?} ({i}, {j})", algorithm.name);
            }
        }
    }
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
    let mut found = vec![f16::ZERO; host.nrows()];
    let a = host.to_device(device).unwrap();
    let x = device.upload(&vec![f16::ONE; host.ncols()]).unwrap();
    let unwritten = device.upload(&vec![f16::NAN; host.nrows()]).unwrap();
    let mut y = device.zeros(host.nrows()).unwrap();
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
