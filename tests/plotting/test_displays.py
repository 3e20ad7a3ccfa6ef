# SPDX-License-Identifier: BSD-3-Clause
"""Displays show the numbers they are made from, in axes that are given or in new ones."""

import io
import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure

from bagshift import BagError, Bags, CountLikelihoodClassifier, ProportionSVM
from bagshift.inspection import Intervals
from bagshift.plotting import (
    BagShareDisplay,
    DomainBoundaryDisplay,
    LabelFreeAccuracyDisplay,
    TomographyDisplay,
    TransferPathDisplay,
)
from bagshift.plotting._axes import round_range


@pytest.fixture
def ax():
    return Figure(figsize=(4, 4), layout="constrained").subplots()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    labels = X[:, 0] + 0.3 * rng.normal(size=200) > 0
    ids = np.arange(200) // 5
    bags = Bags.from_arrays(ids, counts=dict(enumerate(np.bincount(ids, labels).astype(int))))
    return X, labels, bags


@pytest.fixture(scope="module")
def model(data):
    X, _, bags = data
    return CountLikelihoodClassifier(kernel="linear").fit(X, bags)


# Shares ---------------------------------------------------------------------------------------


def test_predicted_shares_are_means_of_bags(data, model, ax):
    X, _, bags = data
    display = BagShareDisplay.from_estimator(model, X, bags, ax=ax)
    chances = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(display.predicted, chances.reshape(-1, 5).mean(axis=1))
    np.testing.assert_array_equal(display.given, bags.positive_shares)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert f"40 bags, mean distance {display.error:.3f}" == ax.get_title()
    ax.figure.canvas.draw()


def test_shares_of_labels_and_of_the_declared_class(data, ax):
    X, _, bags = data
    machine = ProportionSVM().fit(X, bags)
    display = BagShareDisplay.from_estimator(machine, X, bags, ax=ax)
    assert set(np.round(5 * display.predicted, 9)) <= set(range(6))
    ids, counts = bags.bag_index, dict(enumerate((5 - bags.counts[:, 1]).astype(int)))
    no = Bags.from_arrays(ids, counts=counts, positive="no", negative="yes")
    model = CountLikelihoodClassifier(kernel="linear").fit(X, no)
    display = BagShareDisplay.from_estimator(model, X, no, ax=ax)
    assert np.corrcoef(display.given, display.predicted)[0, 1] > 0.5


def test_shares_are_of_the_class_that_the_model_was_fitted_with(data, ax):
    X, _, bags = data
    counts = dict(enumerate((5 - bags.counts[:, 1]).astype(int)))
    no = Bags.from_arrays(bags.bag_index, counts=counts, positive="no", negative="yes")
    model = CountLikelihoodClassifier(kernel="linear").fit(X, no)
    for said in ({}, {"negative": "yes"}):
        given = Bags.from_arrays(bags.bag_index, counts=counts, **said)
        display = BagShareDisplay.from_estimator(model, X, given, ax=ax)
        assert np.corrcoef(display.given, display.predicted)[0, 1] > 0.5


def test_intervals_are_drawn_where_they_can_be_seen():
    few, many = np.linspace(0, 1, 4), np.linspace(0, 1, 300)
    drawn = []
    for shares in (few, many):
        given = Intervals(shares, shares - 0.1, shares + 0.1)
        display = BagShareDisplay(shares, shares, intervals=given).plot(Figure().subplots())
        drawn.append(len(display.ax_.collections))
    assert drawn == [2, 1]


def test_shares_that_do_not_fit():
    with pytest.raises(ValueError, match="of the same bags"):
        BagShareDisplay([0.5], [0.5, 0.5])
    with pytest.raises(BagError, match="there are no bags"):
        BagShareDisplay.from_predictions(Bags.unlabelled(2), [0.5, 0.5])


def test_new_axes_are_made(data, model):
    from matplotlib import pyplot

    X, _, bags = data
    display = BagShareDisplay.from_estimator(model, X, bags)
    assert display.ax_.figure is display.figure_
    pyplot.close(display.figure_)


# Tomography -----------------------------------------------------------------------------------


