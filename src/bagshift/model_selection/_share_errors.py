# SPDX-License-Identifier: BSD-3-Clause
"""Share errors of many settings on held-out bags, gathered into scores of folds and of bags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.estimators._coupled import CoupledMachine
from bagshift.estimators.source_svm import threshold_for
from bagshift.model_selection._coupled_blocks import Block
from bagshift.model_selection._folds import BagFold
from bagshift.model_selection._search_engine import BagScores, FoldScores
from bagshift.model_selection.scorers import bag_errors_of, combine_errors

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FoldErrors:
    """Errors of the settings of a block on every bag that a fold holds out.

    Attributes
    ----------
    hard, soft : ndarray of shape (n_settings, n_bags)
        Share error and soft share error.
    converged : ndarray of shape (n_settings,), bool
        Whether the solver reached its tolerance.
    """

    hard: Floats
    soft: Floats
    converged: NDArray[np.bool_]

    @classmethod
    def empty(cls, n_settings: int, n_bags: int) -> FoldErrors:
        """Return errors to fill in."""
        shape = n_settings, n_bags
        return cls(np.empty(shape), np.empty(shape), np.empty(n_settings, dtype=bool))


class ErrorTable:
    """Gathers the errors of all settings on all folds, and on all bags."""

    def __init__(self, n_settings: int, bags: Bags, folds: list[BagFold]) -> None:
        shape = n_settings, len(folds)
        self.hard, self.soft = np.empty(shape), np.empty(shape)
        self.converged = np.empty(shape, dtype=bool)
        self.weights = bags.sizes.astype(np.float64)
        self.test_bags = [fold.test_bags for fold in folds]
        self.of_bags = np.zeros((n_settings, bags.n_bags))

    def add(self, settings: list[int], fold: int, errors: FoldErrors) -> None:
        """Take in the errors of some settings on a fold."""
        held_out = self.test_bags[fold]
        weights = self.weights[held_out]
        self.hard[settings, fold] = np.average(errors.hard, axis=1, weights=weights)
        self.soft[settings, fold] = np.average(errors.soft, axis=1, weights=weights)
        self.converged[settings, fold] = errors.converged
        self.of_bags[np.ix_(np.array(settings), held_out)] += combine_errors(
            errors.hard, errors.soft
        )

    def as_scores(self) -> FoldScores:
        """Return 1 - share error, its ties broken by the soft share error."""
        times = np.bincount(np.concatenate(self.test_bags), minlength=len(self.weights))
        with np.errstate(invalid="ignore"):
            of_bags = self.of_bags / times
        return FoldScores(
            scores=combine_errors(self.hard, self.soft),
            converged=self.converged,
            details={"share_error": self.hard, "soft_share_error": self.soft},
            bags=BagScores(of_bags, self.weights),
        )


def errors_without_bags(
    machines: Sequence[CoupledMachine],
    block: Block,
    scores: Floats,
    converged: NDArray[np.bool_],
    folds: list[BagFold],
    advance: Callable[[], None],
) -> list[FoldErrors]:
    """Return the errors of machines that bags teach nothing: one solution serves every fold.

    Parameters
    ----------
    machines : sequence of CoupledMachine
        Of all settings of the block.
    block : Block
    scores : ndarray of shape (n_target, n_settings)
        Decision values of all target rows.
    converged : ndarray of shape (n_settings,), bool
    folds : list of BagFold
    advance : callable
        Called after every fold.

    Returns
    -------
    list of FoldErrors
    """
    errors = []
    for fold in folds:
        held_out = scores[fold.test_rows]
        for setting, machine in enumerate(machines):
            if getattr(machine, "threshold", None) == "prior":
                held_out[:, setting] -= _prior_threshold(block, fold, scores[:, setting])
        errors.append(_errors(machines, block, fold, converged, held_out))
        advance()
    return errors


def _prior_threshold(block: Block, fold: BagFold, scores: Floats) -> float:
    """Return the threshold of SourceSVM for the overall share of the training bags."""
    bags = block.given.bags[fold.train_rows]
    shares = replace(block.given, bags=bags).shares
    n_positive = round(float(shares @ bags.rows_per_bag))
    return threshold_for(scores[fold.train_rows[bags.rows_in_bags()]], n_positive)


def _errors(
    machines: Sequence[CoupledMachine],
    block: Block,
    fold: BagFold,
    converged: NDArray[np.bool_],
    scores: Floats,
) -> FoldErrors:
    bags = block.given.bags[fold.test_rows]
    errors = [
        bag_errors_of(bags, column, machine, flipped=block.given.is_flipped)
        for machine, column in zip(machines, scores.T, strict=True)
    ]
    hard, soft = (np.stack(of_settings) for of_settings in zip(*errors, strict=True))
    return FoldErrors(hard, soft, converged)
