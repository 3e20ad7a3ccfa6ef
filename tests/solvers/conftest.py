# SPDX-License-Identifier: BSD-3-Clause
from dataclasses import dataclass

import numpy as np
import pytest

from bagshift.solvers import CoupledProblem


@dataclass(frozen=True)
class LinearTask:
    """Labelled source rows and bags with known shares, seen through a linear kernel."""

    source: np.ndarray
    labels: np.ndarray
    bag_means: np.ndarray
    shares: np.ndarray

    @property
    def features(self):
        return np.vstack([self.source, self.bag_means])

    def problem(self, coupling, c_source, c_target, *, tube=0.1, clip=1e-2, dtype=np.float64):
        n, d = len(self.labels), len(self.shares)
        share = np.clip(self.shares, clip, 1 - clip)
        return CoupledProblem(
            gram=(self.features @ self.features.T).astype(dtype),
            n_source=n,
            targets=np.concatenate([self.labels, np.log(share / (1 - share))]),
            half_widths=np.concatenate([np.zeros(n), tube * share * (1 - share)]),
            lower=np.concatenate([np.where(self.labels > 0, 0, -c_source), np.full(d, -c_target)]),
            upper=np.concatenate([np.where(self.labels > 0, c_source, 0), np.full(d, c_target)]),
            coupling=coupling,
        )


def _make_task(seed, *, n_source=24, n_bags=6, n_features=3):
    """Bags of 1 to 8 rows, the first without positives, the second without negatives."""
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1.0, 1.0], size=n_source)
    labels[:2] = 1.0, -1.0
    source = rng.normal(size=(n_source, n_features)) + 0.6 * labels[:, None]
    shares = rng.random(n_bags)
    shares[:2] = 0.0, 1.0
    means = []
    for share in shares:
        hidden = np.where(rng.random(rng.integers(1, 9)) < share, 1.0, -1.0)
        rows = rng.normal(size=(len(hidden), n_features)) + 0.6 * hidden[:, None] + 0.3
        means.append(rows.mean(axis=0))
    return LinearTask(source, labels, np.array(means), shares)


@pytest.fixture(scope="session")
def make_task():
    return _make_task


def _one_machine(gram, targets, *, c, half_widths=None, labelled=False):
    """One machine on units of one domain: a support vector classifier or regressor."""
    m = len(targets)
    return CoupledProblem(
        gram=gram,
        n_source=0,
        targets=targets,
        half_widths=np.zeros(m) if half_widths is None else half_widths,
        lower=np.where(targets > 0, 0.0, -c) if labelled else np.full(m, -c),
        upper=np.where(targets > 0, c, 0.0) if labelled else np.full(m, c),
        coupling=0.0,
    )


@pytest.fixture(scope="session")
def one_machine():
    return _one_machine
