# SPDX-License-Identifier: BSD-3-Clause
"""The features on which a kernel machine is linear: the columns, or a low-rank map of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from bagshift.estimators._training import TrainingData
from bagshift.kernels import FourierMap, Kernel, LowRankMap, fourier_map, low_rank_map
from bagshift.solvers._scored_rows import largest_entry

Floats = NDArray[np.float64]

# One column whose spread is this many times that of the middle one would drown the others.
_UNEVEN = 100.0
# Columns that lie so many variances apart, by their centres, would drown what varies in them.
_APART = 9.0
# Products of larger or smaller features leave the range of numbers.
_LARGEST, _SMALLEST = 1e100, 1e-30
# Rows of which a copy is made at a time; one of all of them would take as much memory as they do.
_ROWS_AT_A_TIME = 4096
_TOO_LARGE = "Some features are so large that their squares are not finite; scale them."
_TOO_SMALL = "All features are so small that their squares vanish; scale them."


@dataclass(frozen=True, eq=False)
class ColumnScale:
    """Centre and spread of every column.

    Attributes
    ----------
    center, scale : ndarray of shape (n_features,)
    """

    center: Floats
    scale: Floats

    def apply(self, X: Any) -> Any:
        """Return centred and scaled rows; dense, of the precision of `X`."""
        rows = X.toarray() if sparse.issparse(X) else X
        return ((rows - self.center) / self.scale).astype(rows.dtype, copy=False)


def column_scale(data: TrainingData, rule: bool | str) -> ColumnScale | None:
    """Return how to standardise the columns of both domains together, or None.

    Parameters
    ----------
    data : TrainingData
    rule : {True, False, "auto"}
        "auto" standardises dense rows where the largest standard deviation of a column is more
        than a hundred times the middle one: then one column decides every distance by its unit
        alone. Likewise where the columns' centres differ by more than three standard
        deviations: then the width of an RBF kernel sees the centres only.

    Returns
    -------
    ColumnScale or None

    Raises
    ------
    ValueError
        When features are too large or too small to be squared.
    """
    parts = [X for X in (data.X_source, data.X_target) if X is not None]
    if 0.0 < max(largest_entry(X) for X in parts) < _SMALLEST:
        raise ValueError(_TOO_SMALL)
    if rule is False or any(sparse.issparse(X) for X in parts):
        return None
    weight = data.row_weight / data.row_weight.sum()
    halves = np.split(weight, [data.n_source]) if len(parts) == 2 else [weight]
    with np.errstate(over="ignore", invalid="ignore"):
        center = sum(
            w @ rows.astype(np.float64, copy=False) for w, rows in _weighted(halves, parts)
        )
        variance = sum(w @ (rows - center) ** 2 for w, rows in _weighted(halves, parts))
    return scale_from(np.asarray(center), np.asarray(variance), rule)


def scale_from(center: Floats, variance: Floats, rule: bool | str) -> ColumnScale | None:
    """Return how to standardise columns of which centre and variance are known, or None.

    Parameters
    ----------
    center, variance : ndarray of shape (n_features,)
    rule : {True, False, "auto"}
        As `column_scale` has it.

    Returns
    -------
    ColumnScale or None

    Raises
    ------
    ValueError
        When features are too large to be squared.
    """
    if not np.all(np.isfinite(variance)):
        raise ValueError(_TOO_LARGE)
    spread = np.sqrt(variance)
    varies = spread > 1e-12 * np.abs(center)
    is_apart = np.var(center) > _APART * np.mean(variance)
    if rule == "auto" and not is_apart and not _is_uneven(spread[varies]):
        return None
    return ColumnScale(np.asarray(center), np.where(varies, spread, 1.0))


def _weighted(weights: list[Floats], parts: list[Any]) -> Iterator[tuple[Floats, Any]]:
    """Go over the rows of all parts and their weights, some at a time."""
    for w, X in zip(weights, parts, strict=True):
        for start in range(0, len(w), _ROWS_AT_A_TIME):
            some = slice(start, start + _ROWS_AT_A_TIME)
            yield w[some], X[some]


def _is_uneven(spread: Floats) -> bool:
    if len(spread) < 2:
        return False
    middle = np.sort(spread)[(len(spread) - 1) // 2]
    return bool(spread.max() > _UNEVEN * middle)


def standardize(data: TrainingData, scale: ColumnScale | None) -> TrainingData:
    """Return training data with standardised columns."""
    if scale is None:
        return data
    X_source = None if data.X_source is None else scale.apply(data.X_source)
    return replace(data, X_source=X_source, X_target=scale.apply(data.X_target))


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """The features of a kernel, on which its machines are linear.

    Attributes
    ----------
    kernel : Kernel
    feature_map : LowRankMap, FourierMap or None
        None for the linear kernel, whose features are the columns themselves.
    """

    kernel: Kernel
    feature_map: LowRankMap | FourierMap | None

    def transform(self, X: Any, dtype: DTypeLike = np.float64) -> Any:
        """Return the features of (standardised) rows, dense or CSR, as numbers of a type."""
        if self.feature_map is not None:
            return self.feature_map.transform(X, dtype)
        return X.astype(dtype, copy=False)


def feature_space(
    kernel: Kernel,
    data: TrainingData,
    *,
    n_components: int | None,
    feature_map: str = "nystroem",
    smallest: float = 1e-12,
    random_state: Any,
) -> FeatureSpace:
    """Return the features of a kernel on training data.

    Parameters
    ----------
    kernel : Kernel
    data : TrainingData
        Standardised already.
    n_components : int or None
        Landmarks, as in :func:`bagshift.kernels.low_rank_map`, or Fourier features.
    feature_map : {"nystroem", "fourier"}, default="nystroem"
    smallest : float, default=1e-12
        Likewise.
    random_state : int or RandomState

    Returns
    -------
    FeatureSpace

    Raises
    ------
    KernelMemoryError
        When the kernel matrix of the landmarks does not fit into memory.
    ValueError
        When features are too large to be multiplied, or the map does not fit the kernel.
    """
    if kernel.name == "linear":
        parts = [X for X in (data.X_source, data.X_target) if X is not None]
        if max(largest_entry(X) for X in parts) > _LARGEST:
            raise ValueError(_TOO_LARGE)
        return FeatureSpace(kernel, None)
    if feature_map == "fourier":
        return FeatureSpace(kernel, _fourier(kernel, data, n_components, random_state))
    return FeatureSpace(
        kernel,
        low_rank_map(
            kernel,
            data.X_source,
            data.X_target,
            n_landmarks=n_components,
            smallest=smallest,
            random_state=random_state,
        ),
    )


def _fourier(
    kernel: Kernel, data: TrainingData, n_components: int | None, random_state: Any
) -> FourierMap:
    if n_components is None:
        raise ValueError(
            'n_components=None takes all rows as landmarks, which feature_map="fourier" does not '
            "have: give a number."
        )
    n_columns = int(data.X_target.shape[1])
    return fourier_map(kernel, n_columns, n_components=n_components, random_state=random_state)
