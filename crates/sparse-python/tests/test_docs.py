"""The blocks of Python in README.md and docs/python.md run."""

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "crates/sparse-python/README.md", ROOT / "docs/python.md"]
BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{k}")
    for page in PAGES
    for k, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL))
]
#: Libraries without which nnz works.
OPTIONAL = {"anndata", "cupy", "dask", "mpi4py", "torch"}


@pytest.mark.parametrize("block", BLOCKS)
def test_blocks_run(block, tmp_path, monkeypatch):
    for library in OPTIONAL.intersection(re.findall(r"^(?:import|from) (\w+)", block, re.MULTILINE)):
        pytest.importorskip(library)
        if library == "mpi4py" and shutil.which("mpirun") is None:
            pytest.skip("there is no MPI")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "block", "exec"), {})


def test_every_page_has_blocks():
    assert len(BLOCKS) >= len(PAGES)