def test_lines_hold_all_rates_that_the_margins_allow():
    rng = np.random.default_rng(1)
    n_rows = 12
    members = rng.integers(0, n_rows + 1, 60)
    inside = rng.binomial(members, 0.7)
    outside = rng.binomial(n_rows - members, 0.2)
    x, t = members / n_rows, (inside + outside) / n_rows
    display = TomographyDisplay(x, t)
    for share, total, ends in zip(x, t, display.lines, strict=True):
        assert ((ends >= 0) & (ends <= 1)).all()
        for place in (0.0, 0.3, 1.0):
            rates = ends[0] + place * (ends[1] - ends[0])
            assert rates @ [share, 1 - share] == pytest.approx(total)


def test_rates_of_rows_lie_on_the_lines_where_shares_are_met(data, ax):
    _, labels, bags = data
    member = np.arange(200) % 3 == 0
    display = TomographyDisplay.from_predictions(bags, member, labels.astype(float), ax=ax)
    for (low, high), rates in zip(display.lines, display.rates, strict=True):
        along, beside = high - low, rates - low
        assert along[0] * beside[1] - along[1] * beside[0] == pytest.approx(0.0, abs=1e-12)
    assert len(ax.collections) == 2
    ax.figure.canvas.draw()


def test_tomography_of_a_machine(data, model, ax):
    X, _, bags = data
    display = TomographyDisplay.from_estimator(
        model, X, bags, X[:, 1] > 0, group="the tall", ax=ax
    )
    assert ax.get_xlabel() == "rate of positives in the tall"
    assert display.rates.shape == (40, 2)


@pytest.mark.parametrize(
    ("group_shares", "shares", "rates"),
    [([0.5], [0.5, 0.5], None), ([1.5], [0.5], None), ([0.5], [np.nan], None), ([0], [1], [[1]])],
)
def test_margins_that_do_not_fit(group_shares, shares, rates):
    with pytest.raises(ValueError, match="must"):
        TomographyDisplay(group_shares, shares, rates=rates)


# Both domains ---------------------------------------------------------------------------------


def test_two_columns_are_the_plane(data, model, ax):
    X, labels, _ = data
    display = DomainBoundaryDisplay.from_estimator(
        model, X, source=(X[:50], labels[:50].astype(int)), ax=ax
    )
    np.testing.assert_array_equal(display.target, X)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("first column", "second column")
    across, along, scores = display.net
    np.testing.assert_allclose(scores[3, 7], model.decision_function([[across[7], along[3]]])[0])
    ax.figure.canvas.draw()


def test_names_of_columns(data, ax):
    X, _, bags = data
    frame = pd.DataFrame(X, columns=["age", "income"])
    model = CountLikelihoodClassifier(kernel="linear").fit(frame, bags)
    DomainBoundaryDisplay.from_estimator(model, frame, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "income")


def test_names_are_no_formulas(data, ax):
    X, _, bags = data
    frame = pd.DataFrame(X, columns=["$_$ paid", "$x^2$"])
    model = CountLikelihoodClassifier(kernel="linear").fit(frame, bags)
    DomainBoundaryDisplay.from_estimator(model, frame, ax=ax)
    ax.figure.canvas.draw()
    drawn = io.StringIO()
    with rc_context({"svg.fonttype": "none"}):
        ax.figure.savefig(drawn, format="svg")
    assert "$_$ paid" in drawn.getvalue()
    assert "$x^2$" in drawn.getvalue()
    display = TomographyDisplay([0.5], [0.5], group="those with $_$").plot(ax)
    display.figure_.canvas.draw()


def test_one_column_leaves_nothing_beside_the_score(data, ax):
    X, _, bags = data
    model = CountLikelihoodClassifier(kernel="linear").fit(X[:, :1], bags)
    display = DomainBoundaryDisplay.from_estimator(model, X[:, :1], ax=ax)
    np.testing.assert_array_equal(display.target[:, 1], 0.0)
    assert ax.get_ylabel().endswith("of 1 column")
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([-6.3, 7.9], (-8.0, 8.0)),
        ([0.0, 1.0], (0.0, 1.0)),
        ([3.0, 3.0], (0.0, 6.0)),
        ([0.0], (-1.0, 1.0)),
    ],
)
def test_round_ranges_hold_all_values(values, ends):
    low, high = round_range(np.array(values))
    assert low <= min(values)
    assert max(values) <= high
    np.testing.assert_allclose([low, high], ends)


