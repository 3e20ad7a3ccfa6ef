# SPDX-License-Identifier: BSD-3-Clause
"""Any machine of two classes, wrapped for more."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagshift import (
    LWE,
    TGPLM,
    BagEM,
    BagError,
    Bags,
    BagWarning,
    EasyLLP,
    InverseCalibrationSVM,
    LLPKMeans,
    MeanMap,
    OneVsRestBagClassifier,
    PriorShift,
    ProportionMatching,
    ProportionSVM,
    TGPLMPlus,
    get_bag_tags,
    stack_domains,
)

NAMES = np.array(["bear", "cat", "dog"])


def problem(n_bags=30, bag_size=6, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    codes = rng.integers(3, size=n_bags * bag_size)
    X = centres[codes] + rng.normal(size=(len(codes), 2))
    ids = np.repeat(np.arange(n_bags), bag_size)
    shares = np.eye(3)[codes].reshape(n_bags, bag_size, 3).mean(axis=1)
    bags = Bags.from_arrays(ids, dict(enumerate(shares)), classes=NAMES)
    old = np.arange(60) % 3
    return X, bags, codes, (centres[old] + 0.5 + rng.normal(size=(60, 2)), NAMES[old])


MACHINES = [
    (ProportionSVM(random_state=0), False),
    (ProportionMatching(), True),
    (TGPLMPlus(), True),
    (MeanMap(), False),
    (EasyLLP(), False),
    (LLPKMeans(), False),
    (BagEM(), True),
    (PriorShift(), True),
    (LWE(), True),
    (make_pipeline(StandardScaler(), InverseCalibrationSVM()), False),
]


@pytest.mark.parametrize(("machine", "takes_source"), MACHINES, ids=repr)
def test_any_machine(machine, takes_source):
    X, bags, codes, source = problem()
    wrapped = OneVsRestBagClassifier(clone(machine))
    wrapped.fit(X, bags, source=source if takes_source else None)
    scores = wrapped.decision_function(X)
    assert scores.shape == (len(X), 3)
    assert np.array_equal(wrapped.predict(X), NAMES[scores.argmax(axis=1)])
    assert wrapped.score(X, NAMES[codes]) > 0.7
    assert wrapped.score(X, bags) > 0.7
    alone = clone(machine)
    given = {"source": (source[0], source[1] == "cat")} if takes_source else {}
    alone.fit(X, bags.against_rest("cat"), **given)
    np.testing.assert_allclose(scores[:, 1], alone.decision_function(X), atol=1e-9)
    assert hasattr(wrapped, "predict_proba") == hasattr(alone, "predict_proba")
    if hasattr(wrapped, "predict_proba"):
        chances = wrapped.predict_proba(X)
        np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-12)
        assert np.array_equal(chances.argmax(axis=1), scores.argmax(axis=1))


def test_of_two_classes_it_is_the_machine():
    X, bags, _, (X_old, y_old) = problem()
    two, source = bags.against_rest("dog"), (X_old, y_old == "dog")
    wrapped = OneVsRestBagClassifier(TGPLM()).fit(X, two, source=source)
    alone = TGPLM().fit(X, two, source=source)
    np.testing.assert_array_equal(wrapped.decision_function(X), alone.decision_function(X))
    assert wrapped.positive_class_ == alone.positive_class_
    assert len(wrapped.estimators_) == 1


def test_it_is_tgplm_of_several_classes():
    X, bags, _, source = problem()
    wrapped = OneVsRestBagClassifier().fit(X, bags, source=source)
    alone = TGPLM().fit(X, bags, source=source)
    np.testing.assert_allclose(
        wrapped.decision_function(X), alone.decision_function(X), atol=1e-10
    )
    np.testing.assert_allclose(wrapped.predict_proba(X), alone.predict_proba(X), atol=1e-10)


def test_stacked_domains_labelled_rows_and_frames():
    X, bags, codes, source = problem()
    X_all, y_all = stack_domains(source=source, target=(X, bags))
    stacked = OneVsRestBagClassifier().fit(X_all, y_all)
    beside = OneVsRestBagClassifier().fit(X, bags, source=source)
    np.testing.assert_allclose(stacked.decision_function(X), beside.decision_function(X))
    known = Bags.concatenate([bags, Bags.unlabelled(3)])
    known = known.with_labels([None] * len(X) + NAMES.tolist())
    frame = pd.DataFrame(np.vstack([X, [[0, 0], [4, 0], [0, 4]]]), columns=["a", "b"])
    machine = OneVsRestBagClassifier(BagEM()).fit(frame, known)
    assert machine.score(frame[: len(X)], NAMES[codes]) > 0.7
    assert machine.feature_names_in_.tolist() == ["a", "b"]


def test_plain_labels_and_parallel_work():
    X, bags, codes, source = problem()
    machine = OneVsRestBagClassifier(ProportionMatching(), n_jobs=2).fit(X, NAMES[codes])
    assert machine.score(X, NAMES[codes]) > 0.9
    one = OneVsRestBagClassifier(ProportionMatching()).fit(X, bags, source=source)
    two = OneVsRestBagClassifier(ProportionMatching(), n_jobs=2).fit(X, bags, source=source)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_classes_that_one_side_lacks():
    X, bags, codes, (X_old, y_old) = problem()
    some = y_old != "dog"
    with pytest.warns(BagWarning, match="no row of the classes 'dog'"):
        native = TGPLM().fit(X, bags, source=(X_old[some], y_old[some]))
    wrapped = OneVsRestBagClassifier().fit(X, bags, source=(X_old[some], y_old[some]))
    assert np.mean(wrapped.predict(X) == native.predict(X)) > 0.9
    with pytest.raises(ValueError, match="PriorShift needs rows of every class in the source"):
        OneVsRestBagClassifier(PriorShift()).fit(X, bags, source=(X_old[some], y_old[some]))
    few = np.where(codes == 2, 0, codes)
    counts = np.eye(3, dtype=int)[few].reshape(30, 6, 3).sum(axis=1)[:, :2]
    three = Bags.from_arrays(
        bags.bag_index,
        counts=pd.DataFrame(np.column_stack([counts, 0 * few[:30]]), columns=NAMES).rename_axis(
            "bag"
        ),
    )
    with pytest.warns(BagWarning, match="all 30 bags have the same share, 0"):
        machine = OneVsRestBagClassifier(ProportionMatching()).fit(X, three, source=(X_old, y_old))
    assert machine.classes_.tolist() == NAMES.tolist()


def test_a_machine_of_two_classes_says_how_to_wrap_it():
    X, bags, _, source = problem()
    with pytest.raises(BagError, match=r"ProportionSVM learns two classes, and these bags have 3"):
        ProportionSVM().fit(X, bags)
    with pytest.raises(BagError, match=r"OneVsRestBagClassifier\(PriorShift\(\)\)"):
        PriorShift().fit(X, bags, source=source)


def test_tags_are_those_of_the_machine():
    assert get_bag_tags(OneVsRestBagClassifier(PriorShift())).needs_source
    assert not get_bag_tags(OneVsRestBagClassifier(InverseCalibrationSVM())).uses_source
