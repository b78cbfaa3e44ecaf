//! Conversions between sparse formats, planned and run once per pattern. Bytes: the operand once and the result once;
//! COO has 12 bytes per entry, CSR, CSC and SELL 8 and 4·(lines + 1), where SELL counts as CSR.

use crate::bench::Bench;
use crate::workload::{WORD, csr_bytes, matrices};
use sparse_core::op::{AllTypes, Conversion, ConvertKernel, Duplicates, Operations};
use sparse_core::reference::Reference;
use sparse_core::{Coo, Csc, Csr, Host, Sell, SellLayout, SpaceOf, SparseFormat};

pub(crate) fn run<B: AllTypes>(bench: &mut Bench<'_, B>) {
    for (name, a) in matrices() {
        let csc: Csc<f32> = Operations::convert(&Reference, &a, &()).expect("CSC");
        let by_rows: Coo<f32> = Operations::convert(&Reference, &a, &()).expect("COO");
        let by_columns: Coo<f32> = Operations::convert(&Reference, &csc, &()).expect("COO");
        let (csr, coo) = (csr_bytes(&a), 3 * WORD * a.nnz());
        let csc = csr + WORD * a.ncols() - WORD * a.nrows();
        let sum = &Duplicates::Sum;
        convert::<B, _, Csr<f32, SpaceOf<B>>>(bench, name, &by_rows, sum, coo + csr);
        convert::<B, _, Csr<f32, SpaceOf<B>>>(
            bench,
            &format!("{name}_by_columns"),
            &by_columns,
            sum,
            coo + csr,
        );
        convert::<B, _, Coo<f32, SpaceOf<B>>>(bench, name, &a, &(), csr + coo);
        convert::<B, _, Csc<f32, SpaceOf<B>>>(bench, name, &a, &(), csr + csc);
        convert::<B, _, Sell<f32, SpaceOf<B>>>(bench, name, &a, &SellLayout::default(), 2 * csr);
    }
}

fn convert<B, H, To>(
    bench: &mut Bench<'_, B>,
    name: &str,
    host: &H,
    layout: &<H::In<SpaceOf<B>> as Conversion<To>>::Layout,
    bytes: usize,
) where
    B: ConvertKernel<H::In<SpaceOf<B>>, To>,
    H: SparseFormat<Scalar = f32, Space = Host>,
    H::In<SpaceOf<B>>: Conversion<To>,
    To: SparseFormat<Space = SpaceOf<B>>,
{
    let backend = bench.backend;
    let from = host.to_device(backend).expect("a matrix");
    let conversion = <H::In<SpaceOf<B>> as Conversion<To>>::NAME;
    bench.time(&format!("convert/{conversion}/f32/{name}"), bytes, || {
        Operations::convert::<_, To>(backend, &from, layout).map(drop)
    });
}
