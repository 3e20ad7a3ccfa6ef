# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest

from kernel_cases import N_TARGET


@pytest.fixture
def units():
    """Make unsorted units: one of 20 rows, some of one row, rows in no unit."""
    sizes = [20, 1, 7, 1, 9, 12, 3]
    unit_of_row = np.repeat(np.arange(-1, 7), [N_TARGET - sum(sizes), *sizes])
    return np.random.default_rng(5).permutation(unit_of_row), 7
