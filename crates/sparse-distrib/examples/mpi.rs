//! A dense matrix of one rank becomes parts in CSR on all ranks of an MPI job.

#![allow(clippy::print_stdout, reason = "an example prints")]

use backend_cpu::Cpu;
use sparse_core::{DenseView, Error, Row};
use sparse_distrib::{Distribution, LocalPart, Mpi, Partition, Scheme, Transport, distribute};

fn main() -> Result<(), Error> {
    let transport = Mpi::initialize()?;
    let backend = Cpu::new()?; // of a host's GPUs, the one with the number transport.local_rank()

    let n = 1000_usize;
    let elements: Vec<f32> =
        (0..n * n).map(|k| if (k / n).abs_diff(k % n) <= 1 { 1.0 } else { 0.0 }).collect();
    let matrix = DenseView::row_major(&elements, n, n)?;
    let input = (transport.rank() == 0).then_some(matrix);

    let partition = Partition::rows(transport.ranks())?;
    let distribution = Distribution { scheme: Scheme::Ed2, partition, root: 0 };
    let local: LocalPart<Row, f32, _, i32, i32> = distribute(&transport, &backend, distribution, input)?;

    let line = format!("rows {:?}: {} entries", local.part.rows, local.block.nnz());
    for line in transport.gather(0, line.into_bytes())?.iter().flatten() {
        println!("{}", String::from_utf8_lossy(line));
    }
    Ok(())
}
