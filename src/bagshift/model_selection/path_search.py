# SPDX-License-Identifier: BSD-3-Clause
"""Search of parameters without labels: whole-bag cross-validation of the share error.

The criterion is the mean over folds of 1 - share error on the held-out bags, ties broken by the
soft share error: :func:`~bagshift.model_selection.share_error_soft_ties`. What it can say has
limits: a share error of zero does not make the rows right, since any exchange of labels within a
bag has the same error; and it is sound only if bags are exchangeable.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from bagshift.bags import Bags
from bagshift.estimators._class_training import ClassTraining, read_classes
from bagshift.estimators._training import TrainingData, read_training
from bagshift.exceptions import BagError
from bagshift.model_selection._class_engine import cross_validate_classes
from bagshift.model_selection._count_engine import CountEngine
from bagshift.model_selection._folds import (
    BagFold,
    bag_folds,
    bag_splits,
    resolve_cv,
    single_bag_cv,
)
from bagshift.model_selection._parallel import n_sharing
from bagshift.model_selection._path_engine import CoupledEngine
from bagshift.model_selection._progress_bar import resolve_progress
from bagshift.model_selection._row_sample import sample_rows
from bagshift.model_selection._search_engine import Progress, SearchEngine
from bagshift.model_selection._search_result import (
    SearchResult,
    choose,
    cv_results_of,
    table_of,
)
from bagshift.model_selection.cross_val_predict import require_fit_arguments

_ENGINES: tuple[SearchEngine, ...] = (CoupledEngine(), CountEngine())


def path_search(
    estimator: Any,
    X: Any,
    bags: Bags,
    *,
    source: tuple[Any, ...] | None = None,
    grid: str | Mapping[str, Any] | Sequence[Mapping[str, Any]] = "quick",
    fixed: Collection[str] = (),
    cv: Any = None,
    one_standard_error: bool = False,
    max_rows: int | None = None,
    progress: Progress | str | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> SearchResult:
    """Choose the parameters of a machine by the shares of held-out bags, and fit it.

    The result is that of ``GridSearchCV(estimator, grid, cv=cv, scoring=...)``, many times
    faster: one kernel matrix or feature map per kernel serves all folds and settings, and
    settings are solved from one another. The criterion is :func:`share_error_soft_ties`, for
    CountLikelihoodClassifier the mean :func:`count_log_likelihood` of held-out bags.

    Parameters
    ----------
    estimator : classifier
        TGPLM, InverseCalibrationSVM, SourceSVM, CountLikelihoodClassifier, or a Pipeline that
        ends in one of them.
        Gives the parameters that `grid` does not name; it is cloned, not changed.
    X : array-like of shape (n_rows, n_features)
        Target rows; source rows too when `bags` comes from :func:`~bagshift.stack_domains`.
    bags : Bags of length n_rows
        The bags of the rows, at least two.
    source : tuple (X, y) or (X, y, sample_weight), default=None
        Labelled source rows.
    grid : {"quick", "full", "paper"}, dict of str to list, or list of such, default="quick"
        Values to try, as for ``ParameterGrid``. "paper" is the complete grid of the paper, 13
        widths x 19 `C_source` x 19 `C_target` x 18 couplings, in its own units. The others are
        in units that mean the same at any number of rows and any feature scale: costs are such
        that C times the number of rows (`C_source`, C of SourceSVM) or bags (`C_target`, C of
        InverseCalibrationSVM) times the mean diagonal of the kernel is constant, RBF widths are
        multiples of gamma "scale";
        `best_params` and `table` hold the resulting C and gamma. "quick" has 3 widths x 2
        `C_source` x 3 `C_target` x 5 couplings (no widths unless the kernel is RBF), "full" about
        ten times as many settings. Grids of CountLikelihoodClassifier are in prior variances of
        a score, C times the mean squared length of a row in feature space, and include its
        starts. ``{}`` scores the estimator as it is.
    fixed : collection of str, default=()
        Parameters that a named grid must not vary; they stay as they are in `estimator`.
    cv : splitter, int or iterable of (train, test), default=None
        How bags are held out; None: ``BagKFold(10)`` with a fixed shuffle, repeated three times
        below thirty bags (for CountLikelihoodClassifier ten folds, and five from thirty bags on;
        for the grid "paper" not repeated), and leave-one-bag-out below ten. A number is that of
        the folds. Rows in no bag (source rows too) must be in every training set.
    one_standard_error : bool, default=False
        Take the most regular machine among those whose score is within one standard error of
        the best: that with the smallest `C_target` or C, then the largest coupling, the smallest
        `C_source` and the smallest gamma. The standard error is that of the difference to the
        best score, over held-out bags.
    max_rows : int, default=None
        Compare settings on a sample of at most so many rows of each domain: source rows drawn by
        class, target rows in whole bags. The chosen machine is fitted on all rows. Parameters
        are those for all rows: on the sample, costs are larger by the factor by which it has
        fewer source rows or bags, so that they weigh mean losses alike (not in
        CountLikelihoodClassifier, whose costs are prior variances). Faster, and what it costs in
        accuracy was measured: see the guide to large data.
    progress : callable or "bar", default=None
        Called as ``progress(done, total)`` whenever a fold of a kernel is finished; "bar" draws
        a bar on the standard error stream.
    n_jobs : int or None, default=None
        Folds worked on at the same time, in threads unless a joblib backend is in force; each
        holds its own copy of the kernel matrix. Workers of a backend are sent the rows and
        make the kernel matrix themselves, once. The result does not depend on it.
    random_state : int, RandomState or None, default=0
        For the sample of `max_rows`.

    Returns
    -------
    SearchResult

    Raises
    ------
    TypeError
        If `bags` is not a :class:`~bagshift.Bags`, or `estimator`, `grid`, `cv` or `progress` is
        of another kind.
    ValueError
        If `grid` is empty or names parameters that the estimator does not have, if a fold tests
        on rows in no bag or does not train on them, or if `max_rows` goes with row numbers as
        `cv` or with a precomputed kernel.
    BagError
        If there are fewer than two bags, also in the sample of `max_rows`, or a fold cuts one or
        trains on one that it holds out.
    KernelMemoryError
        If the kernel matrix, or the features of a map, and the copies of running folds would not
        fit in memory.

    See Also
    --------
    bag_cross_val_predict : Scores of held-out rows, for one setting.

    Notes
    -----
    The transformers of a Pipeline are fitted once, on all rows of both domains, and not anew in
    every fold. They see features only, neither labels nor shares, so nothing that is scored
    leaks; with `GridSearchCV` they would be refitted, and scores differ slightly. Likewise
    ``gamma="scale"`` and ``gamma="paper"`` are resolved once on all rows.

    Folds of CountLikelihoodClassifier are solved along paths, to a gradient of 1e-2 relative to
    the weights and on at most 300 landmarks of a kernel that is not linear; the machine that is
    returned is fitted as it stands. A path may end in another local minimum than a single fit.

    Settings of TGPLM and its relatives are trained by the solver that the machine would take for
    the rows that they are compared on: beyond 10,000 source rows and bags on explicit features,
    the columns or a map of the kernel, of 300 components unless ``n_components`` is a number, to
    a duality gap of 1e-5 of the objective. The logger `bagshift` says so at the level INFO, and
    so does ``report`` of the result.

    Machines of more than two classes are one for each class against all the others, with the same
    parameters; their score is the mean over the classes of that of each.

    Memory is at most that of the kernel matrix of source rows and bags, and once more for every
    fold running at the same time; it is asked for before the search begins, and in every worker
    of a joblib backend before its work. Where more is free,
    up to 1 GiB of it is taken to make kernel matrices of several widths together. On explicit
    features it is that of the features of source rows and bags, and of the bags once more for
    every fold.

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
    engine = engine_of(machine)
    report = resolve_progress(progress, type(machine).__name__)
    features = _transform(estimator, X, bags)
    given, classes = _read(clone(machine), features, bags, source)
    if classes is not None and max_rows is not None:
        raise ValueError("max_rows is for two classes; leave it out.")
    settings = _settings(grid, fixed, machine, prefix, given)
    machines = _machines(machine, settings)
    data = given if max_rows is None else _sample(given, machine, max_rows, random_state)
    is_sample = data is not given
    rows, in_bags = (data.X_target, data.bags) if is_sample else (X, bags)
    compared = engine.for_sample(machines, given, data) if is_sample else machines
    default_cv = single_bag_cv(in_bags) if grid == "paper" else engine.default_cv(in_bags)
    splitter = resolve_cv(cv, default_cv)
    if max_rows is not None:
        _require_splitter(splitter)
    folds = bag_folds(bag_splits(splitter, rows, in_bags), in_bags)
    engine.require_memory(compared, data, n_sharing(n_jobs, len(folds)))
    if classes is None:
        found = engine.cross_validate(compared, data, folds, n_jobs=n_jobs, progress=report)
    else:
        found = cross_validate_classes(
            engine, compared, classes, folds, n_jobs=n_jobs, progress=report
        )
    params = [{f"{prefix}{name}": v for name, v in setting.items()} for setting in settings]
    best = choose(
        found,
        [vars(each) for each in machines],
        one_standard_error=one_standard_error,
    )
    fit_params = {} if source is None else {"source": source}
    best_estimator = clone(estimator).set_params(**params[best])
    table = table_of(params, found)
    return SearchResult(
        best_params=params[best],
        best_estimator=best_estimator.fit(X, bags, **fit_params),
        best_score=table[best]["score"],
        best_index=best,
        table=table,
        cv=_describe(splitter, folds, in_bags),
        cv_results=cv_results_of(params, found),
        n_splits=len(folds),
        report=_report(data) | found.report,
    )


