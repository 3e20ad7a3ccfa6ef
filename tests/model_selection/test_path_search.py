# SPDX-License-Identifier: BSD-3-Clause
import time

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagshift import (
    TGPLM,
    Bags,
    CountLikelihoodClassifier,
    CountLikelihoodCV,
    InverseCalibrationSVM,
    SourceSVM,
    stack_domains,
)
from bagshift.exceptions import BagError, KernelMemoryError
from bagshift.kernels import Kernel, _memory
from bagshift.model_selection import (
    BagKFold,
    BagShuffleSplit,
    LeaveOneBagOut,
    RepeatedBagKFold,
    _count_engine,
    _exact_folds,
    path_search,
    share_error_soft_ties,
)

TOL = 1e-8

CASES = {
    "tgplm": (
        TGPLM(tol=TOL),
        {
            "gamma": [0.05, 0.4],
            "C_source": [0.5, 2.0],
            "C_target": [0.5, 2.0],
            "coupling": [0.0, 0.1, 2.0, np.inf],
        },
    ),
    "tgplm, other parameters": (
        TGPLM(gamma=0.2, tol=TOL),
        {
            "kernel": ["rbf", "linear"],
            "tube": ["product", "quotient"],
            "bag_weight": ["equal", "size"],
            "coupling": [0.5, 4.0],
        },
    ),
    "tgplm, costs of zero": (
        TGPLM(gamma=0.2, tol=TOL),
        {"C_source": [0.0, 1.0], "C_target": [0.0, 1.0], "coupling": [0.5, 1.0]},
    ),
    "ic-svm": (
        InverseCalibrationSVM(gamma=0.2, tol=TOL),
        {"clip": ["auto", 0.05], "C": [0.5, 2.0, 8.0], "tube": ["product", "constant"]},
    ),
    "source svm": (SourceSVM(tol=TOL), {"gamma": [0.05, 0.4], "C": [0.1, 1.0, 8.0]}),
    "source svm, prior": (
        SourceSVM(kernel="linear", tol=TOL),
        {"C": [0.1, 1.0], "threshold": ["prior", None]},
    ),
    "polynomial": (TGPLM(kernel="poly", gamma=0.3, degree=2, tol=TOL), {"coef0": [0.0, 1.0]}),
    "callable": (TGPLM(kernel=lambda A, B: (1 + A @ B.T) ** 2, tol=TOL), {"coupling": [0.1, 1.0]}),
}


def source_of(machine, domains):
    return None if isinstance(machine, InverseCalibrationSVM) else domains.source


def grid_search(estimator, grid, cv, X, bags, source=None):
    search = GridSearchCV(
        estimator, grid, cv=cv, scoring=share_error_soft_ties, error_score="raise"
    )
    return search.fit(X, bags, **({} if source is None else {"source": source}))


def assert_same_search(found, expected):
    assert [entry["params"] for entry in found.table] == expected.cv_results_["params"]
    scores = [entry["score"] for entry in found.table]
    # Scores move with the share error, in steps, and with 1e-6 times the soft error.
    np.testing.assert_allclose(scores, expected.cv_results_["mean_test_score"], atol=1e-11)
    assert found.best_params == expected.best_params_
    assert found.best_score == pytest.approx(expected.best_score_, abs=1e-11)


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_grid_search(case, domains):
    machine, grid = CASES[case]
    source = source_of(machine, domains)
    cv = BagKFold(4, shuffle=True, random_state=1)
    found = path_search(machine, domains.X, domains.bags, source=source, grid=grid, cv=cv)
    expected = grid_search(machine, grid, cv, domains.X, domains.bags, source)
    assert_same_search(found, expected)
    np.testing.assert_allclose(
        found.best_estimator.decision_function(domains.X),
        expected.best_estimator_.decision_function(domains.X),
        atol=1e-12,
    )
    assert all(entry["converged"] for entry in found.table)


