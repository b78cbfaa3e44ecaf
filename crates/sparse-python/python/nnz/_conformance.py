"""The conformance table from Python: every algorithm of every operation, on every case, for each backend that is there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from ._progress import Callback, reporter

#: The statuses of a record, in the order of the summary.
STATUSES = ("pass", "fail", "unsupported", "expected_failure", "skipped")


@dataclass(frozen=True)
class Record:
    """The result of one algorithm on one case."""

    op: str
    case: str
    backend: str
    algorithm: str
    types: str
    #: `pass`, `fail`, `unsupported`, `expected_failure` or `skipped`.
    status: str
    #: Why it did not pass.
    reason: str


class ConformanceReport:
    """The records of a run of :func:`conformance`. It prints as a table of operations and backends."""

    def __init__(self, records: list[Record]) -> None:
        self.records = records

    @property
    def failures(self) -> list[Record]:
        """The records that failed."""
        return [record for record in self.records if record.status == "fail"]

    @property
    def passed(self) -> bool:
        """True if something passed and nothing failed."""
        return not self.failures and any(record.status == "pass" for record in self.records)

    @property
    def backends(self) -> list[str]:
        """The backends that ran."""
        return sorted({record.backend for record in self.records if record.status != "skipped"})

    def counts(self) -> dict[tuple[str, str], Counter[str]]:
        """The number of records of each status, by operation and backend."""
        found: dict[tuple[str, str], Counter[str]] = {}
        for record in self.records:
            found.setdefault((record.op, record.backend), Counter())[record.status] += 1
        return dict(sorted(found.items()))

    def _rows(self) -> Iterator[tuple[str, ...]]:
        yield ("operation", "backend", *STATUSES)
        for key, counts in self.counts().items():
            yield (*key, *(str(counts[status]) for status in STATUSES))

    def __str__(self) -> str:
        lines = [f"{op:<26} {backend:<10}" + "".join(f" {cell:>16}" for cell in cells) for op, backend, *cells in self._rows()]
        for record in self.failures:
            lines.append(f"FAIL {record.op}/{record.case} [{record.types} {record.algorithm}] on {record.backend}: {record.reason}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        passed = sum(record.status == "pass" for record in self.records)
        return f"<ConformanceReport: {passed} passed, {len(self.failures)} failed on {', '.join(self.backends) or 'nothing'}>"

    def _repr_html_(self) -> str:
        header, *rows = (("".join(f"<{{0}}>{escape(cell)}</{{0}}>" for cell in row)) for row in self._rows())
        body = "".join(f"<tr>{row.format('td')}</tr>" for row in rows)
        return f"<table><caption>{escape(repr(self))}</caption><tr>{header.format('th')}</tr>{body}</table>"


def conformance(
    op: str | None = None,
    case: str | None = None,
    *,
    types: str | None = None,
    backend: str | None = None,
    tier: str = "quick",
    program: str | os.PathLike[str] | None = None,
    progress: bool | Callback | None = None,
) -> ConformanceReport:
    """Runs the conformance table on the backends that are there, or on `backend`. A failure is a record, no exception.

    `op` (`spmv`, `spmv/csr`), `case` (a part of a name) and `types` (`f64`) select a part of the table, `tier` its size:
    `tiny`, `quick` (seconds), `ci` (minutes) or `nightly`. `progress` is True for a bar of tqdm, or a function of
    (records so far, None).

    The table is run by the program `conformance` of this version: `program`, the environment variable `NNZ_CONFORMANCE`, or
    the one in `PATH`. `cargo install --path crates/sparse-conformance-cli` compiles it.
    """
    command = [find(program), "--tier", tier, "--no-provision"]
    for option, value in (("op", op), ("case", case), ("types", types), ("backend", backend)):
        if value is not None:
            command += [f"--{option}", value]
    reader, writer = os.pipe()
    with tempfile.TemporaryFile("w+") as errors, open(reader) as lines:
        try:
            command += ["--json", f"/dev/fd/{writer}"]
            run = subprocess.Popen(command, pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=errors)
        finally:
            os.close(writer)
        records = []
        with reporter(progress, "conformance", " checks") as report:
            for line in lines:
                records.append(Record(**json.loads(line)))
                if report is not None:
                    report(len(records), None)
        status = run.wait()
        # 0: all passed; 1: some failed; 3: a backend that was asked for is not there, which is a record.
        if status not in (0, 1, 3) or not records:
            errors.seek(0)
            raise ValueError(f"{' '.join(command)} ended with status {status}: {errors.read().strip()}")
    return ConformanceReport(records)


def find(program: str | os.PathLike[str] | None) -> str:
    """The path of the program `conformance`."""
    named = program or os.environ.get("NNZ_CONFORMANCE") or "conformance"
    found = shutil.which(named)
    if found is None:
        how = "cargo install --path crates/sparse-conformance-cli compiles it; program= or NNZ_CONFORMANCE names it"
        raise FileNotFoundError(f"there is no program {os.fspath(named)}: {how}")
    return os.fspath(found)