@pytest.mark.parametrize("n_columns", [1, 3, 9])
def test_scores_are_an_axis_of_more_columns(data, n_columns, ax):
    X, labels, bags = data
    rng = np.random.default_rng(2)
    more = np.column_stack([X[:, 0], 1e3 * rng.normal(size=(200, n_columns - 1))])
    source = (more[:50], labels[:50].astype(int))
    model = CountLikelihoodClassifier(kernel="rbf").fit(more, bags, source=source)
    display = DomainBoundaryDisplay.from_estimator(model, more, source=source, ax=ax)
    np.testing.assert_allclose(display.target[:, 0], model.decision_function(more))
    places = np.concatenate([display.target, display.source])
    assert abs(np.corrcoef(places.T)[0, 1]) < 1e-6 or n_columns == 1
    assert display.net is None
    ax.figure.canvas.draw()


def test_many_rows_are_thinned(model):
    rng = np.random.default_rng(3)
    display = DomainBoundaryDisplay.from_estimator(
        model, rng.normal(size=(5000, 2)), ax=Figure().subplots()
    )
    assert len(display.target) == 2000


# Trust ----------------------------------------------------------------------------------------


def test_transfer_path(data, ax):
    X, labels, bags = data
    machine = CountLikelihoodClassifier(kernel="linear", coupling=1.0)
    source = (X[:40] + 0.1, labels[:40].astype(int))
    display = TransferPathDisplay.from_estimator(
        machine, X, bags, source=source, couplings=(0.0, 1.0, np.inf), ax=ax
    )
    report = display.report
    assert display.ax_ is ax
    assert report.verdict in ax.get_title()
    shown = [label.get_text() for label in ax.get_xticklabels()]
    assert [text.split("\n")[0] for text in shown] == ["target", "0", "1", "∞", "source"]
    assert shown[2].endswith(f"\n{report.path[1].score:.2f}")
    (line,) = (line for line in ax.lines if len(line.get_xdata()) == 3)
    np.testing.assert_allclose(line.get_ydata(), [point.vote.estimate for point in report.path])
    ax.figure.canvas.draw()


def test_a_source_far_off_hides_nothing(data):
    X, labels, bags = data
    machine = CountLikelihoodClassifier(kernel="linear", coupling=0.1)
    source = (X[:100], 1 - labels[:100].astype(int))
    found = [0.0, 0.1, 1.0]
    ax = Figure(figsize=(5.2, 3.8), layout="constrained").subplots()
    display = TransferPathDisplay.from_estimator(
        machine, X, bags, source=source, couplings=found, ax=ax
    )
    report = display.report
    low, high = ax.get_ylim()
    assert low > report.source_only.vote.estimate
    assert all(low < point.vote.low and point.vote.high < high for point in report.path)
    assert [text.get_text() for text in ax.texts] == [f"{report.source_only.vote.estimate:.2f}"]


def test_couplings_do_not_run_into_each_other(data):
    X, labels, bags = data
    machine = CountLikelihoodClassifier(kernel="linear", coupling=1.0)
    source = (X[:40] + 0.1, labels[:40].astype(int))
    ax = Figure(figsize=(5.2, 3.8), layout="constrained").subplots()
    TransferPathDisplay.from_estimator(machine, X, bags, source=source, ax=ax)
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_accuracy_without_labels(data, model, ax):
    X, _, bags = data
    display = LabelFreeAccuracyDisplay.from_estimator(model, X, bags, n_bootstrap=20, ax=ax)
    estimate = display.estimate
    found = [line for line in ax.lines if len(line.get_xdata()) == 6]
    assert found[0].get_xdata()[0] == estimate.accuracy.estimate
    assert found[1].get_xdata()[0] == estimate.goodman.accuracy.estimate
    again = LabelFreeAccuracyDisplay.from_predictions(
        bags, estimate.scores, estimator=model, n_bootstrap=20, ax=Figure().subplots()
    )
    assert again.estimate.accuracy == estimate.accuracy
    assert "40 bags" in ax.get_title()
    ax.figure.canvas.draw()


def test_bags_that_cannot_tell_are_named_in_the_title(data, ax):
    X, _, bags = data
    noise = np.random.default_rng(9).normal(size=X.shape)
    machine = CountLikelihoodClassifier(kernel="linear")
    source = (noise[:100], np.arange(100) % 2)
    LabelFreeAccuracyDisplay.from_estimator(
        machine, noise, bags, source=source, n_bootstrap=20, ax=ax
    )
    assert ax.get_title() == "Cannot tell: 40 bags say too little"
