# SPDX-License-Identifier: BSD-3-Clause
"""From scores on held-out bags to a choice, and to the tables that show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from bagshift.model_selection._search_engine import FoldScores

Floats = NDArray[np.float64]

# Parameters that make a machine more regular, the most telling first, and the sign by which the
# smallest value is the most regular one.
_REGULARITY = (("C_target", 1), ("C", 1), ("coupling", -1), ("C_source", 1), ("gamma", 1))


@dataclass(frozen=True)
class SearchResult:
    """What :func:`path_search` found.

    Attributes
    ----------
    best_params : dict
        The chosen parameters, as ``estimator.set_params`` takes them.
    best_estimator : estimator
        The estimator with these parameters, fitted on everything.
    best_score : float
        Its score: the mean over folds of the criterion (by the mean weight of their bags, where
        the criterion heeds these); for TGPLM and its relatives
        1 - share error - 1e-6 * soft share error.
    best_index : int
        Its place in `table` and in the arrays of `cv_results`.
    table : list of dict
        One entry per setting, in the order of ``ParameterGrid``: "params", "score" (as above),
        what else was measured on held-out bags (means over folds; for TGPLM and its relatives
        "share_error" and "soft_share_error"), and "converged", whether the solver reached its
        tolerance in every fold.
    cv : str
        How bags were held out.
    cv_results : dict of str to array
        The same and the score of every fold, in the format of ``GridSearchCV.cv_results_``:
        "params", "param_<name>", "split<i>_test_score", "mean_test_score", "std_test_score",
        "rank_test_score", "mean_<measure>" and "converged".
    n_splits : int
        Number of folds.
    report : dict
        What the settings were compared on: numbers of source rows, target rows and bags, and for
        TGPLM and its relatives the solver and the number of components of a map.
    """

    best_params: dict[str, Any]
    best_estimator: Any
    best_score: float
    best_index: int
    table: list[dict[str, Any]] = field(repr=False)
    cv: str
    cv_results: dict[str, Any] = field(repr=False)
    n_splits: int
    report: dict[str, Any] = field(default_factory=dict)


def choose(
    found: FoldScores, settings: list[Mapping[str, Any]], *, one_standard_error: bool
) -> int:
    """Return the number of the chosen setting.

    Parameters
    ----------
    found : FoldScores
        Scores on held-out bags.
    settings : list of mapping
        The parameters of the machine in every setting, all of them.
    one_standard_error : bool
        Whether to take the most regular of those that are not clearly worse than the best.

    Returns
    -------
    int
        The first of equals.
    """
    means = found.means
    best = int(np.argmax(means))
    if not one_standard_error:
        return best
    within = np.flatnonzero(means[best] - means <= standard_errors_to(found, best))
    return min(within, key=lambda i: (*_regularity(settings[i]), -means[i], i)).item()


def standard_errors_to(found: FoldScores, best: int) -> Floats:
    """Return the standard error of every setting's distance to the best one.

    Differences are paired: the bags, or else the folds, are the same for both.

    Parameters
    ----------
    found : FoldScores
        Scores on held-out bags.
    best : int
        Number of the setting compared with.

    Returns
    -------
    ndarray of shape (n_settings,)
    """
    if found.bags is None:
        values, weights = found.scores, np.ones(found.scores.shape[1])
    else:
        held_out = ~np.isnan(found.bags.values[best])
        values, weights = found.bags.values[:, held_out], found.bags.weights[held_out]
    n = len(weights)
    if n < 2 or not weights.sum() > 0:
        return np.zeros(len(values))
    weights = weights / weights.sum()
    differences = values[best] - values
    deviations = differences - (differences @ weights)[:, None]
    return np.asarray(np.sqrt(n / (n - 1) * (deviations**2 @ weights**2)))


def _regularity(setting: Mapping[str, Any]) -> tuple[float, ...]:
    """Return what is smaller for a more regular machine; names such as "scale" come last."""
    return tuple(
        sign * setting[name] if isinstance(setting[name], Real) else np.inf
        for name, sign in _REGULARITY
        if name in setting
    )


def table_of(params: list[dict[str, Any]], found: FoldScores) -> list[dict[str, Any]]:
    """Return one entry per setting: parameters, mean score, means of the details, convergence.

    Parameters
    ----------
    params : list of dict
        What each setting sets.
    found : FoldScores
        Scores on held-out bags.

    Returns
    -------
    list of dict
    """
    means = {name: values.mean(axis=1) for name, values in found.details.items()}
    means = {"score": found.means, **means}
    return [
        {
            "params": setting,
            **{name: float(values[i]) for name, values in means.items()},
            "converged": bool(found.converged[i].all()),
        }
        for i, setting in enumerate(params)
    ]


def cv_results_of(params: list[dict[str, Any]], found: FoldScores) -> dict[str, Any]:
    """Return the scores in the format of ``GridSearchCV.cv_results_``.

    Parameters
    ----------
    params : list of dict
        What each setting sets.
    found : FoldScores
        Scores on held-out bags.

    Returns
    -------
    dict of str to array, and the list "params"
    """
    scores = found.scores
    results: dict[str, Any] = {
        f"param_{name}": _column(params, name)
        for name in sorted({name for setting in params for name in setting})
    }
    results["params"] = params
    results |= {f"split{k}_test_score": column.copy() for k, column in enumerate(scores.T)}
    results["mean_test_score"] = found.means
    results["std_test_score"] = found.deviations
    ranks = rankdata(-results["mean_test_score"], method="min")
    results["rank_test_score"] = ranks.astype(np.int32)
    results |= {f"mean_{name}": values.mean(axis=1) for name, values in found.details.items()}
    results["converged"] = found.converged.all(axis=1)
    return results


def _column(params: list[dict[str, Any]], name: str) -> Any:
    """Return the values of a parameter, masked in settings that do not name it."""
    values = [setting.get(name) for setting in params]
    mask = [name not in setting for setting in params]
    kinds = {type(v) for v, absent in zip(values, mask, strict=True) if not absent}
    dtype = kinds.pop() if kinds in ({int}, {float}, {bool}) else object
    data = np.zeros(len(values), dtype=dtype)
    for i, value in enumerate(values):
        if not mask[i]:
            data[i] = value
    return np.ma.MaskedArray(data, mask=mask)
