# SPDX-License-Identifier: BSD-3-Clause
"""What a search knows about a kind of machine: an engine that scores its settings.

:func:`~bagshift.model_selection.path_search` reads the data, holds out bags and chooses; how many
settings of one machine are trained together without wasting work is the business of its engine.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.estimators._training import TrainingData
from bagshift.model_selection._folds import BagFold

Floats = NDArray[np.float64]
Grid = dict[str, list[Any]]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class BagScores:
    """Scores of every setting on every single bag.

    Attributes
    ----------
    values : ndarray of shape (n_settings, n_bags)
        Mean over the folds that held the bag out; NaN for a bag that none did.
    weights : ndarray of shape (n_bags,)
        Weight of each bag in the score of a fold.
    """

    values: Floats
    weights: Floats


@dataclass(frozen=True)
class FoldScores:
    """Scores of every setting on every fold.

    Attributes
    ----------
    scores : ndarray of shape (n_settings, n_folds)
        The criterion on the held-out bags; finite, greater is better.
    converged : ndarray of shape (n_settings, n_folds), bool
        Whether the solver reached its tolerance.
    details : dict of str to ndarray of shape (n_settings, n_folds)
        What else was measured, such as "share_error"; their means stand in the results.
    bags : BagScores or None
        The same by bags, for standard errors; None leaves these to the folds.
    fold_weights : ndarray of shape (n_folds,) or None
        Weights of the folds in the mean score; None where all count the same.
    report : dict of str to object
        How the settings were trained.
    """

    scores: Floats
    converged: NDArray[np.bool_]
    details: dict[str, Floats] = field(default_factory=dict)
    bags: BagScores | None = None
    fold_weights: Floats | None = None
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def means(self) -> Floats:
        """Mean score of every setting; shape (n_settings,)."""
        return self._mean(self.scores)

    @property
    def deviations(self) -> Floats:
        """Standard deviation of the scores of every setting over folds; (n_settings,)."""
        if self.fold_weights is None:
            return np.asarray(self.scores.std(axis=1))
        return np.sqrt(self._mean((self.scores - self.means[:, None]) ** 2))

    def _mean(self, values: Floats) -> Floats:
        if self.fold_weights is None:
            return np.asarray(values.mean(axis=1))
        return np.asarray(np.average(values, axis=1, weights=self.fold_weights))


class SearchEngine(Protocol):
    """Trains and scores many settings of one kind of machine.

    Attributes
    ----------
    machine_names : tuple of str
        The machines it serves, as messages name them.
    """

    @property
    def machine_names(self) -> tuple[str, ...]:
        """Return the names of the machines it serves."""

    def serves(self, machine: Any) -> bool:
        """Tell whether an estimator is of this kind."""

    def grid(self, name: str, machine: Any, given: TrainingData) -> Grid:
        """Return a named grid for a machine and all its training data, or raise ValueError."""

    def for_sample(
        self, machines: list[Any], given: TrainingData, sample: TrainingData
    ) -> list[Any]:
        """Return the machines that mean on a sample what these do on all training data."""

    def default_cv(self, bags: Bags) -> Any:
        """Return the splitter that holds out bags unless told otherwise."""

    def require_memory(self, machines: list[Any], given: TrainingData, n_running: int) -> None:
        """Refuse a search with so many folds at a time that would not fit into memory."""

    def cross_validate(
        self,
        machines: list[Any],
        given: TrainingData,
        folds: list[BagFold],
        *,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> FoldScores:
        """Return the scores of unfitted machines, one per setting, on held-out bags."""
