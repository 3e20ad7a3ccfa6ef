# SPDX-License-Identifier: BSD-3-Clause
"""What the tags of a method say it uses is what changes its scores, for every public one.

The table of methods in the documentation shows these tags, so it is as right as they are.
"""

import numpy as np
import pytest
from method_answers import public_methods, settings_that_matter
from sklearn.svm import SVC

from bagshift import (
    TGPLM,
    Bags,
    LeaveOneBagOut,
    OneVsRestBagClassifier,
    TrueLabelSVM,
    get_bag_tags,
)
from problems import GRID, with_settings

pytestmark = [
    # Few and noisy bags: what is asked here is whether the scores are others, not how good.
    pytest.mark.filterwarnings("ignore::bagshift.BagWarning"),
    pytest.mark.filterwarnings("ignore::bagshift.ReversedScoresWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

# Scales, landmarks and the tube of TGPLM would follow the number of rows in no bag.
PLAIN = {
    "kernel": "linear",
    "standardize": False,
    "clip": 0.05,
    "grid": GRID,
    "cv": LeaveOneBagOut(),
    "tol": 1e-8,
}
# Methods that only begin with the source often end at the same labels whatever it says, and a
# machine held by rows on its margin need not move.
SEEDS = range(6)

CASES = [
    pytest.param(method, settings, id="-".join([name, *text]))
    for name, method in public_methods().items()
    # It takes no bags at all; its own tests say what it refuses.
    if method is not TrueLabelSVM
    for text, settings in [
        ((), {}),
        *(((text,), setting) for text, setting in settings_that_matter(method).items()),
    ]
]
every_method = pytest.mark.parametrize(("method", "settings"), CASES)


class Problem:
    """Overlapping classes in bags of six, rows in no bag, and history of a similar domain."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.source = drawn(rng, np.arange(30) % 2)
        # The first bags are of one class alone.
        self.X, self.labels = drawn(rng, np.repeat([0, 1, 0, 1], [6, 6, 20, 16]))
        mixed = 12 + rng.permutation(36)
        self.X[12:], self.labels[12:] = self.X[mixed], self.labels[mixed]
        self.X_others, self.labels_others = drawn(rng, np.arange(12) % 2)
        self.ids = list(np.repeat(np.arange(8), 6))
        self.shares = np.bincount(self.ids, self.labels) / 6

    def bags(self, shares):
        return Bags.from_arrays(self.ids, dict(enumerate(shares)))

    def with_others(self, shares, labels=None):
        """Return (X, bags) with more rows, which are in no bag."""
        ids = self.ids + [Bags.NO_BAG] * len(self.X_others)
        bags = Bags.from_arrays(ids, dict(enumerate(shares)))
        if labels is not None:
            bags = bags.with_labels([None] * len(self.X) + list(labels))
        return np.vstack([self.X, self.X_others]), bags


def drawn(rng, labels):
    return rng.normal(size=(len(labels), 3)) + 1.2 * (labels[:, None] - 0.5), labels


class Trained:
    """A method in one setting, which gives scores of the same rows after each fit."""

    def __init__(self, method, settings, seed=0):
        # What is asked about comes last, so that nothing plain takes its place.
        self.machine = with_settings(method(), PLAIN).set_params(**settings)
        if method is OneVsRestBagClassifier:
            self.machine.set_params(estimator=with_settings(TGPLM(), PLAIN))
        self.problem, self.tags = Problem(seed), get_bag_tags(self.machine)

    @property
    def source(self):
        return self.problem.source if self.tags.uses_source else None

    def scores(self, X, y, source=None):
        return self.machine.fit(X, y, source=source).decision_function(self.problem.X)

    def in_bags(self, shares):
        """Return scores after a fit to bags, and to labelled rows for one that needs these."""
        if not self.tags.needs_target_labels:
            return self.scores(self.problem.X, self.problem.bags(shares), self.source)
        X, bags = self.problem.with_others(shares, self.problem.labels_others)
        return self.scores(X, bags, self.source)

    def beside_others(self, shares, labels=None):
        return self.scores(*self.problem.with_others(shares, labels), self.source)


def of_seeds(method, settings):
    return (Trained(method, settings, seed) for seed in SEEDS)


def differ(one, two):
    return np.abs(one - two).max() > 1e-6 * np.abs(one).max()


def assert_same(one, two):
    np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-9)


def is_one_sentence(refusal):
    text = str(refusal.value)
    return "\n" not in text and text.endswith(".") and ". " not in text


@every_method
def test_shares_count_where_the_tags_say_so(method, settings):
    trained = Trained(method, settings)
    problem = trained.problem
    # Fewer positives in all, and fewer bags of one class alone.
    fewer = np.minimum(problem.shares, 1 / 2)
    one, two = (trained.in_bags(shares) for shares in (problem.shares, fewer))
    if trained.tags.uses_bags:
        assert differ(one, two)
        return
    assert_same(one, two)
    if not trained.tags.needs_target_labels:
        assert_same(one, trained.scores(problem.X, None, trained.source))


@every_method
def test_the_source_counts_where_the_tags_say_so(method, settings):
    trained = Trained(method, settings)
    problem = trained.problem
    if trained.tags.uses_source:
        # Bags of one half do not tell the classes apart, so that the source has to.
        assert any(
            changes_with_source(each, shares)
            for shares in (problem.shares, np.full(8, 0.5))
            for each in of_seeds(method, settings)
        )
        return
    with pytest.raises(ValueError, match="source") as refusal:
        trained.scores(problem.X, problem.bags(problem.shares), problem.source)
    assert is_one_sentence(refusal)


def changes_with_source(trained, shares):
    problem = trained.problem
    usual = trained.in_bags(shares)
    problem.source = problem.source[0], 1 - problem.source[1]
    return differ(usual, trained.in_bags(shares))


@every_method
def test_a_source_is_missed_where_the_tags_say_so(method, settings):
    trained = Trained(method, settings)
    X, bags = trained.problem.with_others(trained.problem.shares)
    if trained.tags.needs_source:
        with pytest.raises(ValueError, match=r"source=\(X, y\)") as refusal:
            trained.scores(X, bags)
        assert is_one_sentence(refusal)
    else:
        assert np.all(np.isfinite(trained.scores(X, bags)))


@every_method
def test_rows_in_no_bag_count_where_the_tags_say_so(method, settings):
    changes = [changes_with_others(each, settings) for each in of_seeds(method, settings)]
    assert any(changes) == get_bag_tags(method(**settings)).uses_unlabelled_rows


def changes_with_others(trained, settings):
    problem = trained.problem
    if trained.tags.needs_target_labels:
        labels = [None] * 6 + list(problem.labels_others[6:])
        X, bags = problem.with_others(problem.shares, labels)
        kept = np.r_[: len(problem.X), len(problem.X) + 6 : len(X)]
        fewer = trained.scores(X[kept], bags[kept], trained.source)
        return differ(fewer, trained.scores(X, bags, trained.source))
    # Some methods take bags of one class alone for labels, and then need no others; one has to.
    mixed = np.clip(problem.shares, 1 / 6, 5 / 6)
    shares = problem.shares if settings == {"target_labels": "bags"} else mixed
    return differ(trained.in_bags(shares), trained.beside_others(shares))


@every_method
def test_known_labels_count_where_the_tags_say_so(method, settings):
    trained = Trained(method, settings)
    problem = trained.problem
    labels = problem.labels_others
    if not trained.tags.uses_target_labels:
        with pytest.raises(ValueError, match="put labelled target rows into source=") as refusal:
            trained.beside_others(problem.shares, labels)
        assert is_one_sentence(refusal)
    else:
        one, two = (trained.beside_others(problem.shares, each) for each in (labels, 1 - labels))
        assert differ(one, two)


@every_method
def test_known_labels_are_missed_where_the_tags_say_so(method, settings):
    trained = Trained(method, settings)
    X, shares = trained.problem.X, trained.problem.shares
    if trained.tags.needs_target_labels:
        assert trained.tags.uses_target_labels
        with pytest.raises(ValueError, match="label"):
            trained.scores(X, trained.problem.bags(shares), trained.source)
    else:
        assert np.all(np.isfinite(trained.in_bags(shares)))


@every_method
def test_every_method_predicts_new_rows(method, settings):
    trained = Trained(method, settings)
    problem = trained.problem
    # The guide says so of all of them; one that cannot has to be told apart there and here.
    assert not trained.tags.transductive
    trained.in_bags(problem.shares)
    assert trained.machine.decision_function(problem.X_others).shape == (12,)


@pytest.mark.parametrize("method", public_methods().values())
def test_every_method_takes_plain_labels(method):
    trained = Trained(method, {})
    X, labels = trained.problem.X, trained.problem.labels
    assert differ(trained.scores(X, labels), trained.scores(X, 1 - labels))


def test_estimators_of_other_libraries_use_nothing_of_ours():
    tags = get_bag_tags(SVC())
    assert not any(getattr(tags, name) for name in tags.__slots__)
