# SPDX-License-Identifier: BSD-3-Clause
"""Searches over machines of more than two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.estimators._class_training import ClassTraining
from bagshift.model_selection._class_count_engine import cross_validate_class_counts
from bagshift.model_selection._count_engine import CountEngine
from bagshift.model_selection._folds import BagFold
from bagshift.model_selection._search_engine import (
    BagScores,
    FoldScores,
    Progress,
    SearchEngine,
)


def cross_validate_classes(
    engine: SearchEngine,
    machines: list[Any],
    given: ClassTraining,
    folds: list[BagFold],
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> FoldScores:
    """Score settings that all classes have in common.

    Parameters
    ----------
    engine : SearchEngine
        Of machines of two classes.
    machines : list of estimator
        Unfitted, one for each setting.
    given : ClassTraining
    folds : list of BagFold
    n_jobs : int, optional
        Folds worked on at the same time.
    progress : callable, optional
        Called with the number of folds done and the number of all, over all classes.

    Returns
    -------
    FoldScores
        Means over the classes of the scores of each against all the others; of the
        count-likelihood machine, the log-likelihood of the counts of all of them.
    """
    if isinstance(engine, CountEngine):
        return cross_validate_class_counts(
            machines, given, folds, n_jobs=n_jobs, progress=progress
        )
    found = []
    for place, view in enumerate(given.each_against_rest()):
        report = None if progress is None else _of_class(progress, place, given.n_classes)
        found.append(engine.cross_validate(machines, view, folds, n_jobs=n_jobs, progress=report))
    return mean_scores(found)


def mean_scores(found: list[FoldScores]) -> FoldScores:
    """Return the mean of scores of the same settings on the same folds.

    Parameters
    ----------
    found : list of FoldScores

    Returns
    -------
    FoldScores
        Converged where all have.
    """
    first = found[0]
    bags = None
    if first.bags is not None:
        values = [each.bags.values for each in found if each.bags is not None]
        bags = BagScores(_mean(values), first.bags.weights)
    return FoldScores(
        scores=_mean([each.scores for each in found]),
        converged=np.logical_and.reduce([each.converged for each in found]),
        details={name: _mean([each.details[name] for each in found]) for name in first.details},
        bags=bags,
        fold_weights=first.fold_weights,
        report=first.report,
    )


def _mean(values: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.asarray(np.mean(values, axis=0))


def _of_class(progress: Progress, place: int, n_classes: int) -> Progress:
    """Return what counts the folds of one class among those of all."""
    return lambda done, total: progress(place * total + done, n_classes * total)
