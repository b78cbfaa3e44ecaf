"""Converts COO to CSR by CuPy: `run` is answered with the seconds that it took, `write` with the arrays as files."""

import sys
from pathlib import Path

import cupy as cp
import cupyx.scipy.sparse as sp
import numpy as np


def main():
    folder, dtype, rows, cols = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

    def load(name, of):
        return cp.asarray(np.fromfile(folder / name, of))

    entries = load("data", dtype), (load("row", np.int32), load("col", np.int32))
    coo = sp.coo_matrix(entries, shape=(rows, cols))
    start, end = cp.cuda.Event(), cp.cuda.Event()
    made = None
    for line in sys.stdin:
        if line.strip() == "run":
            start.record()
            made = coo.tocsr()
            end.record()
            end.synchronize()
            print(cp.cuda.get_elapsed_time(start, end) / 1e3, flush=True)
        else:
            for name in ["indptr", "indices", "data"]:
                getattr(made, name).get().tofile(folder / f"made_{name}")
            print("written", flush=True)


main()
