"""Matrices over ranks of MPI, in processes that mpirun starts. Skipped where there is no mpi4py or no mpirun."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="there is no mpi4py"),
    pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun"),
]
#: Of Open MPI; others have no such limits.
ALLOWED = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_multiply_and_solve_together(ranks):
    program = Path(__file__).parent / "mpi_program.py"
    command = ["mpirun", "-n", str(ranks), sys.executable, "-W", "error", program, str(ranks)]
    ran = subprocess.run(command, env=os.environ | ALLOWED, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.strip() == f"passed on {ranks}"