def _read(
    machine: Any, X: Any, bags: Bags, source: Any
) -> tuple[TrainingData, ClassTraining | None]:
    """Return training data, and those of all classes where there are more than two.

    The first are then those of one class against all the others, of the same rows and bags.
    """
    if not machine._takes_more_classes:
        return read_training(machine, X, bags, source=source), None
    given = read_classes(machine, X, bags, source=source)
    if isinstance(given, ClassTraining):
        return given.against_rest(0), given
    return given, None


def engine_of(machine: Any) -> SearchEngine:
    """Return what searches over the settings of a machine.

    Parameters
    ----------
    machine : estimator
        Not a Pipeline.

    Returns
    -------
    SearchEngine

    Raises
    ------
    TypeError
        When there is none for it.
    """
    for engine in _ENGINES:
        if engine.serves(machine):
            return engine
    if hasattr(machine, "_machine_class"):
        inside = machine._machine_class.__name__
        raise TypeError(
            f"{type(machine).__name__} is a search by itself: fit it, or give path_search the "
            f"machine {inside}."
        )
    names = ", ".join(name for engine in _ENGINES for name in engine.machine_names)
    raise TypeError(
        f"path_search works with {names} and Pipelines that end in one of them, not with "
        f"{type(machine).__name__}; use GridSearchCV with scoring=share_error_soft_ties."
    )


