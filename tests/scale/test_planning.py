# SPDX-License-Identifier: BSD-3-Clause
"""What reading takes is known beforehand, and the limit of memory is kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scale_frames import on_top

from bagshift.exceptions import TableError
from bagshift.scale import plan

MANY: dict[str, Any] = {"n_features": 20, "n_target": 10**8, "n_bags": 10**7}


def test_a_large_plan_fits_into_four_gigabytes(tmp_path: Path) -> None:
    made = plan("4GB", tmp_path / "not there yet", n_source=10**7, **MANY)
    assert [step.result_bytes for step in made.steps] == [0, 0, 8 * 10**8, 81 * 10**7]
    assert made.disk_bytes >= 16 * 10**8
    for step in made.steps:
        assert 0 < step.least_memory <= 4 * 10**9 - made.held


@pytest.mark.parametrize(
    ("memory", "changes", "words"),
    [
        ("1GB", {"n_bags": 10**8}, r"Counting the rows of 100,000,000 bags needs .* take larger"),
        ("100MB", {}, r"needs .* of memory but memory= allows 100 MB: raise it"),
        (
            "4GB",
            {"decode_target": True, "largest_bag": 10**8},
            r"Putting 100,000,000 rows .* needs 8\.\d GB .* fit TGPLM, which needs only the means",
        ),
        (
            "4GB",
            {"decode_target": True, "n_target": 10**13},
            r"has .* GB free but up to .* may be needed, most of it for putting .*: name another",
        ),
        ("4GB", {"n_source": 10**13}, r"most of it for decoding .* take a sample of the history"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, memory: str, changes: dict[str, Any], words: str
) -> None:
    made = plan(memory, tmp_path, **{**MANY, **changes})
    with pytest.raises(TableError, match=words):
        made.check()


def test_what_fits_is_not_refused(tmp_path: Path) -> None:
    plan(on_top(), tmp_path, n_features=5, n_target=10**5, n_bags=10**4, n_text_columns=3).check()


PROGRAM = """
import json, re, sys
from pathlib import Path
import numpy as np
from bagshift.scale import (
    bag_means, column_statistics, connect, decode_rows, index_bags, prepare, rows_from
)

folder = sys.argv[1]
with connect("500MB", folder, n_threads=1) as connection:
    columns = ", ".join(f"CAST(random() AS FLOAT) AS x{j}" for j in range(20))
    connection.execute(
        f"COPY (SELECT range * 7919 % 200000 AS bag, {columns} FROM range(1000000)) "
        f"TO '{folder}/rows.parquet'"
    )
    rows = rows_from(f"{folder}/rows.parquet")
    preparation = prepare(column_statistics(connection, rows, reserved={"bag": "bag id"}))
    bags = index_bags(connection, rows, "bag")
    means = bag_means(connection, rows, bags, preparation, f"{folder}/means")
    decoded = decode_rows(
        connection, rows, preparation, f"{folder}/decoded", bags=bags, order_by_bag=True,
        part_rows=100_000,
    )
    codes = np.concatenate([decoded.bags(part) for part in range(decoded.n_parts)])
    is_sorted = bool((np.diff(codes) >= 0).all())
# Unlike getrusage, which counts what the process that started this one held at that moment.
peak = int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
print(json.dumps([peak, decoded.n_rows, is_sorted, means.n_passes, len(means.means)]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_the_limit_of_memory_is_kept(tmp_path: Path) -> None:
    """84 MB of rows, which take 100 MB to sort, with some 110 MB for the database."""
    command = [sys.executable, "-W", "error", "-c", PROGRAM, str(tmp_path)]
    written = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    peak, n_rows, is_sorted, n_passes, n_bags = json.loads(written)
    assert peak < 500 * 10**6
    assert (n_rows, is_sorted, n_bags) == (10**6, True, 2 * 10**5)
    assert n_passes > 1
