"""SciPy's sparse arrays on all cores, batches of them, and sparse matrices on GPUs.

>>> import nnz, numpy as np
>>> A = nnz.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
>>> A @ np.ones(2)
array([3., 3.])
"""

import importlib
import importlib.metadata
from typing import Any

import scipy.sparse as _scipy_sparse

from . import _anndata, csgraph, io, linalg  # noqa: F401
from ._arrays import bsr_array, coo_array, csc_array, csr_array, dia_array, dok_array, lil_array
from ._batch import BatchCsr, compress
from ._combine import block_diag, hstack, kron, vstack
from ._conformance import ConformanceReport, conformance
from ._device import DeviceCoo, DeviceCsc, DeviceCsr, DeviceInfo, devices
from ._functions import of_scipy
from ._matrices import bsr_matrix, coo_matrix, csc_matrix, csr_matrix, dia_matrix, dok_matrix, lil_matrix
from ._matrix_set import MatrixSet
from ._picture import Picture, spy
from ._plan import SpmmPlan, SpmvPlan, plan_spmm, plan_spmv
from .io import load_npz, save_npz

__all__ = [
    "BatchCsr",
    "ConformanceReport",
    "DeviceCoo",
    "DeviceCsc",
    "DeviceCsr",
    "DeviceInfo",
    "MatrixSet",
    "Picture",
    "SpmmPlan",
    "SpmvPlan",
    "block_diag",
    "bsr_array",
    "bsr_matrix",
    "compress",
    "conformance",
    "coo_array",
    "coo_matrix",
    "csc_array",
    "csc_matrix",
    "csgraph",
    "csr_array",
    "csr_matrix",
    "devices",
    "dia_array",
    "dia_matrix",
    "dok_array",
    "dok_matrix",
    "hstack",
    "io",
    "kron",
    "lil_array",
    "lil_matrix",
    "linalg",
    "load_npz",
    "plan_spmm",
    "plan_spmv",
    "save_npz",
    "spy",
    "vstack",
]


def __getattr__(name: str) -> Any:
    # Only programs that use them import PyTorch, Dask and mpi4py.
    if name in ("dask", "mpi", "torch"):
        return importlib.import_module(f".{name}", __name__)
    if name == "__version__":
        return importlib.metadata.version(__name__)
    # The rest of SciPy's package.
    if name in _scipy_sparse.__all__:
        return globals().setdefault(name, of_scipy(_scipy_sparse, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
