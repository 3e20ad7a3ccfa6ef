# SPDX-License-Identifier: BSD-3-Clause
"""Which rows a progressive machine is trained on, from round to round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bagshift.estimators._retraining import TrainedMachine
from bagshift.estimators._training import TrainingData

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Within this distance a row is at the bound of the margin, whichever way the solver's tolerance
# tips.
_AT_BOUND = 1e-3
_INSIDE = 1.0 - _AT_BOUND


class ProgressiveRows:
    """Source rows that are left and target rows with a label, and since when they have it.

    Parameters
    ----------
    data : TrainingData
        With one target unit per row; labels that are not known are 0.

    Attributes
    ----------
    is_known : ndarray of shape (n_target,)
        Rows whose label was given.
    target_signs : ndarray of shape (n_target,)
        Labels, -1 or +1; 0 for rows without one.
    n_rounds : int
    """

    def __init__(self, data: TrainingData) -> None:
        self._data = data
        self.is_known = data.labelled_signs != 0
        self.target_signs = data.labelled_signs.copy()
        self._is_left = np.ones(data.n_source, dtype=bool)
        self._age = np.zeros(len(self.target_signs))
        self.n_rounds = 0

    @property
    def signs(self) -> Floats:
        """Labels of the rows of both domains, source rows first; shape (n_source + n_target,)."""
        return np.concatenate([self._data.source_signs, self.target_signs])

    def advance(self, machine: TrainedMachine, per_side: int, fewest: int) -> bool:
        """Choose the rows of the next round.

        Parameters
        ----------
        machine : TrainedMachine
            The one trained last.
        per_side : int
            Most target rows to be labelled on either side.
        fewest : int
            Rows inside the margin on a side that are worth another round.

        Returns
        -------
        bool
            Whether there is one.
        """
        n = self._data.n_source
        source_scores, target_scores = machine.scores[:n], machine.scores[n:]
        is_high = target_scores > 0
        is_open = (self.target_signs == 0) & (np.abs(target_scores) < _INSIDE)
        sides = [np.flatnonzero(is_open & (is_high == high)) for high in (False, True)]
        if max(len(rows) for rows in sides) < fewest:
            return False
        self.n_rounds += 1
        is_turned = (
            ~self.is_known & (self.target_signs != 0) & ((self.target_signs > 0) != is_high)
        )
        self.target_signs[is_turned], self._age[is_turned] = 0.0, 0.0
        for rows, high in zip(sides, (False, True), strict=True):
            taken = rows[np.argsort(-np.abs(target_scores[rows]), kind="stable")[:per_side]]
            self.target_signs[taken] = 1.0 if high else -1.0
            on_side = np.flatnonzero(self._is_left & ((source_scores > 0) == high))
            order = _farthest_first(source_scores[on_side], machine.result.dual[on_side])
            self._is_left[on_side[order[: len(taken)]]] = False
        self._age[self.target_signs != 0] += 1
        return True

    def costs(self, source: float, target: float, n_steps: int) -> Floats:
        """Return the cost of slack of every row in this round; 0 for rows that are not in it."""
        falling = max(1.0 - self.n_rounds / n_steps, 1.0 / n_steps) ** 2
        rising = np.minimum(self._age / n_steps, 1.0) ** 2
        rising[self.is_known] = self._data.labelled_weight[self.is_known]
        return np.concatenate(
            [source * falling * self._data.source_weight * self._is_left, target * rising]
        )

    def close(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return labels and relative costs of all rows in the last training.

        Parameters
        ----------
        scores : ndarray of shape (n_source + n_target,)
            By the machine trained last.

        Returns
        -------
        signs, costs : ndarray of shape (n_source + n_target,)
        """
        n = self._data.n_source
        target = scores[n:]
        is_used = (self.target_signs != 0) | (np.abs(target) >= _INSIDE)
        guesses = np.where(target > 0, 1.0, -1.0)
        signs = np.where(self.target_signs == 0, guesses, self.target_signs)
        costs = np.concatenate([np.zeros(n), is_used * self._data.labelled_weight])
        return np.concatenate([self._data.source_signs, signs]), costs


def _farthest_first(scores: Floats, dual: Floats) -> Rows:
    """Return an order by distance from the boundary; at the bound, those that matter least first.

    Support vectors lie at the bound in numbers, all at the same distance but for rounding.
    """
    distance = np.abs(scores)
    distance[np.abs(distance - 1.0) < _AT_BOUND] = 1.0
    return np.lexsort((np.abs(dual), -distance))
