# SPDX-License-Identifier: BSD-3-Clause
"""Fits on rows in files: the machines of rows in memory, with passes that can be recorded."""

import numpy as np
import pytest

from bagshift import TGPLM, Bags, CountLikelihoodClassifier, InverseCalibrationSVM
from bagshift.estimators._stored_counts import fit_stored_counts
from bagshift.estimators._stored_data import StoredBags, StoredData
from bagshift.estimators._stored_units import fit_stored_units
from bagshift.scale.stored_rows import stored_rows

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
