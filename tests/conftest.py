# SPDX-License-Identifier: BSD-3-Clause
"""What every test may use: one thread per process, real data where present, a digits problem."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

# Set before NumPy is imported, and inherited by the processes that tests start: two test
# processes with a pool of threads each spend their time waiting for each other.
for _variable in THREAD_VARIABLES:
    os.environ.setdefault(_variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")
# Without it scikit-learn skips some of the checks that it has for estimators.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402
from sklearn.datasets import load_digits  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]

# No deadline: how long one example takes depends on the machine. The same examples in every
# run of `make test`; `make nightly` draws new and more ones.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("nightly", deadline=None, max_examples=1000)
settings.load_profile("repeatable")


class Digits(NamedTuple):
    """Threes and eights of scikit-learn's bundled digits.

    Attributes
    ----------
    X : ndarray of shape (357, 64)
        Pixels in [0, 1], row by row.
    y : ndarray of shape (357,)
        +1 for an eight, -1 for a three.
    """

    X: np.ndarray
    y: np.ndarray


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Keep numerical libraries that were loaded before the variables above to one thread."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Give the folder of real data sets; tests that ask for it are skipped without it.

    It is looked for beside the repository, in ``../shared/data``, or where the environment
    variable ``BAGSHIFT_DATA`` says.
    """
    folder = Path(os.environ.get("BAGSHIFT_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real data not found in {folder} (BAGSHIFT_DATA names another folder)")
    return folder


@pytest.fixture
def digits() -> Digits:
    """Threes against eights; a fresh copy for each test."""
    pixels, digit = load_digits(return_X_y=True)
    chosen = np.isin(digit, (3, 8))
    return Digits(pixels[chosen] / 16.0, np.where(digit[chosen] == 8, 1, -1))
