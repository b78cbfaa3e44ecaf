"""Runs one SciPy operation each time a line arrives, and answers with the seconds that it took."""

import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def operation(name, folder, shape, columns):
    def load(array, dtype):
        return np.fromfile(Path(folder) / array, dtype)

    data = load("data", np.float32)
    if name == "dense_to_csr":
        dense = data.reshape(shape)
        return lambda: sp.csr_matrix(dense)
    if name == "coo_to_csr":
        row, col = load("row", np.int32), load("col", np.int32)

        def convert():
            a = sp.coo_matrix((data, (row, col)), shape=shape).tocsr()
            a.sum_duplicates()
            return a

        return convert
    a = sp.csr_matrix((data, load("indices", np.int32), load("indptr", np.int32)), shape=shape)
    x = np.ones(shape[1], np.float32) if name == "spmv" else np.ones((shape[1], columns), np.float32)
    return lambda: a @ x


def main():
    name, folder, rows, cols, columns = sys.argv[1:]
    work = operation(name, folder, (int(rows), int(cols)), int(columns))
    for _ in sys.stdin:
        start = time.perf_counter()
        work()
        print(time.perf_counter() - start, flush=True)


main()
