# SPDX-License-Identifier: BSD-3-Clause
"""Rows in files: what slices and indices give, and what is read when."""

import numpy as np
import pytest

from bagshift.exceptions import TableError
from bagshift.scale.stored_rows import stored_rows

ROWS = np.arange(60, dtype=np.float32).reshape(20, 3)


@pytest.fixture
def files(tmp_path):
    parts = np.split(ROWS, [1, 9, 9])
    found = [tmp_path / f"rows-{number}.npy" for number in range(len(parts))]
    for file, part in zip(found, parts, strict=True):
        np.save(file, part)
    return found


def test_is_the_matrix(files):
    rows = stored_rows(files)
    assert rows.shape == ROWS.shape
    assert len(rows) == 20
    assert rows.dtype == np.float32
    assert np.array_equal(rows, ROWS)
    assert np.asarray(rows, dtype=np.float64).dtype == np.float64
    for part in (
        slice(0, 5),
        slice(8, 10),
        slice(15, 99),
        slice(7, 7),
        slice(9, 3),
        slice(-4, -1),
    ):
        assert np.array_equal(rows[part], ROWS[part])
        assert rows[part].shape == ROWS[part].shape
    assert np.array_equal(rows[2:15][3:9], ROWS[2:15][3:9])
    assert np.array_equal(rows[2:15][::2], ROWS[2:15][::2])
    assert np.array_equal(rows[[3, 1, 12]], ROWS[[3, 1, 12]])
    assert np.array_equal(rows[ROWS[:, 0] > 30], ROWS[ROWS[:, 0] > 30])


def test_slices_read_nothing(files):
    read = []
    rows = stored_rows(files, on_read=read.append)
    part = rows[2:12][1:]
    assert read == []
    np.asarray(part)
    assert read == [9]


def test_no_copy_cannot_be_had(files):
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(stored_rows(files), copy=False)


def test_files_that_are_none(files, tmp_path):
    strange = tmp_path / "strange.npy"
    strange.write_bytes(b"no numbers")
    with pytest.raises(TableError, match="no file of NumPy"):
        stored_rows([strange])
    with pytest.raises(TableError, match="cannot be read"):
        stored_rows([tmp_path / "none.npy"])
    np.save(strange, np.zeros((2, 4), dtype=np.float32))
    with pytest.raises(TableError, match="other columns"):
        stored_rows([*files, strange])
    np.save(strange, np.zeros(4))
    with pytest.raises(TableError, match="no rows"):
        stored_rows([strange])
    rows = stored_rows(files)
    files[-1].write_bytes(files[-1].read_bytes()[:-8])
    with pytest.raises(TableError, match="shorter"):
        np.asarray(rows)
    files[-1].unlink()
    with pytest.raises(TableError, match="cannot be read"):
        np.asarray(rows)
