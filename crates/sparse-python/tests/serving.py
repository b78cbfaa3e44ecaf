"""A server in a process of its own, `nnz serve`, whose path is in `NNZ_COMMAND`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

COMMAND = os.environ.get("NNZ_COMMAND", str(Path(__file__).parent / "../../../target/debug/nnz"))

needs_command = pytest.mark.skipif(not Path(COMMAND).exists(), reason=f"there is no {COMMAND}")


def serve(
    folder: Path, listen: str = "127.0.0.1:0", *options: str, backend: str = "cpu"
) -> tuple[subprocess.Popen, str]:
    folders = ["--data", str(folder)]
    arguments = ["serve", "--listen", listen, *folders, "--memory", "64M", "--backend", backend, *options]
    process = subprocess.Popen([COMMAND, *arguments], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


def stop(process: subprocess.Popen) -> None:
    process.terminate()
    assert process.wait(timeout=60) == 0
    process.stdout.close()


def matrix(char: str = "d", n: int = 50) -> sp.csr_array:
    rng = np.random.default_rng(1)
    a = sp.random_array((n, n), density=0.1, rng=rng).tocsr() + 4 * sp.eye_array(n, format="csr")
    return sp.csr_array(a.astype(char) * (1 + 0.5j if char in "FD" else 1))
