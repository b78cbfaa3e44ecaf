//! CuPy's COO → CSR, which adds duplicates (by Thrust) and sorts (by cuSPARSE), in a Python process beside this one on
//! the same device, if that is the first. Its times are by the device's events, too.

use super::python::{Process, file, folder};
use crate::conversion::{Arrays, Conversion, Convert};
use crate::value::Value;
use anyhow::{Context, Result, ensure};
use bytemuck::Pod;
use sparse_core::{Coo, Error, Result as CoreResult};

const SCRIPT: &str = include_str!("cupy_peer.py");

/// `None` where Python or CuPy is missing, or CuPy finds no device.
pub(crate) fn coo_to_csr<'a, T: Value>(a: &Coo<T>) -> Result<Option<Conversion<'a, T>>> {
    if !Process::finds("import cupyx.scipy.sparse, cupy; cupy.zeros(1)") {
        return Ok(None);
    }
    let folder = folder("cupy")?;
    file(folder.path(), "row", bytemuck::cast_slice(a.row_idx()))?;
    file(folder.path(), "col", bytemuck::cast_slice(a.col_idx()))?;
    file(folder.path(), "data", bytemuck::cast_slice(a.values()))?;
    let (rows, cols) = (a.nrows().to_string(), a.ncols().to_string());
    let process = Process::start(SCRIPT, folder, &[T::NUMPY, &rows, &cols])?;
    Ok(Some(Conversion::new("cupy", move || Ok(CooToCsr(process)))))
}

struct CooToCsr(Process);

impl CooToCsr {
    /// An array that the process has written.
    fn array<T: Pod>(&self, name: &str) -> Result<Vec<T>> {
        let bytes =
            std::fs::read(self.0.folder().join(name)).with_context(|| format!("no {name} of CuPy"))?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    fn made<T: Value>(&mut self) -> Result<Arrays<T>> {
        let answer = self.0.ask("write")?;
        ensure!(answer == "written", "CuPy answered {answer:?} in place of \"written\"");
        let (offsets, indices) = (self.array("made_indptr")?, self.array("made_indices")?);
        Ok(Arrays { offsets, indices, values: self.array("made_data")? })
    }
}

impl<T: Value> Convert<T> for CooToCsr {
    fn run(&mut self) -> CoreResult<Option<f64>> {
        self.0.seconds().map(Some).map_err(refused)
    }

    fn arrays(&mut self) -> CoreResult<Arrays<T>> {
        self.made().map_err(refused)
    }
}

fn refused(error: anyhow::Error) -> Error {
    Error::unsupported("COO to CSR by CuPy", format!("{error:#}"))
}
