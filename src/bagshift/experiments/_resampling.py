# SPDX-License-Identifier: BSD-3-Clause
"""Percentile bootstrap over the draws of a task, the same resampled draws for all methods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift.experiments._page_values import Estimate

Floats = NDArray[np.float64]

N_RESAMPLES = 10_000
INTERVAL = (2.5, 97.5)


@dataclass(frozen=True, eq=False)
class Resampled:
    """A number, and what it is on resampled draws.

    Attributes
    ----------
    value : float
        The number.
    values : ndarray of shape (n_resamples,) or None
        Its values on resampled draws; None with fewer than two draws.
    """

    value: float
    values: Floats | None

    def estimate(self) -> Estimate:
        """Return the number with its 95 % interval."""
        if self.values is None:
            return Estimate(self.value)
        low, high = np.percentile(self.values, INTERVAL)
        return Estimate(self.value, float(low), float(high))


def resampled_means(values: ArrayLike, task: str) -> tuple[Floats, Floats | None]:
    """Return means over draws, as they are and resampled.

    Parameters
    ----------
    values : array-like of shape (n_draws,) or (n_draws, n_columns)
        One row per draw. Columns are resampled together.
    task : str
        Seeds the resampling, so that all methods see the same resampled draws of a task, and
        those of two tasks are independent.

    Returns
    -------
    means : ndarray of shape () or (n_columns,)
    resampled : ndarray of shape (n_resamples,) or (n_resamples, n_columns), or None
        None with fewer than two draws.
    """
    values = np.asarray(values, float)
    means = np.asarray(values.mean(axis=0))
    return means, _weights(task, len(values)) @ values if len(values) > 1 else None


# The tasks of one setting: methods are gone through one after the other.
@lru_cache(maxsize=64)
def _weights(task: str, n_draws: int) -> Floats:
    """Return how much each draw counts: how often it was drawn with replacement."""
    rng = np.random.default_rng([crc32(task.encode()), n_draws])
    even = np.full(n_draws, 1.0 / n_draws)
    weights = rng.multinomial(n_draws, even, size=N_RESAMPLES) / n_draws
    weights.flags.writeable = False
    return weights


def mean_over_tasks(parts: Sequence[Resampled]) -> Resampled:
    """Return the plain mean over tasks, resampled in each of them.

    Parameters
    ----------
    parts : sequence of Resampled
        One for each task.

    Returns
    -------
    Resampled
        NaN without tasks; no resampled values when a task has fewer than two draws.
    """
    if not parts:
        return Resampled(math.nan, None)
    value = float(np.mean([part.value for part in parts]))
    values = [part.values for part in parts if part.values is not None]
    return Resampled(value, np.mean(values, axis=0) if len(values) == len(parts) else None)