def _last_step(estimator: Any) -> tuple[Any, str]:
    """Return the machine itself, and what its parameters are prefixed with."""
    if not isinstance(estimator, Pipeline):
        return estimator, ""
    name, machine = estimator.steps[-1]
    return machine, f"{name}__"


def _transform(estimator: Any, X: Any, bags: Bags) -> Any:
    if not isinstance(estimator, Pipeline) or len(estimator.steps) == 1:
        return X
    return clone(estimator[:-1]).fit_transform(X, bags)


def _sample(given: TrainingData, machine: Any, max_rows: Any, random_state: Any) -> TrainingData:
    """Return the rows that settings are compared on."""
    if not isinstance(max_rows, Integral) or isinstance(max_rows, bool) or max_rows < 2:
        raise ValueError(f"max_rows must be None or an integer of at least 2; got {max_rows!r}.")
    if machine.kernel == "precomputed":
        raise ValueError(
            "max_rows needs rows to compute the kernel from; with a precomputed kernel search on "
            "the kernel matrix of a sample instead."
        )
    return sample_rows(given, int(max_rows), random_state)


def _require_splitter(splitter: Any) -> None:
    if not hasattr(splitter, "split"):
        raise ValueError(
            "cv gives row numbers, and max_rows takes a sample of the rows: give a splitter or a "
            "number of folds."
        )


def _report(data: TrainingData) -> dict[str, Any]:
    return {
        "n_source_rows": data.n_source,
        "n_target_rows": len(data.bags),
        "n_bags": data.bags.n_bags,
    }


def _settings(
    grid: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    fixed: Collection[str],
    machine: Any,
    prefix: str,
    given: TrainingData,
) -> list[dict[str, Any]]:
    if isinstance(grid, str):
        axes = engine_of(machine).grid(grid, machine, given)
        for name in fixed:
            axes.pop(name.removeprefix(prefix), None)
        return list(ParameterGrid(axes))
    if not isinstance(grid, Mapping | Sequence):
        raise TypeError(
            'grid must be "quick", "full", "paper", a dict of parameters and lists of their '
            f"values, or a list of such; got {grid!r}."
        )
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


def _machines(machine: Any, settings: list[dict[str, Any]]) -> list[Any]:
    """Return an unfitted machine for every setting."""
    for setting in _with_every_value(settings):
        clone(machine).set_params(**setting)._check_parameters()
    # Clones by the ten thousand would take longer than the search.
    base = vars(clone(machine))
    machines = [object.__new__(type(machine)) for _ in settings]
    for each, setting in zip(machines, settings, strict=True):
        vars(each).update(base)
        vars(each).update(setting)
    return machines


def _with_every_value(settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return settings that have every value of every parameter among them, few of many."""
    seen: set[tuple[str, Any]] = set()
    chosen = []
    for setting in settings:
        pairs = {(name, _hashable(value)) for name, value in setting.items()}
        if not pairs <= seen:
            seen |= pairs
            chosen.append(setting)
    return chosen or settings[:1]


def _hashable(value: Any) -> Any:
    return value if isinstance(value, Hashable) else id(value)


def _describe(splitter: Any, folds: list[BagFold], bags: Bags) -> str:
    name = repr(splitter) if hasattr(splitter, "split") else "given splits"
    return f"{name}, {len(folds)} folds of {bags.n_bags} bags"
