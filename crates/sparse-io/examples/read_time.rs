//! Reads a matrix file to CSR several times, and prints the time and the memory of the process.

use sparse_core::{Csr, Host};
use std::time::Instant;

#[allow(clippy::print_stdout)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: read_time FILE [TIMES]")?;
    let times: usize = std::env::args().nth(2).map_or(Ok(1), |times| times.parse())?;
    for _ in 0..times {
        let start = Instant::now();
        let matrix: Csr<f64, Host, i32, i32> = sparse_io::read_csr(&path)?;
        let bytes = matrix.nnz() * 12 + matrix.nrows() * 4;
        println!("{:.3} s, {} entries, {bytes} bytes", start.elapsed().as_secs_f64(), matrix.nnz());
    }
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status
            .lines()
            .filter(|line| line.starts_with("VmHWM") || line.starts_with("Rss"))
            .for_each(|line| println!("{line}"));
    }
    Ok(())
}
