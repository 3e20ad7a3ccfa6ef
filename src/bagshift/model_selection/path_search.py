# SPDX-License-Identifier: BSD-3-Clause
"""Search of parameters without labels: whole-bag cross-validation of the share error.

The criterion is the mean over folds of 1 - share error on the held-out bags, ties broken by the
soft share error: :func:`~bagshift.model_selection.share_error_soft_ties`. What it can say has
limits: a share error of zero does not make the rows right, since any exchange of labels within a
bag has the same error; and it is sound only if bags are exchangeable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import validate_parameter_constraints

from bagshift.bags import Bags
from bagshift.estimators._coupled import CoupledMachine
from bagshift.estimators._training import TrainingData, read_training
from bagshift.exceptions import BagError
from bagshift.kernels import require_memory
from bagshift.kernels._tiles import kernel_dtype
from bagshift.model_selection._folds import (
    BagFold,
    bag_folds,
    bag_splits,
    default_bag_cv,
    resolve_cv,
)
from bagshift.model_selection._path_engine import FoldErrors, Progress, cross_validate_settings
from bagshift.model_selection.cross_val_predict import require_fit_arguments
from bagshift.model_selection.grids import named_grid
from bagshift.model_selection.scorers import combine_errors


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
        Its score: the mean over folds of 1 - share error - 1e-6 * soft share error.
    best_index : int
        Its place in `table`.
    table : list of dict
        One entry per setting, in the order of ``ParameterGrid``: "params", "score" (as above),
        "share_error" and "soft_share_error" (means over folds on held-out bags), and "converged",
        whether the solver reached its tolerance in every fold.
    cv : str
        How bags were held out.
    """

    best_params: dict[str, Any]
    best_estimator: Any
    best_score: float
    best_index: int
    table: list[dict[str, Any]] = field(repr=False)
    cv: str


def path_search(
    estimator: Any,
    X: Any,
    bags: Bags,
    *,
    source: tuple[Any, ...] | None = None,
    grid: str | Mapping[str, Any] | Sequence[Mapping[str, Any]] = "quick",
    cv: Any = None,
    progress: Progress | None = None,
    n_jobs: int | None = None,
) -> SearchResult:
    """Choose the parameters of a machine by the shares of held-out bags, and fit it.

    The result is that of ``GridSearchCV(estimator, grid, cv=cv,
    scoring=share_error_soft_ties)``, many times faster: one kernel matrix per kernel serves all
    folds and settings, and settings are solved from one another.

    Parameters
    ----------
    estimator : TGPLM, InverseCalibrationSVM, SourceSVM, or a Pipeline that ends in one
        Gives the parameters that `grid` does not name; it is cloned, not changed.
    X : array-like of shape (n_rows, n_features)
        Target rows; source rows too when `bags` comes from :func:`~bagshift.stack_domains`.
    bags : Bags of length n_rows
        The bags of the rows, at least two.
    source : tuple (X, y) or (X, y, sample_weight), default=None
        Labelled source rows.
    grid : {"quick", "full"}, dict of str to list, or list of such, default="quick"
        Values to try, as for ``ParameterGrid``. The named grids are in units that mean the same
        at any number of rows and any feature scale: costs are such that C times the number of
        rows (`C_source`, C of SourceSVM) or bags (`C_target`, C of InverseCalibrationSVM) times
        the mean diagonal of the kernel is constant, RBF widths are multiples of gamma "scale";
        `best_params` and `table` hold the resulting C and gamma. "quick" has 3 widths x 2
        `C_source` x 3 `C_target` x 5 couplings (no widths unless the kernel is RBF), "full" about
        ten times as many settings. ``{}`` scores the estimator as it is.
    cv : splitter, int or iterable of (train, test), default=None
        How bags are held out; None: ``BagKFold(10)`` with a fixed shuffle, repeated three times
        below thirty bags, and leave-one-bag-out below ten. A number is that of the folds. Rows
        in no bag (source rows too) must be in every training set.
    progress : callable, default=None
        Called as ``progress(done, total)`` whenever a fold of a kernel is finished.
    n_jobs : int or None, default=None
        Folds worked on at the same time, in threads; each holds its own copy of the kernel
        matrix. The result does not depend on it.

    Returns
    -------
    SearchResult

    Raises
    ------
    TypeError
        If `bags` is not a :class:`~bagshift.Bags`, or `estimator` or `cv` is of another kind.
    ValueError
        If `grid` is empty or names parameters that the estimator does not have, or if a fold
        tests on rows in no bag or does not train on them.
    BagError
        If there are fewer than two bags, or a fold cuts one or trains on one that it holds out.
    KernelMemoryError
        If the kernel matrix and the copies of running folds would not fit in memory.

    See Also
    --------
    bag_cross_val_predict : Scores of held-out rows, for one setting.

    Notes
    -----
    The transformers of a Pipeline are fitted once, on all rows of both domains, and not anew in
    every fold. They see features only, neither labels nor shares, so nothing that is scored
    leaks; with `GridSearchCV` they would be refitted, and scores differ slightly. Likewise
    ``gamma="scale"`` and ``gamma="paper"`` are resolved once on all rows.

    Memory is at most that of the kernel matrix of source rows and bags, and once more for every
    fold running at the same time; it is asked for before the search begins.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import TGPLM, Bags
    >>> from bagshift.model_selection import path_search
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 2, size=120)
    >>> X = rng.normal(size=(120, 2)) + 3 * labels[:, None]
    >>> bag_ids = np.arange(120) // 6
    >>> bags = Bags.from_arrays(bag_ids, dict(enumerate(labels.reshape(-1, 6).mean(axis=1))))
    >>> source = rng.normal(size=(50, 2)) + np.repeat([0, 3], 25)[:, None], np.repeat([0, 1], 25)
    >>> search = path_search(
    ...     TGPLM(kernel="linear"), X, bags, source=source, grid={"coupling": [0.125, 8.0]}
    ... )
    >>> sorted(search.best_params)
    ['coupling']
    >>> search.best_estimator.score(X, labels) > 0.95
    True
    """
    require_fit_arguments(estimator, bags, source)
    if bags.n_bags < 2:
        raise BagError(
            f"path_search holds out bags and needs at least 2; there are {bags.n_bags}."
        )
    machine, prefix = _last_step(estimator)
    features = _transform(estimator, X, bags)
    given = read_training(clone(machine), features, bags, source=source)
    settings = _settings(grid, machine, prefix, given)
    splitter = resolve_cv(cv, default_bag_cv(bags))
    folds = bag_folds(bag_splits(splitter, X, bags), bags)
    _require_memory(machine._select(given), len(folds), n_jobs)
    errors = cross_validate_settings(
        _machines(machine, settings), given, folds, n_jobs=n_jobs, progress=progress
    )
    table = _table(settings, prefix, errors)
    # The first of equals, as in GridSearchCV.
    best = int(np.argmax([entry["score"] for entry in table]))
    fit_params = {} if source is None else {"source": source}
    best_estimator = clone(estimator).set_params(**table[best]["params"])
    return SearchResult(
        best_params=table[best]["params"],
        best_estimator=best_estimator.fit(X, bags, **fit_params),
        best_score=table[best]["score"],
        best_index=best,
        table=table,
        cv=_describe(splitter, folds, bags),
    )


