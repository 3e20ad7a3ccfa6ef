# SPDX-License-Identifier: BSD-3-Clause
"""A kernel that writes down which process computes how many of its values."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def recorded_rbf(
    folder: Path, gamma: float, A: NDArray[np.float64], B: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a Gaussian kernel; append the number of its values to a file of this process."""
    with (folder / str(os.getpid())).open("a", encoding="ascii") as record:
        record.write(f"{len(A) * len(B)}\n")
    return np.exp(-gamma * ((A[:, None] - B) ** 2).sum(axis=2))


def recorded(folder: Path, gamma: float) -> partial[NDArray[np.float64]]:
    """Return the kernel of a width that writes into a folder, which must be there."""
    return partial(recorded_rbf, folder, gamma)


def values_by_process(folder: Path) -> dict[int, int]:
    """Return how many values each process has computed, and forget them."""
    found = {}
    for record in folder.iterdir():
        found[int(record.name)] = sum(map(int, record.read_text(encoding="ascii").split()))
        record.unlink()
    return found