@pytest.mark.parametrize(
    "cv",
    [
        LeaveOneBagOut(),
        RepeatedBagKFold(3, n_repeats=2, random_state=0),
        BagShuffleSplit(3, test_size=3, train_size=8, random_state=0),
    ],
    ids=repr,
)
def test_agrees_with_grid_search_for_every_splitter(cv, domains):
    machine, grid = TGPLM(gamma=0.2, tol=TOL), {"coupling": [0.1, 1.0], "C_target": [1.0, 4.0]}
    found = path_search(machine, domains.X, domains.bags, source=domains.source, grid=grid, cv=cv)
    expected = grid_search(machine, grid, cv, domains.X, domains.bags, domains.source)
    assert_same_search(found, expected)
    splits = list(cv.split(domains.X, domains.bags))
    given = path_search(
        machine, domains.X, domains.bags, source=domains.source, grid=grid, cv=splits
    )
    assert given.table == found.table


def test_agrees_with_grid_search_on_stacked_rows_of_every_sort(domains):
    """Source, labelled and unlabelled rows, weights and bags in one object, rows shuffled."""
    rng = np.random.default_rng(5)
    n_bags, n_extra = len(domains.shares), 12
    X = np.vstack([domains.X, rng.normal(size=(n_extra, 4))])
    ids = [*domains.bag_ids, *[Bags.NO_BAG] * n_extra]
    weights = dict(enumerate(rng.uniform(0.5, 2.0, size=n_bags)))
    bags = Bags.from_arrays(ids, domains.shares, weights=weights)
    bags = bags.with_labels([None] * len(domains.X) + [0, 1] * 3 + [None] * (n_extra - 6))
    source = (*domains.source, rng.uniform(0.5, 2.0, size=len(domains.y_source)))
    Xa, ya = stack_domains(source=source, target=(X, bags))
    order = rng.permutation(len(ya))
    Xa, ya = Xa[order], ya[order]
    machine, grid = TGPLM(gamma=0.2, tol=TOL), {"coupling": [0.1, 1.0], "C_target": [1.0, 4.0]}
    cv = BagKFold(4)
    assert_same_search(
        path_search(machine, Xa, ya, grid=grid, cv=cv), grid_search(machine, grid, cv, Xa, ya)
    )


def test_agrees_with_grid_search_on_sparse_rows(domains):
    X, X_source = sparse.csr_matrix(domains.X), sparse.csr_matrix(domains.X_source)
    machine, grid = TGPLM(kernel="linear", tol=TOL), {"coupling": [0.1, 1.0]}
    source = X_source, domains.y_source
    cv = BagKFold(4)
    assert_same_search(
        path_search(machine, X, domains.bags, source=source, grid=grid, cv=cv),
        grid_search(machine, grid, cv, X, domains.bags, source),
    )


def test_precomputed_kernel_equals_its_function(domains):
    rows = np.vstack([domains.X_source, domains.X])
    gram = rows @ rows.T
    n_source = len(domains.X_source)
    grid = {"C_target": [0.5, 4.0], "coupling": [0.1, 1.0]}
    given = path_search(
        TGPLM(kernel="precomputed", tol=TOL),
        gram[n_source:],
        domains.bags,
        source=(gram[:n_source], domains.y_source),
        grid=grid,
    )
    linear = path_search(
        TGPLM(kernel="linear", tol=TOL), domains.X, domains.bags, source=domains.source, grid=grid
    )
    for name in ("score", "share_error", "soft_share_error"):
        np.testing.assert_allclose(
            [entry[name] for entry in given.table],
            [entry[name] for entry in linear.table],
            atol=1e-6,
        )


@pytest.mark.parametrize("machine", [TGPLM, SourceSVM, InverseCalibrationSVM])
def test_precomputed_kernel_of_stacked_domains_agrees_with_grid_search(machine, domains):
    """Rows of both domains in any order; scikit-learn slices rows and columns of the kernel."""
    if machine is InverseCalibrationSVM:
        Xa, ya = domains.X, domains.bags
    else:
        Xa, ya = stack_domains(source=domains.source, target=(domains.X, domains.bags))
    order = np.random.default_rng(3).permutation(len(ya))
    Xa, ya = Xa[order], ya[order]
    grid = {"C_target": [0.5, 4.0], "coupling": [0.1, 1.0]}
    if machine is not TGPLM:
        grid = {"C": [0.1, 1.0, 4.0]}
    given, cv = machine(kernel="precomputed", tol=TOL), BagKFold(4)
    found = path_search(given, Xa @ Xa.T, ya, grid=grid, cv=cv)
    assert_same_search(found, grid_search(given, grid, cv, Xa @ Xa.T, ya))
    linear = path_search(machine(kernel="linear", tol=TOL), Xa, ya, grid=grid, cv=cv)
    np.testing.assert_allclose(
        [entry["score"] for entry in found.table],
        [entry["score"] for entry in linear.table],
        atol=1e-9,
    )