def _last_step(estimator: Any) -> tuple[CoupledMachine, str]:
    """Return the machine itself, and what its parameters are prefixed with."""
    machine, prefix = estimator, ""
    if isinstance(estimator, Pipeline):
        name, machine = estimator.steps[-1]
        prefix = f"{name}__"
    if not isinstance(machine, CoupledMachine) or not machine._is_one_program:
        raise TypeError(
            "path_search works with TGPLM, InverseCalibrationSVM, SourceSVM and Pipelines that "
            f"end in one of them, not with {type(machine).__name__}; use GridSearchCV with "
            "scoring=share_error_soft_ties."
        )
    return machine, prefix


def _transform(estimator: Any, X: Any, bags: Bags) -> Any:
    if not isinstance(estimator, Pipeline) or len(estimator.steps) == 1:
        return X
    return clone(estimator[:-1]).fit_transform(X, bags)


def _settings(
    grid: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    machine: CoupledMachine,
    prefix: str,
    given: TrainingData,
) -> list[dict[str, Any]]:
    if isinstance(grid, str):
        return list(ParameterGrid(named_grid(grid, machine, machine._select(given))))
    settings = list(ParameterGrid(grid))
    if not settings:
        raise ValueError(
            "grid is empty; name parameters and their values, or give {} to score the estimator "
            "as it is."
        )
    return [_without_prefix(setting, prefix) for setting in settings]


def _without_prefix(setting: dict[str, Any], prefix: str) -> dict[str, Any]:
    foreign = [name for name in setting if not name.startswith(prefix)]
    if foreign:
        raise ValueError(
            f"grid names {foreign[0]!r}, but path_search varies parameters of the last step of a "
            f"Pipeline only, named {prefix}...; use GridSearchCV for the others."
        )
    return {name.removeprefix(prefix): value for name, value in setting.items()}


def _machines(machine: CoupledMachine, settings: list[dict[str, Any]]) -> list[CoupledMachine]:
    machines = [clone(machine).set_params(**setting) for setting in settings]
    for each in machines:
        validate_parameter_constraints(
            each._parameter_constraints, each.get_params(deep=False), type(each).__name__
        )
    return machines


def _require_memory(data: TrainingData, n_folds: int, n_jobs: int | None) -> None:
    """Refuse a search whose kernel matrix, copied in part by every running fold, does not fit."""
    if data.bags.n_bags == 0:
        return  # one solution serves all folds; the matrix itself is checked where it is made
    n_running = min(effective_n_jobs(n_jobs), n_folds)
    itemsize = kernel_dtype(data.X_source, data.X_target).itemsize
    ways_out = ["lower n_jobs"] if n_running > 1 else []
    ways_out += ["search on a sample of the rows"]
    ways_out += ["use float32 features"] if itemsize > 4 else []
    require_memory(
        (1 + n_running) * (data.n_source + data.n_target_units) ** 2 * itemsize,
        f"A kernel matrix over {data.n_source:,} source rows and {data.n_target_units:,} bags "
        f"with a copy for {n_running:,} fold{'' if n_running == 1 else 's'} at a time",
        " or ".join(ways_out),
    )


def _describe(splitter: Any, folds: list[BagFold], bags: Bags) -> str:
    name = repr(splitter) if hasattr(splitter, "split") else "given splits"
    return f"{name}, {len(folds)} folds of {bags.n_bags} bags"


def _table(
    settings: list[dict[str, Any]], prefix: str, errors: FoldErrors
) -> list[dict[str, Any]]:
    scores = combine_errors(errors.hard, errors.soft).mean(axis=1)
    hard, soft = errors.hard.mean(axis=1), errors.soft.mean(axis=1)
    return [
        {
            "params": {f"{prefix}{name}": value for name, value in setting.items()},
            "score": float(scores[i]),
            "share_error": float(hard[i]),
            "soft_share_error": float(soft[i]),
            "converged": bool(errors.converged[i].all()),
        }
        for i, setting in enumerate(settings)
    ]
