"""The types of the package, and the stubs beside the library."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")


def test_stubs_say_what_the_library_has(tmp_path):
    check(["mypy.stubtest", "nnz._native"], tmp_path)


def test_the_package_keeps_its_types(tmp_path):
    settings = Path(__file__).parents[1] / "pyproject.toml"
    check(["mypy", f"--config-file={settings}", f"--cache-dir={tmp_path}"], tmp_path)


def check(command, folder):
    found = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
