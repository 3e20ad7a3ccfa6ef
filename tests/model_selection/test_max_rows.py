# SPDX-License-Identifier: BSD-3-Clause
"""Searches on a sample of the rows, and costs that mean the same at any number of them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagshift import (
    TGPLM,
    TGPLMCV,
    BagError,
    Bags,
    CountLikelihoodClassifier,
    CountLikelihoodCV,
    InverseCalibrationSVM,
    SourceSVM,
    stack_domains,
)
from bagshift.estimators._training import read_training
from bagshift.model_selection import BagKFold, path_search
from bagshift.model_selection._count_engine import CountEngine
from bagshift.model_selection._path_engine import CoupledEngine
from bagshift.model_selection._row_sample import sample_rows
from bagshift.model_selection.grids import named_grid

GRID = {"C_target": [1.0, 4.0], "coupling": [0.1, 1.0]}


@pytest.fixture
def many(make_domains):
    return make_domains(n_bags=40, n_source=200)


def read(domains, bags=None, machine=None, source=None):
    source = domains.source if source is None else source
    machine = TGPLM() if machine is None else machine
    return read_training(machine, domains.X, domains.bags if bags is None else bags, source=source)


# The sample -------------------------------------------------------------------------------


def test_whole_bags_and_both_classes(many):
    data = read(many)
    sample = sample_rows(data, 60, 0)
    sample.bags.check_whole()
    assert sample.n_source == 60
    assert (sample.source_signs > 0).sum() == 30
    longest = max(np.bincount(many.bag_ids))
    assert 60 - longest < len(sample.bags) <= 60
    for number, bag in enumerate(sample.bags.ids):
        rows = sample.X_target[sample.bags.bag_index == number]
        np.testing.assert_array_equal(rows, many.X[many.bag_ids == bag])
        assert sample.shares[number] == many.shares[bag]


def test_source_keeps_its_rate(many):
    X, y = many.source
    rare = np.concatenate([np.flatnonzero(y == 1)[:10], np.flatnonzero(y == 0)])
    sample = sample_rows(read(many, source=(X[rare], y[rare])), 44, 0)
    assert sample.n_source == 44
    assert (sample.source_signs > 0).sum() == 4
    fewest = sample_rows(read(many, source=(X[rare], y[rare])), 15, 0)
    assert (fewest.source_signs > 0).sum() == 1


def test_weights_go_with_their_rows(many):
    X, y = many.source
    weight = np.arange(1.0, 201.0)
    sample = sample_rows(read(many, source=(X, y, weight)), 60, 0)
    np.testing.assert_array_equal(sample.X_source, X[sample.source_weight.astype(int) - 1])


def test_labelled_rows_are_drawn_by_class(many):
    labels = np.where(many.bag_ids < 20, many.labels, None)
    ids = many.bag_ids.astype(object)
    ids[many.bag_ids < 20] = Bags.NO_BAG
    shares = {k: p for k, p in many.shares.items() if k >= 20}
    data = read(many, Bags.from_arrays(ids, shares).with_labels(labels))
    sample = sample_rows(data, 60, 0)
    assert len(sample.bags) <= 60
    part = 60 / len(many.X)
    assert len(sample.labelled_rows) == pytest.approx(part * len(data.labelled_rows), abs=1)
    assert np.mean(sample.labelled_signs) == pytest.approx(np.mean(data.labelled_signs), abs=0.1)
    values = sample.bags.label_values[sample.labelled_rows]
    np.testing.assert_array_equal(np.where(values == 1, 1.0, -1.0), sample.labelled_signs)


def test_all_rows_are_their_own_sample(many):
    data = read(many)
    assert sample_rows(data, 200, 0) is data


def test_seed(many):
    data = read(many)
    one, again, other = (sample_rows(data, 60, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.X_source, again.X_source)
    np.testing.assert_array_equal(one.bags.ids, again.bags.ids)
    assert one.bags.ids.tolist() != other.bags.ids.tolist()


# Searches on it ---------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["exact", "newton"])
def test_settings_are_compared_on_the_sample_and_fitted_on_all_rows(solver, many):
    machine = TGPLM(kernel="linear", solver=solver, tol=1e-6)
    found = path_search(
        machine, many.X, many.bags, source=many.source, grid=GRID, cv=4, max_rows=80
    )
    data = read(many)
    sample = sample_rows(data, 80, 0)
    by_rows = data.n_source / sample.n_source
    by_bags = data.bags.n_bags / sample.bags.n_bags
    labels = np.where(sample.source_signs > 0, 1, 0)
    for entry in found.table:
        at_size = clone(machine).set_params(
            C_source=by_rows, C_target=by_bags * entry["params"]["C_target"]
        )
        alone = path_search(
            at_size,
            sample.X_target,
            sample.bags,
            source=(sample.X_source, labels),
            grid={"coupling": [entry["params"]["coupling"]]},
            cv=4,
        )
        assert entry["share_error"] == pytest.approx(alone.table[0]["share_error"], abs=1e-12)
    whole = clone(machine).set_params(**found.best_params)
    whole.fit(many.X, many.bags, source=many.source)
    np.testing.assert_array_equal(
        found.best_estimator.decision_function(many.X), whole.decision_function(many.X)
    )
    assert found.report["n_source_rows"] == 80
    assert found.report["n_bags"] == sample.bags.n_bags
    assert found.report["n_target_rows"] == len(sample.bags) <= 80


@pytest.mark.parametrize(
    ("machine", "names"),
    [
        (TGPLM(C_source=2.0, C_target=3.0), {"C_source": 2.0, "C_target": 3.0}),
        (TGPLM(bag_weight="size"), {"C_source": 1.0, "C_target": 4.0}),
        (InverseCalibrationSVM(C=3.0), {"C": 3.0}),
        (SourceSVM(C=3.0), {"C": 3.0}),
    ],
    ids=repr,
)
def test_costs_of_the_sample_are_those_of_its_named_grid(machine, names, many):
    """The grid of the sample, at costs for all rows, is the grid of all rows."""
    given = read(many, machine=clone(machine))
    if isinstance(machine, InverseCalibrationSVM):
        given = given.without_source()
    sample = sample_rows(given, 80, 0)
    scaled = CoupledEngine().for_sample([machine], given, sample)[0]
    whole, part = (named_grid("quick", machine, machine._select(each)) for each in (given, sample))
    for name, cost in names.items():
        factor = getattr(scaled, name) / cost
        assert factor > 1
        # The mean diagonal of an RBF kernel is one, so grids differ by the number of terms alone.
        np.testing.assert_allclose(factor * np.array(whole[name]), part[name])


def test_prior_variances_stay(many):
    machines = [CountLikelihoodClassifier()]
    data = read(many, machine=machines[0])
    assert CountEngine().for_sample(machines, data, sample_rows(data, 80, 0)) is machines


@pytest.mark.parametrize("search", [TGPLMCV(GRID, 4), CountLikelihoodCV(GRID, 4)], ids=repr)
def test_searches_by_themselves(search, many):
    search = clone(search).set_params(kernel="linear", max_rows=80)
    search.fit(many.X, many.bags, source=many.source)
    assert search.search_report_["n_source_rows"] == 80
    assert search.best_estimator_.n_features_in_ == 4
    again = clone(search).fit(many.X, many.bags, source=many.source)
    np.testing.assert_array_equal(
        again.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )
    other = clone(search).set_params(random_state=1).fit(many.X, many.bags, source=many.source)
    assert np.any(other.cv_results_["mean_test_score"] != search.cv_results_["mean_test_score"])
    whole = clone(search).set_params(max_rows=10_000).fit(many.X, many.bags, source=many.source)
    without = clone(search).set_params(max_rows=None).fit(many.X, many.bags, source=many.source)
    np.testing.assert_array_equal(
        whole.cv_results_["mean_test_score"], without.cv_results_["mean_test_score"]
    )


def test_stacked_domains_in_a_pipeline(many):
    Xa, ya = stack_domains(source=many.source, target=(many.X * 5, many.bags))
    pipeline = make_pipeline(StandardScaler(), TGPLM(kernel="linear"))
    found = path_search(pipeline, Xa, ya, grid={"tgplm__coupling": [0.1, 1.0]}, cv=4, max_rows=80)
    scaler = StandardScaler().fit(Xa)
    plain = path_search(
        pipeline[-1],
        scaler.transform(many.X * 5),
        many.bags,
        source=(scaler.transform(many.X_source), many.y_source),
        grid={"coupling": [0.1, 1.0]},
        cv=4,
        max_rows=80,
    )
    assert [e["score"] for e in found.table] == [e["score"] for e in plain.table]


def test_what_cannot_be_sampled(many):
    def search(machine=TGPLM(), **settings):  # noqa: B008
        return path_search(machine, many.X, many.bags, source=many.source, grid=GRID, **settings)

    with pytest.raises(BagError, match=r"room for [01] of 40 bags, which have 4 rows on average"):
        search(max_rows=5)
    splits = list(BagKFold(4).split(many.X, many.bags))
    with pytest.raises(ValueError, match="cv gives row numbers, and max_rows takes a sample"):
        search(max_rows=80, cv=splits)
    for wrong in (1, 0.5, True, "80"):
        with pytest.raises(ValueError, match="max_rows must be None or an integer"):
            search(max_rows=wrong)
    with pytest.raises(ValueError, match="'max_rows' parameter of TGPLMCV"):
        TGPLMCV(max_rows=1).fit(many.X, many.bags)
    rows = np.vstack([many.X_source, many.X])
    gram, n = rows @ rows.T, len(many.X_source)
    with pytest.raises(ValueError, match="max_rows needs rows to compute the kernel from"):
        path_search(
            TGPLM(kernel="precomputed"),
            gram[n:],
            many.bags,
            source=(gram[:n], many.y_source),
            max_rows=80,
        )


# Twice the data ---------------------------------------------------------------------------


def twice(domains):
    """Return everything twice, bags under new ids, and splits that keep copies together."""
    n, n_bags = len(domains.X), len(domains.shares)
    ids = np.concatenate([domains.bag_ids, n_bags + domains.bag_ids])
    shares = domains.shares | {n_bags + k: p for k, p in domains.shares.items()}
    splits = [
        (np.concatenate([train, n + train]), np.concatenate([test, n + test]))
        for train, test in BagKFold(4).split(domains.X, domains.bags)
    ]
    source = np.vstack([domains.X_source] * 2), np.tile(domains.y_source, 2)
    return np.vstack([domains.X] * 2), Bags.from_arrays(ids, shares), source, splits


@pytest.mark.parametrize(
    "machine",
    [
        TGPLM(kernel="linear", clip=0.05, tol=1e-6),
        TGPLM(kernel="linear", clip=0.05, tol=1e-6, solver="newton"),
        TGPLM(clip="bag", bag_weight="size", tol=1e-6),
        InverseCalibrationSVM(kernel="linear", clip=0.05, tol=1e-6),
        SourceSVM(kernel="linear", tol=1e-6, solver="newton"),
    ],
    ids=repr,
)
def test_twice_the_data_are_searched_at_the_same_machines(machine, domains):
    needs_source = not isinstance(machine, InverseCalibrationSVM)
    X, bags, source, splits = twice(domains)
    given = {"source": domains.source} if needs_source else {}
    once = path_search(machine, domains.X, domains.bags, cv=BagKFold(4), **given)
    given = {"source": source} if needs_source else {}
    both = path_search(machine, X, bags, cv=splits, **given)
    for entry, other in zip(once.table, both.table, strict=True):
        for name, value in entry["params"].items():
            halves = 2.0 if name.startswith("C") else 1.0
            assert value == pytest.approx(halves * other["params"][name])
        assert entry["share_error"] == pytest.approx(other["share_error"], abs=1e-12)
        assert entry["soft_share_error"] == pytest.approx(other["soft_share_error"], abs=1e-3)
    as_good = both.table[once.best_index]["score"]
    assert as_good == pytest.approx(both.best_score, abs=1e-9)  # there are ties


def test_a_weight_of_two_is_two_rows(domains):
    machine = TGPLM(kernel="linear", clip=0.05)
    weighted = Bags.from_arrays(
        domains.bag_ids, domains.shares, weights=dict.fromkeys(domains.shares, 2.0)
    )
    source = (*domains.source, np.full(len(domains.X_source), 2.0))
    X, bags, both, _ = twice(domains)
    data = read_training(machine, domains.X, weighted, source=source)
    by_weight = named_grid("full", machine, data)
    by_rows = named_grid("full", machine, read_training(machine, X, bags, source=both))
    assert by_weight.keys() == by_rows.keys()
    for name, values in by_weight.items():
        np.testing.assert_allclose(values, by_rows[name])
