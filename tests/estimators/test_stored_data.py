# SPDX-License-Identifier: BSD-3-Clause
"""Fits on rows in files: the machines of rows in memory, with passes that can be recorded."""

from dataclasses import replace

import numpy as np
import pytest

from bagshift import TGPLM, Bags, CountLikelihoodClassifier, InverseCalibrationSVM
from bagshift.estimators._mapped_rows import MappedRows, sampled_map
from bagshift.estimators._stored_counts import fit_stored_counts
from bagshift.estimators._stored_data import StoredBags, StoredData
from bagshift.estimators._stored_units import fit_stored_units
from bagshift.scale.stored_rows import stored_rows
from bagshift.workflows.mapped_means import mapped_means

SIZES = np.tile([3, 5, 8], 50)


def make_data(tmp_path, *, positive="yes", with_source=True):
    """Return the same data in memory and in files, cut into files at odd places."""
    rng = np.random.default_rng(5)
    truth = rng.normal(size=4)
    X = rng.normal(size=(SIZES.sum(), 4)) + 0.3
    bag_of_row = np.repeat(np.arange(len(SIZES)), SIZES)
    # Rows of a bag are alike, so that the shares differ.
    X += rng.normal(size=(len(SIZES), 4))[bag_of_row]
    is_positive = X @ truth + rng.logistic(size=len(X)) > 0
    shares = np.bincount(bag_of_row, is_positive) / SIZES
    X_source = rng.normal(size=(400, 4))
    labels = np.where(X_source @ truth + rng.logistic(size=400) > 0, positive, "no")
    X, X_source = X.astype(np.float32), X_source.astype(np.float32)
    bags = Bags.from_arrays(bag_of_row, dict(enumerate(shares)), positive=positive, negative="no")
    means = bags.bag_means(X.astype(np.float64))

    def stored(name, rows, cuts):
        files = []
        for number, part in enumerate(np.split(rows, cuts)):
            files.append(tmp_path / f"{name}{number}.npy")
            np.save(files[-1], part)
        return stored_rows(files)

    classes = np.sort([positive, "no"])
    known = {
        "classes": classes,
        "positive": positive,
        "X_source": stored("source", X_source, [1, 300]) if with_source else None,
        "source_signs": np.where(labels == classes[1], 1.0, -1.0) if with_source else np.empty(0),
        "bags": StoredBags(shares, SIZES.astype(float), SIZES),
    }
    units = StoredData(X_target=stored("mean", means, [70]), **known)
    rows = StoredData(X_target=stored("row", X, [200]), **known)
    source = (X_source, labels) if with_source else None
    return X, bags, source, units, rows


@pytest.mark.parametrize("positive", ["yes", "abstained"])  # the second and the first class
@pytest.mark.parametrize("n_threads", [1, 2])
def test_tgplm_is_that_of_rows_in_memory(tmp_path, positive, n_threads):
    X, bags, source, units, _ = make_data(tmp_path, positive=positive)
    given = {"kernel": "linear", "C_source": 0.5, "coupling": 0.7, "tol": 1e-5}
    expected = TGPLM(**given, solver="newton").fit(X, bags, source=source)
    machine = fit_stored_units(TGPLM(**given), units, n_threads=n_threads)
    assert machine.converged_
    assert machine.objective_ == pytest.approx(expected.objective_, rel=1e-7)
    np.testing.assert_allclose(machine.coef_, expected.coef_, atol=1e-4)
    np.testing.assert_allclose(
        machine.source_decision_function(X), expected.source_decision_function(X), atol=1e-3
    )
    assert machine.predict(X).tolist() == expected.predict(X).tolist()
    assert machine.positive_class_ == positive
    assert machine.fit_report_["n_target_rows"] == len(X)


def mapped_like(machine, X, bags, source):
    """The map that the machine has of these rows in memory."""
    return sampled_map(machine, None if source is None else source[0], X, n_components=40)


