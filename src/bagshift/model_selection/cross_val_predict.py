# SPDX-License-Identifier: BSD-3-Clause
"""Scores of rows by models that have not seen the share of their bag."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from bagshift.bags import Bags
from bagshift.exceptions import BagError
from bagshift.model_selection.splitters import BagKFold, LeaveOneBagOut, RepeatedBagKFold

_METHODS = ("decision_function", "predict_proba", "predict")


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
        Target rows; source rows too when `y` comes from :func:`~bagshift.stack_domains`.
    y : Bags of length n_rows
        The bag of every row.
    source : tuple (X, y) or (X, y, sample_weight), default=None
        Labelled source rows, given to every fit unchanged.
    cv : splitter, default=None
        How bags are held out; ``BagKFold(10, shuffle=True, random_state=0)`` when None, or
        :class:`~bagshift.model_selection.LeaveOneBagOut` when there are fewer than ten bags.
    method : {"decision_function", "predict_proba", "predict"}, default="decision_function"
        What to call on the held-out rows.
    n_jobs : int or None, default=None
        Folds fitted at the same time, as in joblib.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_classes)
        In the order of `X`. Rows in no held-out bag (source rows, unlabelled rows, rows with a
        known label, and bags that `cv` never holds out) are NaN; ``method="predict"`` with
        labels that are not numbers gives an object array with None there. Rows held out more
        than once get the mean of their predictions.

    Raises
    ------
    TypeError
        If `y` is not a :class:`~bagshift.Bags`.
    ValueError
        If `method` is unknown, if ``method="predict"`` meets a row held out twice, or if
        `source` is given to a Pipeline, whose steps would not transform it.
    BagError
        If there are too few bags or one was cut.

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
    splitter = single_bag_cv(y) if cv is None else cv
    folds = list(splitter.split(X, y))
    predictions = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_predict)(estimator, X, y, source, train, test, method)
        for train, test in folds
    )
    return _gather([test for _, test in folds], predictions, len(y), method)


def require_fit_arguments(estimator: Any, y: Any, source: Any) -> None:
    """Refuse a `y` that is not a Bags, and a `source` that a Pipeline could not transform.

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
        If `estimator` is a Pipeline and `source` is given.
    """
    if not isinstance(y, Bags):
        raise TypeError(
            f"y must be a Bags, got {type(y).__name__}; make one with Bags.from_arrays."
        )
    if source is not None and isinstance(estimator, Pipeline):
        raise ValueError(
            "source cannot be given to a Pipeline, whose steps would leave it untransformed; put "
            "both domains into X and y with stack_domains."
        )


def single_bag_cv(bags: Bags) -> BagKFold | LeaveOneBagOut:
    """Return a splitter that holds out every bag once.

    Parameters
    ----------
    bags : Bags

    Returns
    -------
    BagKFold or LeaveOneBagOut
        Ten shuffled folds with a fixed seed; leave-one-bag-out below ten bags.
    """
    if bags.n_bags < 10:
        return LeaveOneBagOut()
    return BagKFold(10, shuffle=True, random_state=0)


def default_bag_cv(bags: Bags) -> BagKFold | LeaveOneBagOut | RepeatedBagKFold:
    """Return the splitter by which parameters are chosen unless told otherwise.

    Parameters
    ----------
    bags : Bags

    Returns
    -------
    splitter
        Ten shuffled folds with a fixed seed, three times over below thirty bags;
        leave-one-bag-out below ten.
    """
    if 10 <= bags.n_bags < 30:
        return RepeatedBagKFold(10, n_repeats=3, random_state=0)
    return single_bag_cv(bags)


def _fit_and_predict(
    estimator: Any,
    X: Any,
    y: Bags,
    source: tuple[Any, ...] | None,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    method: str,
) -> NDArray[Any]:
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
    if rows.size == 0:
        raise BagError("cv held out no bag.")
    is_number = np.issubdtype(labels.dtype, np.number) or labels.dtype == bool
    missing = np.nan if is_number else None
    gathered = np.full(times_held_out.size, missing, dtype=float if is_number else object)
    gathered[rows] = labels
    return gathered
