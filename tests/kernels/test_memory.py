# SPDX-License-Identifier: BSD-3-Clause
import tracemalloc

import numpy as np
import pytest

from bagshift.exceptions import KernelMemoryError
from bagshift.kernels import Kernel, _memory, free_memory, require_memory, unit_cross, unit_gram


@pytest.fixture
def free(monkeypatch):
    def set_free(n_bytes):
        monkeypatch.setattr(_memory, "free_memory", lambda: n_bytes)

    return set_free


def refusal(n_source, n_units, dtype=np.float64):
    source, target = (np.zeros((n, 1), dtype=dtype) for n in (n_source, n_units))
    with pytest.raises(KernelMemoryError) as caught:
        unit_gram(Kernel("rbf"), source, target, np.arange(n_units), n_units)
    return str(caught.value)


def test_a_matrix_that_does_not_fit_is_refused_before_it_is_made(free):
    free(int(21.3 * 2**30))
    tracemalloc.start()
    message = refusal(120_000, 2_500)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6
    assert message == (
        "A kernel matrix over 120,000 source rows and 2,500 bags needs 111.8 GiB but 21.3 GiB "
        "are free: train on a sample of the source rows, or use float32 features, which halves "
        "the matrix."
    )


def test_the_refusal_names_ways_out_that_help(free):
    free(2**20)
    single = refusal(120_000, 2_500, np.float32)
    assert "needs 55.9 GiB" in single
    assert single.endswith("train on a sample of the source rows.")
    assert "over 5,000 bags needs" in refusal(0, 5_000)
    assert "train on a sample of the bags" in refusal(1, 5_000)
    assert "1 source row and 5,000 bags" in refusal(1, 5_000)
    with pytest.raises(KernelMemoryError, match="9,000 rows with 1,000 source rows needs"):
        unit_cross(Kernel("rbf"), np.zeros((9000, 1)), np.zeros((1000, 1)), None, None, 0)


def test_memory_that_suffices_or_is_unknown_is_not_refused(free):
    free(2**30)
    require_memory(2**30, "An array", "wait")
    with pytest.raises(
        KernelMemoryError, match=r"An array needs 1\.0 GiB but 1\.0 GiB are free: wait"
    ):
        require_memory(2**30 + 1, "An array", "wait")
    free(0)
    require_memory(2**24, "A small array", "wait")
    free(None)
    require_memory(10**18, "An array", "wait")


def test_free_memory_is_below_what_the_machine_has():
    free = free_memory()
    assert free is None or 0 <= free < 2**50


def test_machine_memory_reads_what_is_available(tmp_path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 900 kB\nMemFree: 10 kB\nMemAvailable: 400 kB\n")
    assert _memory._machine_memory(meminfo) == 400 * 1024
    without = _memory._machine_memory(tmp_path / "missing")
    assert without is None or without > 0


def write_group(folder, names, limit, usage, cache):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in zip(names, (limit, usage), strict=True):
        (folder / name).write_text(f"{text}\n")
    (folder / "memory.stat").write_text(
        f"anon 5\ninactive_file {cache}\ntotal_inactive_file {cache}\n"
    )


VERSIONS = {
    "v1": ("3:memory:/outer/job", "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")),
    "v2": ("0::/outer/job", "", ("memory.max", "memory.current")),
}


@pytest.mark.parametrize("version", VERSIONS)
def test_group_memory_is_the_tightest_limit_above_the_process(version, tmp_path):
    line, folder, names = VERSIONS[version]
    membership = tmp_path / "membership"
    membership.write_text(f"7:cpu,cpuacct:/other\n{line}\n")
    root = tmp_path / "groups"
    write_group(root / folder / "outer" / "job", names, 1000, 600, 50)
    write_group(root / folder / "outer", names, 700, 650, 20)
    write_group(root / folder, names, "max" if version == "v2" else 2**63 - 4096, 800, 0)
    left = [size for size in _memory._group_memory(root, membership) if size is not None]
    assert min(left) == 70
    assert 450 in left
    membership.write_text(line.replace("/outer/job", "/gone"))
    assert all(size is None or size > 2**60 for size in _memory._group_memory(root, membership))