def test_order_of_rows_in_given_splits_does_not_matter(domains):
    cv = BagKFold(4)
    splits = list(cv.split(domains.X, domains.bags))
    rng = np.random.default_rng(0)
    shuffled = [(rng.permutation(train), rng.permutation(test)) for train, test in splits]
    masks = [tuple(np.isin(np.arange(len(domains.X)), rows) for rows in split) for split in splits]

    def table(cv):
        search = path_search(
            TGPLM(), domains.X, domains.bags, source=domains.source, grid=grid, cv=cv
        )
        return search.table

    grid = {"coupling": [0.1, 1.0]}
    assert table(cv) == table(shuffled) == table(masks) == table(iter(splits))


def test_grid_without_parameters_scores_the_estimator_as_it_is(domains):
    search = path_search(InverseCalibrationSVM(), domains.X, domains.bags, grid={})
    assert [entry["params"] for entry in search.table] == [{}]


def test_copies_of_running_folds_are_counted_before_the_search(domains, monkeypatch):
    gram = (len(domains.X_source) + len(domains.shares)) ** 2 * 8
    monkeypatch.setattr(_memory, "SMALL", 0)

    def search(free, **settings):
        monkeypatch.setattr(_memory, "free_memory", lambda: free)
        grid = {"coupling": [1.0]}
        path_search(
            TGPLM(), domains.X, domains.bags, source=domains.source, grid=grid, cv=4, **settings
        )

    search(2 * gram)
    with pytest.raises(KernelMemoryError, match="a copy for 1 fold at a time"):
        search(2 * gram - 1)
    with pytest.raises(KernelMemoryError, match="lower n_jobs or search on a sample"):
        search(3 * gram - 1, n_jobs=2)
    with pytest.raises(KernelMemoryError, match="4 folds at a time"):
        search(5 * gram - 1, n_jobs=8)


def test_widths_in_powers_of_two_share_exponentials(domains, monkeypatch):
    """Kernels of all widths, held-out rows included, at the cost of one."""
    computed, called = [], Kernel.__call__

    def counting(kernel, A, B):
        computed.append(A.shape[0] * B.shape[0])
        return called(kernel, A, B)

    def search(n_jobs=None):
        computed.clear()
        grid = {"gamma": [0.2 * 2.0**k for k in (-1, 1, 0)], "coupling": [0.1, 1.0]}
        found = path_search(
            TGPLM(tol=TOL), domains.X, domains.bags, source=domains.source, grid=grid, cv=4,
            n_jobs=n_jobs,
        )  # fmt: skip
        return found, sum(computed)

    monkeypatch.setattr(Kernel, "__call__", counting)
    together, n_together = search()
    in_threads, _ = search(n_jobs=2)
    assert in_threads.table == together.table
    # Where memory is short, the widths are taken one at a time.
    monkeypatch.setattr(_exact_folds, "free_memory", lambda: 0)
    alone, n_alone = search()
    computed.clear()
    TGPLM(gamma=0.2).fit(domains.X, domains.bags, source=domains.source)
    n_fitted = sum(computed)  # of the machine that is returned
    assert 3 * (n_together - n_fitted) == n_alone - n_fitted
    assert [entry["params"] for entry in alone.table] == [e["params"] for e in together.table]
    np.testing.assert_allclose(
        [entry["score"] for entry in together.table],
        [entry["score"] for entry in alone.table],
        atol=1e-11,
    )


