# SPDX-License-Identifier: BSD-3-Clause
"""What every held-out bag makes of the history, along the coupling.

The formulas stand with :func:`bagshift.inspection.transfer_report`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from bagshift.estimators._base import log_odds
from bagshift.estimators._count_units import bag_counts, count_units
from bagshift.estimators._training import TrainingData
from bagshift.inspection._interval import Interval
from bagshift.model_selection._count_engine import CountEngine, make_block, solve_fold
from bagshift.model_selection._folds import BagFold
from bagshift.model_selection._parallel import seed_of
from bagshift.model_selection._search_engine import SearchEngine
from bagshift.model_selection.scorers import bag_errors_of, combine_errors
from bagshift.solvers.count_likelihood import count_posterior

__all__ = ["TransferPoint"]

Floats = NDArray[np.float64]

TEMPERATURES = (1.0, 0.8, 0.6, 0.45, 0.35, 0.25, 0.18, 0.12, 0.08, 0.04, 0.0)


@dataclass(frozen=True)
class TransferPoint:
    """What held-out bags say of one strength of the coupling.

    Attributes
    ----------
    coupling : float
        0 for no transfer, infinity for one machine for both domains.
    score : float
        Mean criterion of a held-out bag, greater is better.
    vote : Interval
        Mean vote of a bag for this coupling and against none, between -1 and 1.
    """

    coupling: float
    score: float
    vote: Interval


def held_out_scores(
    engine: SearchEngine,
    machines: list[Any],
    given: TrainingData,
    folds: list[BagFold],
    n_jobs: int | None,
) -> Floats:
    """Return the criterion of machines on every held-out bag.

    Where a machine compares starts, that one is taken for a bag which the other bags prefer.

    Parameters
    ----------
    engine : SearchEngine
    machines : list of estimators
        Unfitted, with one kernel.
    given : TrainingData
    folds : list of BagFold
    n_jobs : int or None

    Returns
    -------
    ndarray of shape (n_machines, n_temperatures, n_bags)
        First with scores as they are; of the count machine also with scores times each of the
        other `TEMPERATURES`. NaN for bags that no fold holds out.
    """
    if not isinstance(engine, CountEngine):
        found = engine.cross_validate(machines, given, folds, n_jobs=n_jobs)
        assert found.bags is not None
        return found.bags.values[:, None, :]
    tried = [_starts_of(machine, given) for machine in machines]
    values = _tempered([each for some in tried for each in some], given, folds, n_jobs)
    ends = np.cumsum([len(some) for some in tried])
    return np.stack(
        [
            _chosen_by_others(values[end - len(some) : end])
            for end, some in zip(ends, tried, strict=True)
        ]
    )


def _tempered(
    machines: list[Any], given: TrainingData, folds: list[BagFold], n_jobs: int | None
) -> Floats:
    """Return log-likelihoods of held-out bags; shape (n_machines, n_temperatures, n_bags)."""
    units = count_units(given, warn=False)
    block = make_block(machines, given, units, seed_of(machines[0].random_state))
    total = np.zeros((len(machines), len(TEMPERATURES), given.bags.n_bags))
    times = np.zeros(given.bags.n_bags)
    run = Parallel(n_jobs=n_jobs, prefer="threads")
    for fold, values in zip(folds, run(delayed(_run_fold)(block, f) for f in folds), strict=True):
        total[:, :, fold.test_bags] += values
        times[fold.test_bags] += 1
    return np.asarray(np.where(times > 0, total / np.maximum(times, 1), np.nan))


def _run_fold(block: Any, fold: BagFold) -> Floats:
    tested = np.asarray(fold.test_bags)
    counts = block.units.counts.take(tested)
    rows = block.target_features[block.units.counts.rows_of(tested)]
    values = np.empty((len(block.machines), len(TEMPERATURES), len(tested)))
    for setting, result in solve_fold(block, fold):
        machines = result.machines
        scores = rows @ machines.target_weights + machines.target_intercept
        for i, temperature in enumerate(TEMPERATURES):
            values[setting, i] = count_posterior(temperature * scores, counts).log_likelihood
    return values


def _chosen_by_others(values: Floats) -> Floats:
    """Return for every bag its values under the start that the other bags prefer.

    The best start by all bags would flatter machines whose starts end far apart.
    """
    plain = np.where(np.isfinite(values[:, 0]), values[:, 0], 0.0)
    best = np.argmax(plain.sum(axis=1, keepdims=True) - plain, axis=0)
    return np.asarray(values[best, :, np.arange(values.shape[2])].T)


def at_best_temperature(values: Floats) -> Floats:
    """Return the criterion at the temperature that all bags together prefer.

    Parameters
    ----------
    values : ndarray of shape (n_temperatures, n_bags)

    Returns
    -------
    ndarray of shape (n_bags,)
    """
    return np.asarray(values[int(np.argmax(np.nansum(values, axis=1)))])


def _starts_of(machine: Any, given: TrainingData) -> list[Any]:
    """Return a machine with each of the starts that it compares by itself.

    A path from the source machine may end, without any coupling, in the minimum where the source
    points, and that of a flipped source is the mirror image of the right one.
    """
    if getattr(machine, "start", None) != "auto" or not given.n_source:
        return [machine]
    starts = ("source", "inverse_calibration")
    return [clone(machine).set_params(start=start) for start in starts]


def fit_source(machine: Any, given: TrainingData) -> Any:
    """Return the machine of the source alone: the same one, trained on its labels."""
    alone = clone(machine).set_params(C_target=machine.C_source)
    labels = given.classes[(given.source_signs > 0).astype(np.intp)]
    return alone.fit(given.X_source, labels, sample_weight=given.source_weight)


def scores_of_fitted(engine: SearchEngine, model: Any, given: TrainingData) -> Floats:
    """Return the criterion of a machine that has seen no bag, on every bag.

    Parameters
    ----------
    engine : SearchEngine
        Whose criterion it is.
    model : estimator
    given : TrainingData

    Returns
    -------
    ndarray of shape (n_bags,)
    """
    scores = model.decision_function(given.X_target)
    if not isinstance(engine, CountEngine):
        errors = bag_errors_of(given.bags, scores, model, flipped=given.is_flipped)
        return np.asarray(combine_errors(*errors))
    rows, counts = bag_counts(given.bags, warn=False)
    towards = log_odds(model, -scores if given.is_flipped else scores)
    return count_posterior(towards[rows], counts).log_likelihood


def vote_of(engine: SearchEngine, scores: Floats, without: Floats, level: float) -> Interval:
    """Return the mean vote of bags for one machine and against another.

    Parameters
    ----------
    engine : SearchEngine
        Whose criterion the scores are.
    scores, without : ndarray of shape (n_bags,)
        Of the two machines on held-out bags.
    level : float

    Returns
    -------
    Interval
        From -1 to 1 with so few bags that chance alone makes them agree too often.
    """
    difference = scores - without
    difference = difference[np.isfinite(difference)]
    votes = np.tanh(0.5 * difference) if isinstance(engine, CountEngine) else difference
    n = len(votes)
    if n < fewest_bags(level):
        return Interval(float(votes.mean()) if n else 0.0, -1.0, 1.0, level)
    mean, deviation = float(votes.mean()), float(votes.std(ddof=1))
    reach = float(student.ppf(0.5 + 0.5 * level, n - 1)) * deviation / np.sqrt(n)
    return Interval(mean, max(-1.0, mean - reach), min(1.0, mean + reach), level)


def fewest_bags(level: float) -> int:
    """Return how many bags must agree for it not to be chance.

    The votes of so many bags are all of one sign in less than one in 1 / (1 - level) cases when
    nothing speaks for either.

    Examples
    --------
    >>> fewest_bags(0.9), fewest_bags(0.95)
    (5, 6)
    """
    return max(2, int(np.ceil(1.0 - np.log2(1.0 - level) - 1e-9)))
