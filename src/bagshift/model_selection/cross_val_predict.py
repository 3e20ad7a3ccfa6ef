# SPDX-License-Identifier: BSD-3-Clause
"""Scores of rows by models that have not seen the share of their bag."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.parallel import Parallel, delayed

from bagshift.bags import Bags
from bagshift.estimators._base import last_step
from bagshift.model_selection._folds import bag_splits, resolve_cv, single_bag_cv

Rows = NDArray[np.int64]

_METHODS = ("decision_function", "predict_proba", "predict")
# Kernels computed in single precision are symmetric to this fraction of their largest entry.
_ASYMMETRY = 1e-5


def bag_cross_val_predict(
    estimator: Any,
    X: Any,
    y: Bags,
    *,
    source: tuple[Any, ...] | None = None,
    cv: Any = None,
    method: str = "decision_function",
    n_jobs: int | None = None,
) -> NDArray[Any]:
    """Return out-of-bag predictions: every row by a model that held out the row's bag.

    Parameters
    ----------
    estimator : classifier
        Any machine of this package, or a Pipeline that ends in one; it is cloned, not changed.
    X : array-like of shape (n_rows, n_features)
        Target rows; source rows too when `y` comes from :func:`~bagshift.stack_domains`. Of a
        precomputed kernel the columns are split with the rows; they are the rows of `X`, after
        those of `source` when that is given. A Pipeline that ends in such a machine gets that
        matrix, which is symmetric, or features that its steps make the kernel from.
    y : Bags of length n_rows
        The bag of every row.
    source : tuple (X, y) or (X, y, sample_weight), default=None
        Labelled source rows, given to every fit whole.
    cv : splitter, int or iterable of (train, test), default=None
        How bags are held out; ``BagKFold(10, shuffle=True, random_state=0)`` when None, or
        :class:`~bagshift.model_selection.LeaveOneBagOut` when there are fewer than ten bags. A
        number is that of the folds. Rows in no bag (source rows too) must be in every training
        set.
    method : {"decision_function", "predict_proba", "predict"}, default="decision_function"
        What to call on the held-out rows.
    n_jobs : int or None, default=None
        Folds fitted at the same time, as in joblib.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_classes)
        In the order of `X`. Rows in no held-out bag (source rows, unlabelled rows, rows with a
        known label, and bags that `cv` never holds out) are NaN. Rows held out more than once
        get the mean of their predictions. Labels of ``method="predict"`` keep their type when
        every row is held out; else numbers become float64 with NaN for the other rows, as
        scikit-learn's metrics can read, and labels that float64 cannot hold exactly (strings,
        whole numbers beyond 2**53) become objects with None.

    Raises
    ------
    TypeError
        If `y` is not a :class:`~bagshift.Bags`, or `cv` is of another kind.
    ValueError
        If `method` is unknown, if ``method="predict"`` meets a row held out twice, if `source`
        is given to a Pipeline, whose steps would not transform it, if a precomputed kernel has
        not one column for each row, or if a fold tests on rows in no bag or does not train on
        them.
    BagError
        If there are too few bags, or a fold cuts one or trains on one that it holds out.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, InverseCalibrationSVM
    >>> from bagshift.model_selection import LeaveOneBagOut, bag_cross_val_predict
    >>> X = np.array([[-3.0], [-2.0], [-1.0], [1.0], [-0.5], [1.5], [3.0], [4.0], [0.0]])
    >>> ids = ["a", "a", "b", "b", "c", "c", "d", "d", Bags.NO_BAG]
    >>> bags = Bags.from_arrays(ids, {"a": 0.0, "b": 0.5, "c": 0.5, "d": 1.0})
    >>> machine = InverseCalibrationSVM(kernel="linear")
    >>> scores = bag_cross_val_predict(machine, X, bags, cv=LeaveOneBagOut())
    >>> scores[:8] > 0
    array([False, False, False,  True, False,  True,  True,  True])
    >>> bool(np.isnan(scores[8]))
    True
    """
    if method not in _METHODS:
        raise ValueError(f"method must be one of {list(_METHODS)}; got {method!r}.")
    require_fit_arguments(estimator, y, source)
    splits = bag_splits(resolve_cv(cv, single_bag_cv(y)), X, y)
    X_is_kernel = _is_kernel(estimator, X)
    if X_is_kernel:
        _check_kernel_columns(X, source)
    predictions = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_predict)(estimator, X, y, source, train, test, method, X_is_kernel)
        for train, test in splits
    )
    return _gather([test for _, test in splits], predictions, len(y), method)


def require_fit_arguments(estimator: Any, y: Any, source: Any) -> None:
    """Refuse a `y` that is not a Bags, and a `source` that cannot be given to the estimator.

    Parameters
    ----------
    estimator : classifier
    y : object
    source : object

    Raises
    ------
    TypeError
        If `y` is not a :class:`~bagshift.Bags`.
    ValueError
        If `source` is no tuple of two or three, or is given to a Pipeline.
    """
    if not isinstance(y, Bags):
        raise TypeError(
            f"y must be a Bags, got {type(y).__name__}; make one with Bags.from_arrays."
        )
    if source is not None and not (isinstance(source, tuple) and len(source) in (2, 3)):
        raise ValueError(
            "source must be a tuple (X, y) or (X, y, sample_weight) of labelled rows."
        )
    if source is not None and isinstance(estimator, Pipeline):
        raise ValueError(
            "source cannot be given to a Pipeline, whose steps would leave it untransformed; put "
            "both domains into X and y with stack_domains."
        )


# Precomputed kernels -----------------------------------------------------------------------


def _is_kernel(estimator: Any, X: Any) -> bool:
    """Say whether `X` is a kernel matrix, whose columns are rows and are split with them."""
    if get_tags(estimator).input_tags.pairwise:
        return True
    # The steps of a Pipeline may make the kernel from features; else X is that kernel itself.
    ends_in_kernel = (
        isinstance(estimator, Pipeline) and get_tags(last_step(estimator)).input_tags.pairwise
    )
    return ends_in_kernel and _is_symmetric(X)


def _is_symmetric(X: Any) -> bool:
    matrix = X if issparse(X) else np.asarray(X)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        return False
    return bool(abs(matrix - matrix.T).max() <= _ASYMMETRY * abs(matrix).max())


def _check_kernel_columns(X: Any, source: Any) -> None:
    parts = [X] if source is None else [source[0], X]
    n_rows = sum(np.shape(part)[0] for part in parts)
    for part in parts:
        if np.shape(part)[1] != n_rows:
            raise ValueError(
                f"a precomputed kernel needs one column for each of the {n_rows:,} rows, source "
                f"rows first, but has {np.shape(part)[1]:,} columns; put both domains into X and "
                "y with stack_domains if their rows are mixed."
            )


def _kernel_columns(source: Any, train: Rows) -> Rows:
    """Return the columns of the rows trained on: all of the source, and `train` after them."""
    n_source = 0 if source is None else np.shape(source[0])[0]
    return np.concatenate([np.arange(n_source), n_source + train])


def _take_columns(X: Any, columns: Rows) -> Any:
    return _safe_indexing(X if hasattr(X, "shape") else np.asarray(X), columns, axis=1)


# Folds -------------------------------------------------------------------------------------


def _fit_and_predict(
    estimator: Any,
    X: Any,
    y: Bags,
    source: tuple[Any, ...] | None,
    train: Rows,
    test: Rows,
    method: str,
    X_is_kernel: bool,
) -> NDArray[Any]:
    if X_is_kernel:
        columns = _kernel_columns(source, train)
        X = _take_columns(X, columns)
        if source is not None:
            source = (_take_columns(source[0], columns), *source[1:])
    fit_params = {} if source is None else {"source": source}
    model = clone(estimator).fit(_safe_indexing(X, train), y[train], **fit_params)
    return np.asarray(getattr(model, method)(_safe_indexing(X, test)))


def _gather(
    tests: list[NDArray[np.int64]], predictions: list[NDArray[Any]], n_rows: int, method: str
) -> NDArray[Any]:
    times_held_out = np.bincount(np.concatenate(tests), minlength=n_rows)
    if method == "predict":
        return _gather_labels(tests, predictions, times_held_out)
    total = np.zeros((n_rows, *predictions[0].shape[1:]))
    for test, values in zip(tests, predictions, strict=True):
        total[test] += values
    total[times_held_out == 0] = np.nan
    divisor = np.maximum(times_held_out, 1)
    return total / divisor.reshape(-1, *[1] * (total.ndim - 1))


def _gather_labels(
    tests: list[NDArray[np.int64]],
    predictions: list[NDArray[Any]],
    times_held_out: NDArray[np.int64],
) -> NDArray[Any]:
    if times_held_out.max() > 1:
        raise ValueError(
            'method="predict" needs a cv that holds out every bag at most once, as labels have '
            'no mean; use method="decision_function".'
        )
    rows, labels = np.concatenate(tests), np.concatenate(predictions)
    if times_held_out.all():
        gathered = np.empty(times_held_out.size, dtype=labels.dtype)
    elif _are_exact_floats(labels):
        gathered = np.full(times_held_out.size, np.nan)
    else:
        gathered = np.full(times_held_out.size, None)
    gathered[rows] = labels
    return gathered


def _are_exact_floats(labels: NDArray[Any]) -> bool:
    """Say whether labels are numbers that float64 tells apart; Python compares them exactly."""
    if labels.dtype.kind not in "biuf":
        return False
    return all(float(label) == label for label in np.unique(labels).tolist())
