//! Matrices whose nodes have several unknowns each, in square blocks, which few conformance cases are.

use backend_cuda::Device;
use device_tests::{Library, values};
use sparse_core::op::{Op, Operations, SpmvPlan};
use sparse_core::reference::Reference;
use sparse_core::{Backend, Csr, PlanOptions, Scalar, Space, SparseFormat, c32, c64, f16};

/// Nodes in a ring, whose rows fill a device; each has up to six neighbours, itself among them.
const NODES: usize = 17_003;

/// The rows of `unknowns` unknowns of [`NODES`] nodes, with small integers; the last entry in another column if it
/// `is_moved`.
fn ring<T: Scalar>(unknowns: usize, is_moved: bool) -> Csr<T> {
    let n = NODES * unknowns;
    let neighbours = |node: usize| {
        let mut nodes: Vec<_> = (0..node % 7).map(|k| (node + 17 * k) % NODES).collect();
        nodes.sort_unstable();
        nodes
    };
    let mut offsets = vec![0];
    let mut indices = Vec::new();
    for row in 0..n {
        let nodes = neighbours(row / unknowns);
        indices
            .extend(nodes.iter().flat_map(|node| (node * unknowns..(node + 1) * unknowns).map(|c| c as i32)));
        offsets.push(indices.len() as i32);
    }
    if is_moved {
        let last = indices.last_mut().unwrap();
        *last += if (*last as usize) < n - 1 { 1 } else { -(n as i32) / 2 };
    }
    let count = indices.len();
    Csr::new_unsorted(n, n, offsets, indices, values(count, 5)).unwrap()
}

/// Products of blocks of 2 to 6 rows, which plans of many calls find, of x and y that begin at any element.
pub(super) fn blocks_of_several_unknowns_have_exact_products(library: &Library) {
    let backend = library.open(0).unwrap();
    for unknowns in 2..=6 {
        has_exact_product::<f32>(&backend, unknowns);
        has_exact_product::<f64>(&backend, unknowns);
        has_exact_product::<f16>(&backend, unknowns);
        has_exact_product::<c32>(&backend, unknowns);
        has_exact_product::<c64>(&backend, unknowns);
    }
}

/// Checks products with integers, which every order of additions has exactly.
fn has_exact_product<T: Scalar>(backend: &Device, unknowns: usize) {
    let options = PlanOptions { expected_calls: 100, ..PlanOptions::default() };
    for (is_moved, op, start) in
        [(false, Op::None, 0), (false, Op::None, 1), (true, Op::None, 0), (false, Op::ConjugateTranspose, 3)]
    {
        let host = ring::<T>(unknowns, is_moved);
        let n = host.nrows();
        let a = host.to_device(backend).unwrap();
        let (x, y) = (values::<T>(start + n, 1), values::<T>(start + n, 2));
        let (factor, mut expected) = (values::<T>(1, 3)[0].to_acc(), y.clone());
        Operations::spmv(&Reference, op, factor, &host, &x[start..], factor, &mut expected[start..]).unwrap();
        let (on_x, mut on_y) = (backend.upload(&x).unwrap(), backend.upload(&y).unwrap());
        let mut plan = SpmvPlan::new(backend, &a, op, &options).unwrap();
        let chosen = plan.choice().to_string();
        let what = format!("{} of {unknowns} unknowns, op={op}, from {start}: {chosen}", T::DTYPE);
        assert_eq!(chosen.contains("node_blocks"), !is_moved, "{what}");
        let x = Device::slice(Device::view(&on_x), start..start + n);
        let y = Device::slice_mut(Device::view_mut(&mut on_y), start..start + n);
        plan.run(factor, &a, x, factor, y).unwrap();
        assert!(backend.download(&on_y).unwrap() == expected, "{what}");
    }
}
