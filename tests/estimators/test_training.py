# SPDX-License-Identifier: BSD-3-Clause
"""What ``fit`` accepts, refuses and warns of."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array

from bagshift import (
    TGPLM,
    BagError,
    Bags,
    BagWarning,
    InverseCalibrationSVM,
    PositiveClassWarning,
    ProportionMatching,
    SourceScaleWarning,
    SourceSVM,
    stack_domains,
)
from bagshift.estimators._base import are_sound
from problems import two_domains


def test_scaled_pipeline_on_stacked_domains_equals_scaling_by_hand():
    X, bags, _, (X_source, y_source) = two_domains()
    X, X_source = X * [1, 50, 1000] + [0, 3, 1e4], X_source * [1, 50, 1000] + [0, 3, 1e4]
    Xa, ya = stack_domains(source=(X_source, y_source), target=(X, bags))
    pipeline = make_pipeline(StandardScaler(), TGPLM()).fit(Xa, ya)
    scaler = StandardScaler().fit(np.vstack([X_source, X]))
    by_hand = TGPLM().fit(scaler.transform(X), bags, source=(scaler.transform(X_source), y_source))
    np.testing.assert_allclose(
        pipeline.decision_function(X), by_hand.decision_function(scaler.transform(X)), atol=1e-10
    )


def test_a_pipeline_that_scales_the_target_only_is_noticed():
    X, bags, _, (X_source, y_source) = two_domains()
    pipeline = make_pipeline(StandardScaler(), TGPLM())
    with pytest.warns(SourceScaleWarning, match="stack_domains"):
        pipeline.fit(1000 * X, bags, tgplm__source=(1000 * X_source, y_source))


def test_a_bag_cut_by_kfold_raises():
    X, bags, _, source = two_domains()
    search = GridSearchCV(TGPLM(), {"coupling": [1.0]}, cv=KFold(5), error_score="raise")
    with pytest.raises(BagError, match="BagKFold"):
        search.fit(X, bags, source=source)
    with pytest.raises(BagError, match="BagKFold"):
        InverseCalibrationSVM().fit(X[:-1], bags[:-1])


def test_an_integer_cv_raises():
    X, bags, _, source = two_domains()
    search = GridSearchCV(TGPLM(), {"coupling": [1.0]}, cv=3)
    with pytest.raises((TypeError, ValueError), match="BagKFold"):
        search.fit(X, bags, source=source)


@pytest.mark.parametrize("labels", [("Yes", "no"), (1, 2), ("a", "b")])
def test_positive_class_of_other_labels_must_be_declared(labels):
    X, bags, _, (X_source, y_source) = two_domains()
    source = (X_source, np.array(labels)[y_source])
    with pytest.raises(ValueError, match=r"positive=") as raised:
        TGPLM().fit(X, bags, source=source)
    assert all(repr(label) in str(raised.value) for label in labels)
    declared = Bags.from_arrays(
        bags.bag_index, dict(enumerate(bags.positive_shares)), positive=labels[0]
    )
    assert TGPLM().fit(X, declared, source=source).positive_class_ == labels[0]


def test_a_positive_class_that_the_source_lacks_raises():
    X, bags, _, source = two_domains()
    declared = Bags.from_arrays(
        bags.bag_index, dict(enumerate(bags.positive_shares)), positive="maybe"
    )
    with pytest.raises(ValueError, match="maybe"):
        TGPLM().fit(X, declared, source=source)


def test_without_source_and_declaration_classes_are_zero_and_one():
    X, bags, _, _ = two_domains()
    np.testing.assert_array_equal(TGPLM().fit(X, bags).classes_, [0, 1])


def test_shares_of_the_other_class_are_noticed():
    X, bags, _, (X_source, _) = two_domains()
    y_source = (np.arange(len(X_source)) % 10 == 0).astype(int)
    shares = {k: 0.9 + 0.01 * (k % 5) for k in range(bags.n_bags)}
    mostly = Bags.from_arrays(bags.bag_index, shares)
    with pytest.warns(PositiveClassWarning):
        TGPLM().fit(X, mostly, source=(X_source, y_source))


@pytest.mark.parametrize(
    "shares", [{0: 0.5, 1: 0.5, 2: 0.5}, {0: 1.0, 1: 0.0, 2: 1.0}], ids=["equal", "pure"]
)
def test_uninformative_bags_are_said_and_fitted(shares):
    X, ids = np.arange(12.0)[:, None], np.repeat([0, 1, 2], 4)
    with pytest.warns(BagWarning):
        machine = InverseCalibrationSVM().fit(X, Bags.from_arrays(ids, shares))
    assert np.all(np.isfinite(machine.decision_function(X)))


def test_one_bag_over_the_whole_target_gives_the_prior():
    X, _, _, _ = two_domains()
    with pytest.warns(BagWarning):
        machine = InverseCalibrationSVM(C=100).fit(
            X, Bags.from_arrays(np.zeros(len(X)), {0.0: 0.3})
        )
    np.testing.assert_allclose(machine.predict_proba(X)[:, 1], 0.3, atol=0.02)


def test_arguments_that_a_machine_cannot_use_raise():
    X, bags, labels, source = two_domains()
    with pytest.raises(ValueError, match="cannot use source"):
        InverseCalibrationSVM().fit(X, bags, source=source)
    with pytest.raises(ValueError, match="needs labelled history"):
        SourceSVM().fit(X, bags)
    with pytest.raises(ValueError, match="ambiguous"):
        TGPLM().fit(X, labels, source=source)
    with pytest.raises(ValueError, match="sample_weight"):
        TGPLM().fit(X, bags, sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="tuple"):
        TGPLM().fit(X, bags, source=source[0])
    with pytest.raises(ValueError, match="39 labels"):
        TGPLM().fit(X, bags, source=(source[0], source[1][:-1]))
    Xa, ya = stack_domains(source=source, target=(X, bags))
    with pytest.raises(ValueError, match="leave source= out"):
        TGPLM().fit(Xa, ya, source=source)
    alone = TGPLM().fit(X, bags)
    with pytest.raises(ValueError, match="without a source"):
        alone.source_decision_function(X)
    with pytest.raises(ValueError, match="rows"):
        TGPLM().fit(X[:-1], bags)


@pytest.mark.parametrize("first", [None, np.nan])
def test_a_source_label_that_is_missing_raises(first):
    X, bags, _, (X_source, y_source) = two_domains()
    with pytest.raises(ValueError, match="missing"):
        TGPLM().fit(X, bags, source=(X_source, [first, *y_source[1:].tolist()]))


def test_source_labels_of_two_kinds_raise():
    X, bags, _, (X_source, y_source) = two_domains()
    with pytest.raises(ValueError, match="one type"):
        TGPLM().fit(X, bags, source=(X_source, ["yes", *y_source[1:].tolist()]))


def test_a_source_with_one_class_raises():
    X, bags, _, (X_source, y_source) = two_domains()
    with pytest.raises(ValueError, match="class"):
        TGPLM().fit(X, bags, source=(X_source, np.zeros_like(y_source)))


def test_a_source_with_other_columns_raises():
    X, bags, _, (X_source, y_source) = two_domains()
    with pytest.raises(ValueError, match=r"source=.*features"):
        TGPLM().fit(X, bags, source=(X_source[:, :2], y_source))


def test_rows_and_labels_of_a_source_in_the_wrong_order_raise():
    X, bags, _, (X_source, y_source) = two_domains()
    with pytest.raises(ValueError, match="rows first and labels second"):
        TGPLM().fit(X, bags, source=(y_source, X_source))


@pytest.mark.parametrize("weight", [np.ones(7), -np.ones(60), np.full(60, np.nan), ["a"] * 60])
def test_weights_of_a_source_that_cannot_be_used_raise(weight):
    X, bags, _, (X_source, y_source) = two_domains()
    with pytest.raises(ValueError, match=r"weights of source= must be .* finite numbers"):
        TGPLM().fit(X, bags, source=(X_source, y_source, weight))


@pytest.mark.parametrize("y", ["ids", "names", "shares"])
def test_ids_or_shares_in_place_of_bags_point_to_from_arrays(y):
    X, bags, _, source = two_domains()
    given = {
        "ids": bags.bag_index,
        "names": np.array([f"bag {bag}" for bag in bags.bag_index]),
        "shares": bags.positive_shares[bags.bag_index],
    }[y]
    with pytest.raises(ValueError, match=r"Bags\.from_arrays\(bag_ids, shares\)"):
        (TGPLM() if y == "shares" else ProportionMatching()).fit(X, given)
    with pytest.raises(ValueError, match=r"Bags\.from_arrays\(bag_ids, shares\)"):
        TGPLM().fit(X, given, source=source)


@pytest.mark.parametrize("kind", [float, bool, object])
@pytest.mark.parametrize("positive", [1, 1.0, True, np.int8(1)])
def test_equal_labels_of_other_types_are_one_class(kind, positive):
    X, bags, labels, (X_source, y_source) = two_domains()
    shares = dict(enumerate(bags.positive_shares))
    declared = Bags.from_arrays(bags.bag_index, shares, positive=positive)
    machine = TGPLM().fit(X, declared, source=(X_source, y_source.astype(kind)))
    expected = TGPLM().fit(X, bags, source=(X_source, y_source))
    assert machine.score(X, labels) == expected.score(X, labels)
    np.testing.assert_array_equal(machine.decision_function(X), expected.decision_function(X))
    other = Bags.from_arrays(bags.bag_index, shares, positive="1")
    with pytest.raises(ValueError, match="positive='1' is not among the source labels"):
        TGPLM().fit(X, other, source=(X_source, y_source.astype(kind)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_raise(bad):
    X, bags, _, (X_source, y_source) = two_domains()
    broken = X.copy()
    broken[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        TGPLM().fit(broken, bags)
    broken = X_source.copy()
    broken[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        TGPLM().fit(X, bags, source=(broken, y_source))


@pytest.mark.parametrize(
    "setting",
    [
        {"C_source": -1},
        {"C_target": np.inf},
        {"coupling": -1},
        {"coupling": np.nan},
        {"kernel": "cosine"},
        {"gamma": 0},
        {"tube": "wide"},
        {"clip": 0.5},
        {"tol": 0},
        {"score_scale": 0},
    ],
)
def test_parameters_out_of_range_raise(setting):
    X, bags, _, _ = two_domains()
    with pytest.raises(ValueError, match=next(iter(setting))):
        TGPLM(**setting).fit(X, bags)


def test_the_target_never_sees_instance_labels():
    """A column that is 1 in the source and 0 in the target must not decide anything alone."""
    X, bags, labels, (X_source, y_source) = two_domains(gap=3.0)
    X = np.column_stack([X, np.zeros(len(X))])
    X_source = np.column_stack([X_source, np.ones(len(X_source))])
    machine = TGPLM(tol=1e-6).fit(X, bags, source=(X_source, y_source))
    assert machine.score(X, labels) > 0.85


def test_a_cut_bag_cannot_be_scored():
    X, bags, _, _ = two_domains()
    machine = InverseCalibrationSVM().fit(X, bags)
    with pytest.raises(BagError, match="BagKFold"):
        machine.score(X[:8], bags[:8])


def test_a_refit_forgets_the_earlier_fit():
    X, bags, _, source = two_domains()
    machine = TGPLM().fit(X, bags, source=source)
    machine.fit(X, bags)
    with pytest.raises(ValueError, match="without a source"):
        machine.source_decision_function(X)
    machine.set_params(kernel="linear").fit(X, bags)
    assert not hasattr(machine, "support_vectors_")
    assert not hasattr(machine, "dual_coef_")


def test_precomputed_kernels_are_checked():
    X, bags, labels, (X_source, y_source) = two_domains()
    K = X @ X.T
    wide = np.hstack([K, K])
    with pytest.raises(ValueError, match="one column for each"):
        TGPLM(kernel="precomputed").fit(wide, bags)
    with pytest.raises(ValueError, match="one column for each"):
        TGPLM(kernel="precomputed").fit(K[:, :50], labels)
    crooked = K + np.random.default_rng(0).normal(size=K.shape)
    with pytest.raises(ValueError, match="not symmetric"):
        TGPLM(kernel="precomputed").fit(crooked, bags)
    both = np.vstack([X_source, X])
    rows = both @ both.T
    n = len(X_source)
    target_first = np.r_[n : len(rows), :n]
    with pytest.raises(ValueError, match="source rows first"):
        TGPLM(kernel="precomputed").fit(
            rows[n:][:, target_first], bags, source=(rows[:n][:, target_first], y_source)
        )


def test_nothing_to_learn_from_is_said():
    X, bags, _, (X_source, y_source) = two_domains()
    nothing = Bags.unlabelled(len(X))
    with pytest.raises(ValueError, match="nothing to learn from"):
        InverseCalibrationSVM().fit(X, nothing)
    with pytest.raises(ValueError, match="SourceSVM"):
        TGPLM().fit(X, nothing, source=(X_source, y_source))
    with pytest.raises(ValueError, match="got 1 items"):
        TGPLM().fit(X, bags, source=(X_source,))
    with pytest.raises(ValueError, match="positive weight"):
        TGPLM().fit(X, bags, source=(X_source, y_source, y_source.astype(float)))


def test_features_that_overflow_are_said():
    X, bags, _, _ = two_domains()
    with pytest.raises(ValueError, match="not finite"):
        TGPLM(kernel="poly").fit(1e160 * X, bags)
    machine = TGPLM(kernel="poly").fit(X, bags)
    with pytest.raises(ValueError, match="not finite"):
        machine.predict(np.full((1, X.shape[1]), 1e308))


@pytest.mark.parametrize(
    ("X", "is_sound"),
    [
        (np.eye(2), True),
        (np.eye(2, dtype=np.float32), True),
        (np.asfortranarray(np.ones((3, 2))), True),
        (np.array([[1e308, 1e308], [0.0, 1.0]]), False),
        (np.array([[1.0, np.nan]]), False),
        (np.array([[np.inf, -np.inf]]), False),
        (np.eye(2, dtype=np.int64), False),
        (np.eye(2, dtype=np.float64).astype(">f8"), False),
        (np.ones(3), False),
        (np.ones((0, 2)), False),
        (np.ones((2, 0)), False),
        (np.ma.masked_array(np.eye(2)), False),
        ([[1.0, 2.0]], False),
    ],
)
def test_sound_rows_are_those_that_scikit_learn_leaves_alone(X, is_sound):
    assert are_sound(X) == is_sound
    if is_sound:
        assert check_array(X, dtype=[np.float64, np.float32]) is X
