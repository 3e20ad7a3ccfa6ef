# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from scipy.special import expit
from sklearn.model_selection import GridSearchCV, cross_validate

from bagshift import TGPLM, Bags, InverseCalibrationSVM, stack_domains
from bagshift.exceptions import BagError
from bagshift.model_selection import (
    BagKFold,
    count_log_likelihood,
    get_bag_scorer,
    neg_share_error,
    neg_soft_share_error,
    share_error_soft_ties,
)

SCORERS = [neg_share_error, neg_soft_share_error, share_error_soft_ties]


class FirstColumn:
    """Scores a row by its first number and remembers how many rows it saw."""

    def decision_function(self, X):
        self.n_rows = len(X)
        return X[:, 0]


@pytest.fixture
def two_bags():
    """Bags of 3 and 2 rows and a row in no bag."""
    X = np.array([[1.0], [-1.0], [2.0], [3.0], [-4.0], [np.nan]])
    bags = Bags.from_arrays(["a", "a", "a", "b", "b", Bags.NO_BAG], {"a": 1 / 3, "b": 1.0})
    return X, bags


def test_values_by_hand(two_bags):
    X, bags = two_bags
    hard = (3 * abs(2 / 3 - 1 / 3) + 2 * abs(1 / 2 - 1)) / 5
    soft = (3 * abs(expit(2 / 3) - 1 / 3) + 2 * abs(expit(-1 / 2) - 1)) / 5
    assert neg_share_error(FirstColumn(), X, bags) == pytest.approx(-hard)
    assert neg_soft_share_error(FirstColumn(), X, bags) == pytest.approx(-soft)
    assert share_error_soft_ties(FirstColumn(), X, bags) == pytest.approx(1 - hard - 1e-6 * soft)


def test_only_rows_in_bags_are_predicted(two_bags):
    X, bags = two_bags
    Xa, ya = stack_domains(source=(np.zeros((4, 1)), np.array([0, 1, 0, 1])), target=(X, bags))
    for scorer in SCORERS:
        model = FirstColumn()
        assert scorer(model, Xa, ya) == scorer(model, X, bags)
        assert model.n_rows == 5


def test_ties_are_broken_by_the_soft_error_only(two_bags):
    X, bags = two_bags
    closer = X.copy()
    closer[3] = 30.0  # the same predicted shares, a better mean score of bag b
    assert neg_share_error(FirstColumn(), X, bags) == neg_share_error(FirstColumn(), closer, bags)
    assert share_error_soft_ties(FirstColumn(), closer, bags) > share_error_soft_ties(
        FirstColumn(), X, bags
    )


@pytest.mark.parametrize("scorer", [*SCORERS, count_log_likelihood])
def test_what_cannot_be_scored(scorer, two_bags):
    X, bags = two_bags
    with pytest.raises(BagError, match="BagKFold"):
        scorer(FirstColumn(), X[1:], bags[1:])
    with pytest.raises(BagError, match="at least one row in a bag"):
        scorer(FirstColumn(), X[5:], bags[5:])
    with pytest.raises(TypeError, match="needs y to be a Bags, got list"):
        scorer(FirstColumn(), X, [0, 1])


def test_count_log_likelihood_by_hand(two_bags):
    X, bags = two_bags

    class Sigmoid(FirstColumn):
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            second = expit(self.decision_function(X))
            return np.column_stack([1 - second, second])

    p, q = expit(X[:, 0]), expit(-X[:, 0])
    one_of_three = p[0] * q[1] * q[2] + q[0] * p[1] * q[2] + q[0] * q[1] * p[2]
    expected = (np.log(one_of_three) + np.log(p[3] * p[4])) / 2
    Xa, ya = stack_domains(source=(np.zeros((4, 1)), np.array([0, 1, 0, 1])), target=(X, bags))
    for rows, y in ((X, bags), (Xa, ya)):
        model = Sigmoid()
        assert count_log_likelihood(model, rows, y) == pytest.approx(expected)
        assert model.n_rows == 5
    with pytest.raises(TypeError, match="FirstColumn has no predict_proba"):
        count_log_likelihood(FirstColumn(), X, bags)


def test_scorers_by_name():
    for scorer in (*SCORERS, count_log_likelihood):
        assert get_bag_scorer(scorer.__name__) is scorer
    with pytest.raises(ValueError, match=r"'accuracy' is no bag scorer; choose one of \["):
        get_bag_scorer("accuracy")


def test_cross_validate_and_grid_search_take_them(domains):
    machine = InverseCalibrationSVM()
    scores = cross_validate(
        machine,
        domains.X,
        domains.bags,
        cv=BagKFold(4),
        scoring={scorer.__name__: scorer for scorer in (*SCORERS, count_log_likelihood)},
        error_score="raise",
    )
    assert (scores["test_neg_share_error"] <= 0).all()
    assert (scores["test_count_log_likelihood"] < 0).all()
    search = GridSearchCV(
        TGPLM(), {"coupling": [0.1, 1.0]}, cv=BagKFold(4), scoring=neg_share_error
    )
    search.fit(domains.X, domains.bags, source=domains.source)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_default_score_agrees_with_the_hard_criterion(domains):
    machine = InverseCalibrationSVM().fit(domains.X, domains.bags)
    expected = 1 + neg_share_error(machine, domains.X, domains.bags)
    assert machine.score(domains.X, domains.bags) == pytest.approx(expected)


@pytest.mark.parametrize("scorer", [neg_share_error, count_log_likelihood])
def test_rows_and_bags_of_different_length_are_refused(scorer):
    X = np.array([[-1.0], [1.0], [2.0], [-2.0]])
    bags = Bags.from_arrays(["a", "a", "b", "b"], counts={"a": 1, "b": 1})
    machine = TGPLM(kernel="linear").fit(X, np.array([0, 1, 1, 0]))
    for rows, some in ((X, bags[2:]), (X[2:], bags)):
        with pytest.raises(ValueError, match="rows but the bags describe"):
            scorer(machine, rows, some)
