# SPDX-License-Identifier: BSD-3-Clause
"""Pieces of label switching, whose steps stand in :mod:`bagshift.estimators.tsvm`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bagshift.estimators._exact_counts import label_top_counts
from bagshift.estimators._retraining import TrainedMachine

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

_FIRST_COST = 1e-5


@dataclass(frozen=True, eq=False)
class Rest:
    """Where switching at one pair of costs came to rest.

    Attributes
    ----------
    machine : TrainedMachine
        Trained on the last labels.
    history : tuple of float
        Objective after the first training and after every exchange.
    n_swaps : int
        Pairs of labels exchanged.
    settled : bool
        Whether no exchange was left.
    """

    machine: TrainedMachine
    history: tuple[float, ...]
    n_swaps: int
    settled: bool


def label_highest(scores: Floats, n_second: int) -> Floats:
    """Label the highest scores +1, as many as wanted, and the others -1.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
    n_second : int

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    one_group = np.zeros(len(scores), dtype=np.intp)
    return label_top_counts(scores, one_group, np.array([n_second]))


def rising_costs(last: float, n_second: int, n_rows: int) -> list[tuple[float, float]]:
    """Return the costs of slack of rows guessed negative and positive, doubling up to the last.

    Parameters
    ----------
    last : float
        The full cost.
    n_second, n_rows : int
        Number of rows that are guessed positive, and of all.

    Returns
    -------
    list of (float, float)
    """
    # In units of the last cost, so that doubling gets there however small that is.
    parts = [(_FIRST_COST, min(_FIRST_COST * n_second / max(n_rows - n_second, 1), 1.0))]
    while parts[-1] != (1.0, 1.0):
        parts.append((min(2.0 * parts[-1][0], 1.0), min(2.0 * parts[-1][1], 1.0)))
    return [(last * negative, last * positive) for negative, positive in parts]


def pairs_to_exchange(machine: TrainedMachine, guessed: Rows) -> tuple[Rows, Rows]:
    """Return rows of either label that would lose together by keeping it, largest slacks first.

    Parameters
    ----------
    machine : TrainedMachine
    guessed : ndarray of shape (n_unlabelled,)
        Rows whose label is a guess.

    Returns
    -------
    falling, rising : ndarray of shape (n_pairs,)
        Rows labelled +1 and rows labelled -1, each within its margin, with slacks that add up to
        more than 2.
    """
    slack = np.maximum(0.0, 1.0 - machine.signs * machine.scores)[guessed]
    by_slack = np.argsort(-slack, kind="stable")
    by_slack = by_slack[slack[by_slack] > 0]
    is_second = machine.signs[guessed[by_slack]] > 0
    falling, rising = by_slack[is_second], by_slack[~is_second]
    n = min(len(falling), len(rising))
    falling, rising = falling[:n], rising[:n]
    exceeds = slack[falling] + slack[rising] > 2.0
    return guessed[falling[exceeds]], guessed[rising[exceeds]]