@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize("feature_map", ["nystroem", "fourier"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_kernel_on_means_of_mapped_rows(tmp_path, feature_map, n_threads, with_source):
    X, bags, source, _, rows = make_data(tmp_path, with_source=with_source)
    kind = TGPLM if with_source else InverseCalibrationSVM
    given = {"kernel": "rbf", "feature_map": feature_map, "n_components": 40, "tol": 1e-5}
    expected = kind(**given, solver="newton").fit(X, bags, source=source)
    machine = kind(**given)
    mapped = mapped_like(machine, X, bags, source)
    file = mapped_means(
        MappedRows(rows.X_target, mapped.space), SIZES, tmp_path / "m", "one", n_threads=n_threads
    )
    means = np.load(file)
    np.testing.assert_allclose(means, bags.bag_means(mapped.space.transform(X)), atol=1e-6)
    units = replace(rows, X_target=stored_rows([file]))
    fit_stored_units(machine, units, mapped=mapped, n_threads=n_threads)
    assert machine.objective_ == pytest.approx(expected.objective_, rel=1e-5)
    np.testing.assert_allclose(
        machine.decision_function(X), expected.decision_function(X), atol=2e-3
    )
    assert machine.kernel_ == expected.kernel_
    assert machine.n_features_in_ == X.shape[1]
    assert machine.fit_report_["n_components"] == expected.fit_report_["n_components"]
    assert machine.fit_report_["map_error"] == pytest.approx(
        expected.fit_report_["map_error"], rel=1e-3
    )


@pytest.mark.parametrize("n_threads", [1, 2])
def test_kernel_on_counts_of_rows_mapped_as_they_are_read(tmp_path, n_threads):
    X, bags, source, _, rows = make_data(tmp_path)
    given = {"kernel": "rbf", "n_components": 40, "standardize": False, "tol": 1e-8}
    expected = CountLikelihoodClassifier(**given).fit(X, bags, source=source)
    machine = CountLikelihoodClassifier(**given)
    mapped = mapped_like(machine, X, bags, source)
    fit_stored_counts(machine, rows, mapped=mapped, n_threads=n_threads)
    assert machine.objective_ == pytest.approx(expected.objective_, rel=1e-6)
    np.testing.assert_allclose(
        machine.decision_function(X), expected.decision_function(X), atol=5e-3
    )
    np.testing.assert_allclose(
        machine.source_decision_function(X), expected.source_decision_function(X), atol=5e-3
    )


def test_means_of_mapped_rows_go_on_where_they_were(tmp_path, monkeypatch):
    """Blocks of rows and parts of bags end anywhere; the digits do not depend on an interrupt."""
    X, bags, source, _, rows = make_data(tmp_path)
    mapped = mapped_like(TGPLM(kernel="rbf"), X, bags, source)
    matrix = MappedRows(rows.X_target, mapped.space)
    monkeypatch.setattr("bagshift.workflows.mapped_means.CHUNK_ROWS", 7)
    monkeypatch.setattr("bagshift.workflows.mapped_means.PART_BYTES", 11 * 8 * 40)
    whole = mapped_means(matrix, SIZES, tmp_path / "whole", "one")
    np.testing.assert_allclose(
        np.load(whole), bags.bag_means(mapped.space.transform(X)), atol=1e-6
    )
    seen = []

    def stop(done, total):
        seen.append(done)
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mapped_means(matrix, SIZES, tmp_path / "cut", "one", progress=stop)
    later = []
    cut = mapped_means(
        matrix, SIZES, tmp_path / "cut", "one", progress=lambda done, total: later.append(done)
    )
    assert later[0] > 0.3 * len(X)
    assert later[-1] == len(X)
    assert np.array_equal(np.load(cut), np.load(whole))


def test_bags_alone(tmp_path):
    X, bags, _, units, _ = make_data(tmp_path, with_source=False)
    expected = InverseCalibrationSVM(kernel="linear", solver="newton").fit(X, bags)
    machine = fit_stored_units(InverseCalibrationSVM(kernel="linear"), units)
    np.testing.assert_allclose(
        machine.decision_function(X), expected.decision_function(X), atol=2e-3
    )


@pytest.mark.parametrize("positive", ["yes", "abstained"])
@pytest.mark.parametrize("with_source", [True, False])
def test_counts_are_those_of_rows_in_memory(tmp_path, positive, with_source):
    X, bags, source, _, rows = make_data(tmp_path, positive=positive, with_source=with_source)
    given = {"kernel": "linear", "C_target": 1.0, "tol": 1e-9}
    expected = CountLikelihoodClassifier(**given, standardize=False).fit(X, bags, source=source)
    machine = fit_stored_counts(CountLikelihoodClassifier(**given), rows)
    assert machine.start_ == expected.start_
    assert machine.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    np.testing.assert_allclose(machine.coef_, expected.coef_, atol=1e-6)
    np.testing.assert_allclose(machine.intercept_, expected.intercept_, atol=1e-6)


def test_passes_are_given_to_the_recorder(tmp_path):
    *_, units, rows = make_data(tmp_path)
    for fit, machine, data in (
        (fit_stored_units, TGPLM(kernel="linear"), units),
        (fit_stored_counts, CountLikelihoodClassifier(kernel="linear"), rows),
    ):
        seen = []

        def record(passes, domain, seen=seen):
            seen.append((domain, passes.n_units))
            return passes

        fit(machine, data, record=record)
        assert seen == [("source", 400), ("target", len(SIZES))]
