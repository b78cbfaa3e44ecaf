"""The stubs beside the library."""

import subprocess
import sys

import pytest

pytest.importorskip("mypy")


def test_stubs_say_what_the_library_has(tmp_path):
    command = [sys.executable, "-m", "mypy.stubtest", "nnz._native"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
