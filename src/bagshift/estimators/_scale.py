# SPDX-License-Identifier: BSD-3-Clause
"""Notice when source and target features are on different scales."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bagshift.exceptions import SourceScaleWarning, warn_caller

Floats = NDArray[np.float64]

# Real domains differ by shifts of a few standard deviations; a forgotten scaler by factors.
_LARGEST_RATIO = 10.0
_LARGEST_SHIFT = 5.0
# Rows or entries of which a copy is made at a time; one of all takes as much memory as they do.
_ROWS_AT_A_TIME, _ENTRIES_AT_A_TIME = 4096, 1 << 17


def warn_if_scales_differ(X_source: Any, X_target: Any) -> None:
    """Warn when the two domains look as if only one of them went through a scaler.

    A step before an estimator in a Pipeline transforms X but not ``source``; the median column
    then differs by its spread (more than tenfold) or by its centre (more than five standard
    deviations).

    Parameters
    ----------
    X_source, X_target : ndarray or sparse matrix of shape (n_rows, n_features)
        Features of the two domains.

    Warns
    -----
    SourceScaleWarning
        Naming the usual cause and its cure.
    """
    if not _scales_differ(X_source, X_target):
        return
    warn_caller(
        "Source and target features are on different scales, as happens when a Pipeline step "
        "transforms X but not source; stack both domains first: "
        "Xa, ya = stack_domains(source=(X_source, y_source), target=(X, bags)).",
        SourceScaleWarning,
    )


def _scales_differ(X_source: Any, X_target: Any) -> bool:
    if min(X_source.shape[0], X_target.shape[0]) < 2:
        return False
    X_source, X_target = (np.asarray(X) if _is_frame(X) else X for X in (X_source, X_target))
    if not all(X.dtype.kind in "biuf" for X in (X_source, X_target)):
        return False
    if sparse.issparse(X_source) or sparse.issparse(X_target):
        source, target = _typical_entry(X_source), _typical_entry(X_target)
        return source > 0 and target > 0 and _ratio(source, target) > _LARGEST_RATIO
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused later
        center_source, spread_source = centres_and_spreads(X_source)
        center_target, spread_target = centres_and_spreads(X_target)
    if not np.all(np.isfinite(spread_source) & np.isfinite(spread_target)):
        return False
    varies = (spread_source > 0) & (spread_target > 0)
    if not np.any(varies):
        return False
    spread_source, spread_target = spread_source[varies], spread_target[varies]
    shift = np.abs(center_source - center_target)[varies]
    shift = shift / (spread_source + spread_target)
    ratio = np.maximum(spread_source / spread_target, spread_target / spread_source)
    return _median_exceeds(ratio, _LARGEST_RATIO) or _median_exceeds(shift, _LARGEST_SHIFT)


def centres_and_spreads(X: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of every column, in one pass over the rows.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)

    Returns
    -------
    centres, spreads : ndarray of shape (n_features,)
    """
    n_rows = len(X)
    if n_rows <= _ROWS_AT_A_TIME:
        return X.mean(axis=0), X.std(axis=0)
    # Squares are of differences from a mean of some rows: those of columns far from zero would
    # lose the spread to rounding.
    nearly = X[:_ROWS_AT_A_TIME].mean(axis=0, dtype=np.float64)
    total, squares = np.zeros_like(nearly), np.zeros_like(nearly)
    for start in range(0, n_rows, _ROWS_AT_A_TIME):
        rows = X[start : start + _ROWS_AT_A_TIME] - nearly
        total += rows.sum(axis=0)
        squares += (rows * rows).sum(axis=0)
    moved = total / n_rows
    return nearly + moved, np.sqrt(np.maximum(squares / n_rows - moved**2, 0.0))


def _median_exceeds(values: Floats, limit: float) -> bool:
    return bool(values.max() > limit and np.median(values) > limit)  # mostly none does


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns")


def _typical_entry(X: Any) -> float:
    """Return the mean absolute value of the entries that are not zero."""
    values = X.data if sparse.issparse(X) else X[X != 0]
    starts = range(0, values.size, _ENTRIES_AT_A_TIME)
    total = sum(float(np.abs(values[i : i + _ENTRIES_AT_A_TIME]).sum()) for i in starts)
    return total / values.size if values.size else 0.0


def _ratio(first: float, second: float) -> float:
    return max(first / second, second / first)
