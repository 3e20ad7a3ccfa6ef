# SPDX-License-Identifier: BSD-3-Clause
r"""How far two domains lie apart, as far as their columns show.

The *proxy A-distance* [1]_ is :math:`2 (1 - 2 \epsilon)` with :math:`\epsilon` the error, balanced
between the domains and on held-out rows, of a linear classifier that tells source from target
rows: 0 where they cannot be told apart, 2 where every row can. The *mean shift* of a column is the
difference of its means over the domains, in units of its standard deviation within them. Neither
sees a turn of the classes: rows may lie where they did and mean something else. That shows in how
often the machine of the source alone and the machine without transfer agree.

References
----------
.. [1] S. Ben-David, J. Blitzer, K. Crammer, F. Pereira. Analysis of representations for domain
   adaptation. Advances in Neural Information Processing Systems 19, 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils.sparsefuncs import mean_variance_axis

__all__ = ["DomainDistance", "domain_distance"]

# More rows would not change a distance that is told with two digits.
_MOST_ROWS = 2000
_N_FOLDS = 5


@dataclass(frozen=True)
class DomainDistance:
    """Distances between source and target.

    Attributes
    ----------
    proxy_a_distance : float
        From 0, rows of the domains cannot be told apart by a linear classifier, to 2.
    mean_shift : float
        Root mean square over columns of the difference of means, in standard deviations.
    largest_shift : float
        The largest of them.
    most_shifted : int or None
        The number of that column.
    agreement : float
        Share of target rows that the machine of the source alone and the machine without transfer
        label alike.
    """

    proxy_a_distance: float
    mean_shift: float
    largest_shift: float
    most_shifted: int | None
    agreement: float


def domain_distance(
    X_source: Any, X_target: Any, agreement: float, random: np.random.RandomState
) -> DomainDistance:
    """Measure how far two domains lie apart.

    Parameters
    ----------
    X_source, X_target : matrix of shape (n_source, n_features), (n_target, n_features)
    agreement : float
        Share of target rows that machines of the two domains label alike.
    random : RandomState
        For the sample of rows, where there are many, and the folds.

    Returns
    -------
    DomainDistance
    """
    shifts = _mean_shifts(X_source, X_target)
    most = int(np.argmax(np.abs(shifts))) if shifts.any() else None
    return DomainDistance(
        proxy_a_distance=_proxy_a_distance(
            _sample(X_source, random), _sample(X_target, random), random
        ),
        mean_shift=float(np.sqrt(np.mean(shifts**2))),
        largest_shift=float(np.abs(shifts).max()),
        most_shifted=most,
        agreement=agreement,
    )


def _mean_shifts(X_source: Any, X_target: Any) -> NDArray[np.float64]:
    """Return differences of means in pooled standard deviations; 0 in constant columns."""
    means, variances = zip(*(_moments(X) for X in (X_source, X_target)), strict=True)
    spread = np.sqrt(0.5 * (variances[0] + variances[1]))
    difference = means[1] - means[0]
    shifts: NDArray[np.float64] = np.zeros_like(difference)
    np.divide(difference, spread, out=shifts, where=spread > 0.0)
    return shifts


def _moments(X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(X.tocsr(), axis=0)
        return mean.astype(np.float64), variance.astype(np.float64)
    dense = np.asarray(X, dtype=np.float64)
    return dense.mean(axis=0), dense.var(axis=0)


def _sample(X: Any, random: np.random.RandomState) -> Any:
    if X.shape[0] <= _MOST_ROWS:
        return X
    return X[np.sort(random.permutation(X.shape[0])[:_MOST_ROWS])]


def _proxy_a_distance(X_source: Any, X_target: Any, random: np.random.RandomState) -> float:
    n_folds = min(_N_FOLDS, X_source.shape[0], X_target.shape[0])
    if n_folds < 2:
        return np.nan
    is_sparse = sparse.issparse(X_source)
    X: Any = (sparse.vstack if is_sparse else np.concatenate)([X_source, X_target])
    is_target = np.repeat([0, 1], [X_source.shape[0], X_target.shape[0]])
    scaler = MaxAbsScaler() if is_sparse else StandardScaler()
    telling = make_pipeline(scaler, LogisticRegression(class_weight="balanced", max_iter=1000))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=random)
    right = cross_val_score(telling, X, is_target, cv=folds, scoring="balanced_accuracy").mean()
    return float(max(0.0, 2.0 * (2.0 * right - 1.0)))
