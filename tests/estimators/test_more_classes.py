# SPDX-License-Identifier: BSD-3-Clause
"""Machines of more than two classes: one against all the others, on one kernel."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bagshift import (
    TGPLM,
    BagError,
    Bags,
    BagWarning,
    CountLikelihoodClassifier,
    InverseCalibrationSVM,
    MeanMap,
    ProportionMatching,
    RoundedShareWarning,
    SourceSVM,
    TrueLabelSVM,
    stack_domains,
)
from bagshift.estimators._class_training import ClassTraining, read_classes
from bagshift.estimators._training import TrainingData
from bagshift.metrics import class_share_error

NAMES = np.array(["bear", "cat", "dog", "elk"])
N_BAGS, BAG_SIZE = 40, 6


def domains(n_classes=4, bag_size=BAG_SIZE, n_features=3, seed=0):
    """Return target rows, their ids and codes, and labelled source rows."""
    rng = np.random.default_rng(seed)
    centres = 2.5 * rng.normal(size=(n_classes, n_features))
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=10**4)])
    codes = codes[: N_BAGS * bag_size]
    X = centres[codes] + rng.normal(size=(len(codes), n_features))
    old = np.arange(80) % n_classes
    X_old = centres[old] + 0.5 + rng.normal(size=(80, n_features))
    return X, np.repeat(np.arange(N_BAGS), bag_size), codes, (X_old, old)


def counts_of(ids, codes, n_classes=4):
    table = np.zeros((ids.max() + 1, n_classes), dtype=int)
    np.add.at(table, (ids, codes), 1)
    return table


def bags_of(ids, codes, names=NAMES):
    frame = pd.DataFrame(counts_of(ids, codes, len(names)), columns=names)
    return Bags.from_arrays(ids, counts=frame.rename_axis("bag"))


def named(source, names=NAMES):
    return source[0], names[source[1]]


MACHINES = [
    TGPLM(tol=1e-6),
    TGPLM(kernel="linear", tol=1e-6),
    TGPLM(kernel="linear", solver="newton"),
    TGPLM(solver="newton", n_components=40),
    TGPLM(solver="newton", feature_map="fourier", n_components=40),
    InverseCalibrationSVM(),
    SourceSVM(),
]


def fitted(machine, X, bags, source):
    machine = clone(machine)
    if isinstance(machine, InverseCalibrationSVM):
        return machine.fit(X, bags)
    return machine.fit(X, bags, source=source)


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_outputs_agree(machine):
    X, ids, codes, source = domains()
    bags = bags_of(ids, codes)
    machine = fitted(machine, X, bags, named(source))
    scores = machine.decision_function(X)
    assert scores.shape == (len(X), 4)
    assert machine.classes_.tolist() == NAMES.tolist()
    assert np.array_equal(machine.predict(X), NAMES[scores.argmax(axis=1)])
    assert machine.score(X, NAMES[codes]) > 0.75
    assert machine.intercept_.shape == machine.objective_.shape == (4,)
    assert machine.converged_
    predicted = counts_of(ids, scores.argmax(axis=1)) / BAG_SIZE
    expected = 0.5 * np.abs(predicted - bags.shares).sum(axis=1).mean()
    assert machine.score(X, bags) == pytest.approx(1 - expected)
    assert class_share_error(bags, predicted) == pytest.approx(expected)
    if hasattr(machine, "predict_proba"):
        probability = machine.predict_proba(X)
        np.testing.assert_allclose(probability.sum(axis=1), 1, atol=1e-14)
        assert np.array_equal(probability.argmax(axis=1), scores.argmax(axis=1))


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_each_class_is_the_machine_of_it_against_the_others(machine):
    X, ids, codes, (X_old, old) = domains()
    bags = bags_of(ids, codes)
    scores = fitted(machine, X, bags, (X_old, NAMES[old])).decision_function(X)
    for place, name in enumerate(NAMES):
        alone = fitted(machine, X, bags.against_rest(name), (X_old, old == place))
        np.testing.assert_allclose(scores[:, place], alone.decision_function(X), atol=1e-10)


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_two_classes_are_the_machine_of_two(machine):
    """What a class has against the rest is, for two, what the other has, with its sign turned."""
    X, ids, codes, (X_old, old) = domains(n_classes=2)
    names = np.array(["no", "yes"])
    table = counts_of(ids, codes, 2) / BAG_SIZE
    bags = Bags.from_arrays(ids, dict(enumerate(table)), classes=names)
    alone = fitted(machine, X, bags, (X_old, names[old]))
    data = _as_classes(clone(machine), X, ids, table, (X_old, old), machine)
    each = clone(machine)
    each.n_features_in_ = X.shape[1]
    scores = each._fit_each_class(data).decision_function(X)
    np.testing.assert_allclose(scores[:, 1], alone.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(scores[:, 0], -scores[:, 1], atol=1e-6)


def _as_classes(machine, X, ids, table, source, like):
    """Return training data of two classes in the form for more."""
    three = Bags.from_arrays(ids, dict(enumerate(np.column_stack([table, 0 * table[:, 0]]))))
    no_source = isinstance(like, InverseCalibrationSVM)
    with pytest.warns(BagWarning):
        given = read_classes(machine, X, three, source=None if no_source else source)
    return ClassTraining(
        **vars(given) | {"classes": np.array([0, 1]), "class_shares": given.class_shares[:, :2]}
    )


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_other_names_in_another_order(machine):
    X, ids, codes, source = domains()
    order = np.array([2, 0, 3, 1])
    one = fitted(machine, X, bags_of(ids, codes), named(source))
    other_names = NAMES[order]
    other = fitted(machine, X, bags_of(ids, codes, other_names), named(source, other_names))
    places = [other.classes_.tolist().index(name) for name in other_names]
    np.testing.assert_allclose(
        other.decision_function(X)[:, places], one.decision_function(X), atol=1e-9
    )


def test_order_of_the_columns_of_shares():
    X, ids, codes, source = domains()
    frame = pd.DataFrame(counts_of(ids, codes), columns=NAMES).rename_axis("bag")
    one = TGPLM().fit(X, Bags.from_arrays(ids, counts=frame), source=named(source))
    turned = Bags.from_arrays(ids, counts=frame[NAMES[::-1]])
    other = TGPLM().fit(X, turned, source=named(source))
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    assert one.score(X, turned) == other.score(X, bags_of(ids, codes))


def test_plain_labels_make_one_against_rest_of_svc():
    X, _, codes, _ = domains()
    machine = TrueLabelSVM(C=2.0, tol=1e-6).fit(X, NAMES[codes])
    for place in range(4):
        alone = SVC(C=2.0, tol=1e-8).fit(X, codes == place)
        np.testing.assert_allclose(
            machine.decision_function(X)[:, place], alone.decision_function(X), atol=1e-4
        )


def test_labelled_rows_and_bags_of_one():
    X, _, codes, source = domains(bag_size=1)
    ids = np.arange(len(X))
    known = Bags.unlabelled(len(X)).with_labels(NAMES[codes])
    machine = TGPLM().fit(X, known, source=named(source))
    assert machine.score(X, NAMES[codes]) > 0.9
    pure = TGPLM().fit(X, bags_of(ids, codes), source=named(source))
    # Not the same: a bag is asked for a score, a label for a score beyond one.
    assert np.mean(pure.predict(X) == machine.predict(X)) > 0.9


def test_stacked_domains_in_a_pipeline():
    X, ids, codes, source = domains()
    bags = bags_of(ids, codes)
    X_all, y_all = stack_domains(source=named(source), target=(X, bags))
    piped = make_pipeline(StandardScaler(), TGPLM()).fit(X_all, y_all)
    scaler = StandardScaler().fit(X_all)
    by_hand = TGPLM().fit(
        scaler.transform(X), bags, source=(scaler.transform(source[0]), NAMES[source[1]])
    )
    np.testing.assert_allclose(
        piped.decision_function(X), by_hand.decision_function(scaler.transform(X))
    )


def test_a_class_that_the_source_never_saw_comes_from_the_bags():
    X, ids, codes, (X_old, old) = domains()
    bags, some = bags_of(ids, codes), old != 3
    with pytest.warns(BagWarning, match="the source has no row of the classes 'elk'"):
        machine = TGPLM().fit(X, bags, source=(X_old[some], NAMES[old[some]]))
    alone = InverseCalibrationSVM(gamma=machine.kernel_.gamma).fit(X, bags)
    np.testing.assert_allclose(
        machine.decision_function(X)[:, 3], alone.decision_function(X)[:, 3], atol=1e-2
    )
    assert machine.score(X, NAMES[codes]) > 0.8


def test_a_class_that_only_the_source_has():
    X, ids, codes, source = domains()
    codes = np.where(codes == 3, 0, codes)
    frame = pd.DataFrame(counts_of(ids, codes, 3), columns=NAMES[:3]).rename_axis("bag")
    bags = Bags.from_arrays(ids, counts=frame)
    with pytest.warns(BagWarning, match="classes 'elk', of which no share is given"):
        machine = TGPLM(C_target=64.0).fit(X, bags, source=named(source))
    assert machine.classes_.tolist() == NAMES.tolist()
    assert np.mean(machine.predict(X) == "elk") < 0.05


def test_an_empty_class_is_said():
    X, ids, codes, _ = domains()
    bags = bags_of(ids, np.where(codes == 3, 0, codes))
    with pytest.warns(BagWarning, match="no bag has a share above 0 of the classes 'elk'"):
        machine = InverseCalibrationSVM().fit(X, bags)
    assert not np.any(machine.predict(X) == "elk")


def test_refusals():
    X, ids, codes, source = domains()
    bags = bags_of(ids, codes)
    with pytest.raises(BagError, match=r"the classes of the shares are .* but the source has 0,"):
        TGPLM().fit(X, bags, source=source)
    binary = Bags.from_arrays(ids, dict(enumerate(bags.shares[:, 0])), positive="bear")
    with pytest.raises(BagError, match="shares are of two classes, but the labels are"):
        TGPLM().fit(X, binary, source=named(source))
    with pytest.raises(BagError, match="labels must be of one type"):
        TGPLM().fit(X, bags, source=(source[0], ["cat", 1] * 40))
    labelled = Bags.concatenate([bags, Bags.unlabelled(1)])
    labelled = labelled.with_labels([None] * len(X) + ["fox"])
    with pytest.raises(BagError, match="with_labels gave rows the labels 'fox'"):
        TGPLM().fit(np.vstack([X, X[:1]]), labelled, source=named(source))
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        ProportionMatching().fit(X, NAMES[codes])
    machine = TGPLM().fit(X, bags)
    with pytest.raises(BagError, match="The shares are of two classes, but the classifier knows"):
        machine.score(X, binary)


def test_what_two_classes_need_stays_with_them():
    X, ids, codes, source = domains()
    data = read_classes(TGPLM(), X, bags_of(ids, codes).against_rest("cat"), source=None)
    assert isinstance(data, TrainingData)
    assert not hasattr(
        TGPLM().fit(X, bags_of(ids, codes), source=named(source)), "positive_class_"
    )


# The count-likelihood machine ------------------------------------------------------------


COUNT_MACHINES = [
    CountLikelihoodClassifier(),
    CountLikelihoodClassifier(kernel="linear", standardize=True),
    CountLikelihoodClassifier(start="inverse_calibration", n_components=60),
    CountLikelihoodClassifier(kernel="poly", degree=2, C_target=4.0),
]


@pytest.mark.parametrize("machine", COUNT_MACHINES, ids=repr)
def test_count_likelihood_of_more_classes(machine):
    X, ids, codes, source = domains()
    bags = bags_of(ids, codes)
    machine = clone(machine).fit(X, bags, source=named(source))
    scores, probability = machine.decision_function(X), machine.predict_proba(X)
    assert machine.converged_
    np.testing.assert_allclose(scores.sum(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(probability, softmax(scores, axis=1), atol=1e-12)
    assert np.array_equal(machine.predict(X), NAMES[scores.argmax(axis=1)])
    accuracy = machine.score(X, NAMES[codes])
    assert accuracy > 0.65
    in_bags = machine.predict_proba_in_bags(X, bags)
    np.testing.assert_allclose(bags.bag_means(in_bags), bags.shares, atol=1e-9)
    assert np.mean(machine.predict_in_bags(X, bags) == NAMES[codes]) > accuracy
    assert machine.score(X, bags) <= 0
    assert machine.source_decision_function(X).shape == scores.shape


def test_count_likelihood_of_two_classes_through_the_form_for_more():
    X, ids, codes, (X_old, old) = domains(n_classes=2)
    table = counts_of(ids, codes, 2) / BAG_SIZE
    machine = CountLikelihoodClassifier(kernel="linear", C_target=4.0, start="source", tol=1e-9)
    data = _as_classes(clone(machine), X, ids, table, (X_old, old), machine)
    each = clone(machine)
    each.n_features_in_ = X.shape[1]
    scores = each._fit_classes(data).decision_function(X)
    alone = machine.fit(
        X, Bags.from_arrays(ids, dict(enumerate(table[:, 1]))), source=(X_old, old)
    )
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], alone.decision_function(X), atol=1e-6)


def test_count_likelihood_with_other_names_in_another_order():
    X, ids, codes, source = domains()
    order = np.array([2, 0, 3, 1])
    machine = CountLikelihoodClassifier(kernel="linear", tol=1e-9)
    one = clone(machine).fit(X, bags_of(ids, codes), source=named(source))
    names = NAMES[order]
    other = clone(machine).fit(X, bags_of(ids, codes, names), source=named(source, names))
    places = [other.classes_.tolist().index(name) for name in names]
    np.testing.assert_allclose(
        other.decision_function(X)[:, places], one.decision_function(X), atol=1e-5
    )


def test_count_likelihood_of_bags_of_one_is_multinomial_logistic_regression():
    X, _, codes, _ = domains(bag_size=1)
    pure = bags_of(np.arange(len(X)), codes)
    machine = CountLikelihoodClassifier(kernel="linear", C_target=3.0, tol=1e-9).fit(X, pure)
    labelled = clone(machine).fit(X, NAMES[codes])
    np.testing.assert_allclose(
        machine.decision_function(X), labelled.decision_function(X), atol=1e-6
    )
    twin = LogisticRegression(C=3.0 * 3 / 4, tol=1e-10, max_iter=10**4).fit(X, NAMES[codes])
    np.testing.assert_allclose(machine.predict_proba(X), twin.predict_proba(X), atol=1e-6)


def test_shares_that_are_no_counts_are_rounded_and_said():
    X, ids, codes, _ = domains()
    shares = counts_of(ids, codes) / BAG_SIZE
    shares[3] = [0.4, 0.3, 0.2, 0.1]
    bags = Bags.from_arrays(ids, dict(enumerate(shares)), classes=NAMES)
    with pytest.warns(RoundedShareWarning, match="the shares of bag 3 are not those of whole"):
        machine = CountLikelihoodClassifier().fit(X, bags)
    assert machine.score(X, NAMES[codes]) > 0.8


# The mean map ---------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_mean_map_of_more_classes(kernel):
    X, ids, codes, _ = domains()
    bags = bags_of(ids, codes)
    machine = MeanMap(kernel=kernel).fit(X, bags)
    scores, probability = machine.decision_function(X), machine.predict_proba(X)
    assert machine.score(X, NAMES[codes]) > 0.7
    np.testing.assert_allclose(probability, softmax(scores, axis=1), atol=1e-12)
    assert np.array_equal(machine.predict(X), NAMES[scores.argmax(axis=1)])
    names = NAMES[[2, 0, 3, 1]]
    other = MeanMap(kernel=kernel).fit(X, bags_of(ids, codes, names))
    places = [other.classes_.tolist().index(name) for name in names]
    np.testing.assert_allclose(other.decision_function(X)[:, places], scores, atol=1e-6)


def test_mean_map_of_two_classes_through_the_form_for_more():
    X, ids, codes, (X_old, old) = domains(n_classes=2)
    table = counts_of(ids, codes, 2) / BAG_SIZE
    for bag_weight in ("size", "equal"):
        machine = MeanMap(kernel="linear", bag_weight=bag_weight)
        like = InverseCalibrationSVM()
        data = _as_classes(clone(machine), X, ids, table, (X_old, old), like)
        each = clone(machine)
        each.n_features_in_ = X.shape[1]
        each._fit_classes(data)
        alone = machine.fit(X, Bags.from_arrays(ids, dict(enumerate(table[:, 1]))))
        scores = each.decision_function(X)
        np.testing.assert_allclose(
            scores[:, 1] - scores[:, 0], alone.decision_function(X), atol=1e-6
        )
        np.testing.assert_allclose(each.class_means_, alone.class_means_, atol=1e-9)
        assert each.condition_number_ == pytest.approx(alone.condition_number_)


def test_mean_map_of_bags_of_one_is_multinomial_logistic_regression():
    X, _, codes, _ = domains(bag_size=1)
    pure = bags_of(np.arange(len(X)), codes)
    machine = MeanMap(C=2.0, kernel="linear", standardize=False).fit(X, pure)
    twin = LogisticRegression(C=2.0 * 3 / 4, tol=1e-10, max_iter=10**4).fit(X, NAMES[codes])
    np.testing.assert_allclose(machine.predict_proba(X), twin.predict_proba(X), atol=1e-5)
    labelled = MeanMap(C=2.0, kernel="linear", standardize=False).fit(X, NAMES[codes])
    np.testing.assert_allclose(
        machine.decision_function(X), labelled.decision_function(X), atol=1e-6
    )


def test_mean_map_finds_the_means_of_classes_that_are_points():
    points = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [3.0, 3.0]])
    _, ids, codes, _ = domains()
    machine = MeanMap(kernel="linear").fit(points[codes], bags_of(ids, codes))
    np.testing.assert_allclose(machine.class_means_, points, atol=1e-9)


def test_mean_map_needs_shares_that_differ():
    X, ids, codes, _ = domains()
    with pytest.warns(BagWarning), pytest.raises(BagError, match="unmixes the means of 4 classes"):
        MeanMap().fit(X, bags_of(ids, np.where(codes == 3, 0, codes)))
