# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import numpy as np
import pytest

from bagshift.experiments.draws import Draw


@pytest.fixture
def small_draw() -> Draw:
    """Thirty source rows and twenty-six target rows in bags of four, the last of two."""
    random = np.random.RandomState(3)
    y_source, y_target = np.tile([1, -1], 15), np.tile([1, -1], 13)
    y_fresh = np.tile([1, -1], 20)
    source, target = np.array([1.0, 0.8]), np.array([1.0, -0.2])
    ids = random.permutation(26) // 4
    return Draw(
        kernel="rbf",
        X_source=random.normal(size=(30, 2)) + np.outer(y_source, source),
        y_source=y_source,
        X_bagged=random.normal(size=(26, 2)) + np.outer(y_target, target),
        y_bagged=y_target,
        bag_ids=ids,
        shares={k: float(np.mean(y_target[ids == k] == 1)) for k in range(7)},
        X_fresh=random.normal(size=(40, 2)) + np.outer(y_fresh, target),
        y_fresh=y_fresh,
        seed=5,
    )
