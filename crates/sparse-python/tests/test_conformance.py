"""The conformance table from Python."""

import os
import shutil
import stat
import sys

import nnz
import pytest

FAKE = f"""#!{sys.executable}
import json, sys
if "nonsense" in sys.argv:
    sys.exit("error: no case has this name")
record = dict(op="spmv/csr", case="empty", backend="cpu", algorithm="auto", types="f64,i32,i32", status="pass", reason="")
with open(sys.argv[sys.argv.index("--json") + 1], "w") as file:
    for more in ({{}}, dict(status="fail", reason="y[0] is 1, not 2"), dict(backend="cuda", status="skipped", reason="no GPU")):
        file.write(json.dumps(record | more) + "\\n")
sys.exit(1)
"""


@pytest.fixture
def fake(tmp_path):
    path = tmp_path / "conformance"
    path.write_text(FAKE)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_failures_are_records(fake):
    seen = []
    report = nnz.conformance("spmv", program=fake, progress=lambda done, total: seen.append((done, total)))
    assert not report.passed
    assert seen == [(1, None), (2, None), (3, None)]
    assert [(record.status, record.backend) for record in report.records] == [("pass", "cpu"), ("fail", "cpu"), ("skipped", "cuda")]
    assert report.backends == ["cpu"]
    assert report.counts()[("spmv/csr", "cpu")] == {"pass": 1, "fail": 1}
    assert "FAIL spmv/csr/empty [f64,i32,i32 auto] on cpu: y[0] is 1, not 2" in str(report)
    assert repr(report) == "<ConformanceReport: 1 passed, 1 failed on cpu>"
    assert "<td>expected_failure" not in report._repr_html_()
    assert "<td>spmv/csr</td>" in report._repr_html_()


def test_wrong_names_are_errors(fake, monkeypatch):
    with pytest.raises(ValueError, match="no case has this name"):
        nnz.conformance("nonsense", program=fake)
    monkeypatch.setenv("NNZ_CONFORMANCE", "/nowhere/conformance")
    with pytest.raises(FileNotFoundError, match="cargo install"):
        nnz.conformance()


def test_a_part_of_the_table_passes():
    if shutil.which(os.environ.get("NNZ_CONFORMANCE", "conformance")) is None:
        pytest.skip("there is no program conformance")
    report = nnz.conformance("spmv/csr", types="f64,i32,i32", backend="cpu", tier="tiny")
    assert report.passed, str(report)
    assert report.backends == ["cpu"]
    assert len(report.records) > 10