def test_pipeline_fits_its_transformers_once_on_all_rows(domains):
    stretch = np.array([1.0, 10.0, 0.1, 3.0])
    source = domains.X_source * stretch, domains.y_source
    Xa, ya = stack_domains(source=source, target=(domains.X * stretch, domains.bags))
    pipeline = make_pipeline(StandardScaler(), TGPLM(gamma=0.2, tol=TOL))
    couplings = [0.1, 1.0]
    found = path_search(pipeline, Xa, ya, grid={"tgplm__coupling": couplings}, cv=BagKFold(4))
    scaled = path_search(
        pipeline[-1],
        StandardScaler().fit_transform(Xa),
        ya,
        grid={"coupling": couplings},
        cv=BagKFold(4),
    )
    assert [e["score"] for e in found.table] == [e["score"] for e in scaled.table]
    assert found.best_params == {"tgplm__coupling": scaled.best_params["coupling"]}
    assert found.best_estimator.named_steps["tgplm"].coupling == scaled.best_params["coupling"]
    np.testing.assert_allclose(
        found.best_estimator.decision_function(Xa),
        scaled.best_estimator.decision_function(StandardScaler().fit_transform(Xa)),
    )
    assert not hasattr(pipeline[0], "mean_")


def test_ids_and_threads_and_repetition_do_not_matter(domains):
    names = {k: f"bag {100 - k}" for k in domains.shares}
    renamed = Bags.from_arrays(
        [names[k] for k in domains.bag_ids], {names[k]: p for k, p in domains.shares.items()}
    )
    grid = {"gamma": [0.1, 1.0], "coupling": [0.1, 1.0]}

    def table(bags, **settings):
        search = path_search(
            TGPLM(), domains.X, bags, source=domains.source, grid=grid, **settings
        )
        return search.table

    assert table(domains.bags) == table(domains.bags)
    assert table(domains.bags) == table(renamed)
    assert table(domains.bags) == table(domains.bags, n_jobs=2)


def test_default_folds(domains):
    def description(n_bags):
        rows = np.flatnonzero(domains.bag_ids < n_bags)
        search = path_search(
            InverseCalibrationSVM(), domains.X[rows], domains.bags[rows], grid={"C": [1.0]}
        )
        return search.cv

    assert description(9) == "LeaveOneBagOut(), 9 folds of 9 bags"
    assert description(14) == (
        "RepeatedBagKFold(n_repeats=3, n_splits=10, random_state=0), 30 folds of 14 bags"
    )


def test_number_of_folds(domains):
    search = path_search(InverseCalibrationSVM(), domains.X, domains.bags, grid={"C": [1.0]}, cv=4)
    assert search.cv == "BagKFold(n_splits=4, random_state=0, shuffle=True), 4 folds of 14 bags"


def test_progress_counts_every_fold_of_every_kernel(domains):
    calls = []
    path_search(
        InverseCalibrationSVM(),
        domains.X,
        domains.bags,
        grid={"gamma": [0.1, 1.0], "C": [1.0, 2.0]},
        cv=4,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls == [(done, 8) for done in range(1, 9)]


@pytest.mark.parametrize("machine", [InverseCalibrationSVM(), CountLikelihoodClassifier()])
def test_processes_do_the_same_as_threads(machine, domains):
    calls = []

    def search():
        calls.clear()
        return path_search(
            machine,
            domains.X,
            domains.bags,
            grid={"gamma": [0.1, 1.0]},
            cv=4,
            n_jobs=2,
            progress=lambda done, total: calls.append((done, total)),
        )

    in_threads = search()
    counted = list(calls)
    with joblib.parallel_config(backend="loky"):
        assert search().table == in_threads.table
    assert calls == counted == [(done, 8) for done in range(1, 9)]


@pytest.mark.parametrize("machine", [InverseCalibrationSVM(), CountLikelihoodClassifier()])
def test_an_interrupt_stops_folds_that_are_running(machine, domains, monkeypatch):
    engine = _exact_folds if isinstance(machine, InverseCalibrationSVM) else _count_engine
    name = "solve_coupled_chain" if engine is _exact_folds else "solve_coupled_logistic"
    solve, solved = getattr(engine, name), []

    def slow(*args, **settings):
        if len(solved) > 8:  # the first fold is done by then
            time.sleep(0.05)
        solved.append(1)
        return solve(*args, **settings)

    def interrupt(done, total):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, name, slow)
    # A chain for every value of one, a setting for every value of the other.
    name = "clip" if engine is _exact_folds else "C_target"
    grid = {name: np.linspace(0.05, 0.1, 8)}
    with pytest.raises(KeyboardInterrupt):
        path_search(
            machine, domains.X, domains.bags, grid=grid, cv=7, n_jobs=2, progress=interrupt
        )
    time.sleep(0.2)  # a fold may end the setting that it is at
    n_solved = len(solved)
    time.sleep(0.3)
    assert len(solved) == n_solved < 7 * 8


