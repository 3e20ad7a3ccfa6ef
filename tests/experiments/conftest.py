# SPDX-License-Identifier: BSD-3-Clause
"""Small domains to draw from."""

import numpy as np
import pytest

from bagshift.datasets import LabelledDomains


def two_clouds(n_source: int = 60, n_target: int = 200, seed: int = 0) -> LabelledDomains:
    """Two Gaussian clouds per domain, in 20 groups of the target."""
    rng = np.random.default_rng(seed)
    parts = []
    for n in (n_source, n_target):
        labels = np.where(rng.random(n) < 0.5, 1, -1).astype(np.int8)
        parts += [rng.normal(size=(n, 3)) + 1.5 * labels[:, None] * [1.0, 0.5, 0.0], labels]
    return LabelledDomains(*parts, groups=np.arange(n_target) % 20)


@pytest.fixture
def clouds() -> LabelledDomains:
    return two_clouds()
