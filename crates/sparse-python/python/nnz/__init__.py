"""SciPy's sparse arrays on all cores, batches of them, and sparse matrices on GPUs.

>>> import nnz, numpy as np
>>> A = nnz.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
>>> A @ np.ones(2)
array([3., 3.])
"""

import importlib
import importlib.metadata
from typing import Any

from . import io, linalg
from ._arrays import coo_array, csc_array, csr_array
from ._batch import BatchCsr, compress
from ._conformance import ConformanceReport, conformance
from ._device import DeviceCoo, DeviceCsc, DeviceCsr, DeviceInfo, devices
from ._matrix_set import MatrixSet
from ._picture import Picture, spy
from ._plan import SpmmPlan, SpmvPlan, plan_spmm, plan_spmv

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
    "compress",
    "conformance",
    "coo_array",
    "csc_array",
    "csr_array",
    "devices",
    "io",
    "linalg",
    "plan_spmm",
    "plan_spmv",
    "spy",
]


def __getattr__(name: str) -> Any:
    # Only programs that use them import PyTorch, Dask and mpi4py.
    if name in ("dask", "mpi", "torch"):
        return importlib.import_module(f".{name}", __name__)
    if name == "__version__":
        return importlib.metadata.version(__name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