def test_first_of_equals_wins(domains):
    grid = {"tol": [1e-3, 1e-3]}
    search = path_search(InverseCalibrationSVM(), domains.X, domains.bags, grid=grid)
    assert search.best_index == 0


def test_estimator_is_left_alone(domains):
    machine = TGPLM()
    before = machine.get_params()
    path_search(machine, domains.X, domains.bags, source=domains.source, grid={"coupling": [1.0]})
    assert machine.get_params() == before
    assert not hasattr(machine, "classes_")


def test_unconverged_settings_are_told(domains):
    with pytest.warns(UserWarning, match="max_iter"):
        search = path_search(
            TGPLM(max_iter=1),
            domains.X,
            domains.bags,
            source=domains.source,
            grid={"gamma": [1.0]},
        )
    assert not search.table[0]["converged"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            {"grid": "huge"},
            ValueError,
            r"grid must be one of \['full', 'quick', 'paper'\] or a dict",
        ),
        ({"grid": {"C_target": [-1.0]}}, ValueError, "C_target"),
        ({"grid": {"colour": [1]}}, ValueError, "colour"),
        ({"grid": []}, ValueError, "grid is empty"),
        ({"grid": None}, TypeError, 'grid must be "quick", "full", "paper", a dict'),
        ({"progress": lambda done: None}, TypeError, r"progress\(done, total\)"),
        ({"progress": lambda a, b, c: None}, TypeError, "does not take two numbers"),
        ({"cv": KFold(4)}, BagError, "BagKFold"),
        ({"cv": 40}, BagError, "at least 40 bags"),
        ({"cv": []}, BagError, "no bag at all"),
    ],
)
def test_what_cannot_be_searched(call, error, message, domains):
    with pytest.raises(error, match=message):
        path_search(TGPLM(), domains.X, domains.bags, source=domains.source, **call)


def test_what_is_no_machine_or_no_bags(domains):
    with pytest.raises(TypeError, match="not with RandomForestClassifier"):
        path_search(RandomForestClassifier(), domains.X, domains.bags)
    with pytest.raises(TypeError, match="the machine CountLikelihoodClassifier"):
        path_search(CountLikelihoodCV(), domains.X, domains.bags)
    with pytest.raises(TypeError, match="must be a Bags"):
        path_search(TGPLM(), domains.X, domains.labels)
    one = np.flatnonzero(domains.bag_ids == 0)
    with pytest.raises(BagError, match="needs at least 2; there are 1"):
        path_search(InverseCalibrationSVM(), domains.X[one], domains.bags[one])
    pipeline = make_pipeline(StandardScaler(), TGPLM())
    with pytest.raises(ValueError, match="stack_domains"):
        path_search(pipeline, domains.X, domains.bags, source=domains.source)
    with pytest.raises(ValueError, match="parameters of the last step"):
        path_search(pipeline, domains.X, domains.bags, grid={"standardscaler__with_mean": [True]})


def test_source_rows_must_stay_in_training(domains):
    Xa, ya = stack_domains(source=domains.source, target=(domains.X, domains.bags))
    splits = [(train[~ya.is_source[train]], test) for train, test in BagKFold(4).split(Xa, ya)]
    with pytest.raises(ValueError, match="keep source rows"):
        path_search(TGPLM(), Xa, ya, cv=splits)


def test_table_is_in_the_order_of_parameter_grid(domains):
    grid = {"C": [4.0, 1.0], "gamma": [1.0, 0.1]}
    search = path_search(InverseCalibrationSVM(), domains.X, domains.bags, grid=grid)
    assert [entry["params"] for entry in search.table] == list(ParameterGrid(grid))
