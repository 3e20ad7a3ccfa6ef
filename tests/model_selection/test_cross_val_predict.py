# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KernelCenterer, StandardScaler

from bagshift import TGPLM, Bags, InverseCalibrationSVM, SourceSVM, stack_domains
from bagshift.exceptions import BagError
from bagshift.model_selection import (
    BagKFold,
    BagShuffleSplit,
    RepeatedBagKFold,
    bag_cross_val_predict,
)


def scores_by_hand(machine, domains, splitter, method):
    expected = None
    for train, test in splitter.split(domains.X, domains.bags):
        model = clone(machine).fit(domains.X[train], domains.bags[train], source=domains.source)
        values = getattr(model, method)(domains.X[test])
        if expected is None:
            expected = np.full((len(domains.X), *values.shape[1:]), np.nan)
        expected[test] = values
    return expected


@pytest.mark.parametrize(
    ("method", "n_jobs"), [("decision_function", 2), ("predict_proba", None), ("predict", None)]
)
def test_every_row_by_a_model_without_its_bag(domains, method, n_jobs):
    cv = BagKFold(4)
    settings = {"source": domains.source, "cv": cv, "method": method, "n_jobs": n_jobs}
    with parallel_config(backend="threading"):
        found = bag_cross_val_predict(TGPLM(), domains.X, domains.bags, **settings)
    np.testing.assert_array_equal(found, scores_by_hand(TGPLM(), domains, cv, method))


def test_default_folds_cover_all_bags(domains):
    scores = bag_cross_val_predict(InverseCalibrationSVM(), domains.X, domains.bags)
    assert np.isfinite(scores).all()


def test_rows_in_no_bag_are_nan(domains):
    ids = [Bags.NO_BAG, Bags.NO_BAG, *domains.bag_ids]
    X = np.vstack([domains.X[:2], domains.X])
    bags = Bags.from_arrays(ids, domains.shares)
    bags = bags.with_labels([1] + [None] * (len(X) - 1))
    Xa, ya = stack_domains(source=domains.source, target=(X, bags))
    scores = bag_cross_val_predict(TGPLM(), Xa, ya, cv=BagKFold(4))
    np.testing.assert_array_equal(np.isnan(scores), ya.bag_index < 0)


def test_bags_never_held_out_are_nan(domains):
    cv = BagShuffleSplit(1, test_size=3, random_state=0)
    scores = bag_cross_val_predict(InverseCalibrationSVM(), domains.X, domains.bags, cv=cv)
    assert len(np.unique(domains.bag_ids[np.isfinite(scores)])) == 3


def test_repeats_are_averaged(domains):
    cv = RepeatedBagKFold(4, n_repeats=2, random_state=0)
    machine = InverseCalibrationSVM()
    found = bag_cross_val_predict(machine, domains.X, domains.bags, cv=cv)
    total = np.zeros(len(domains.X))
    for train, test in cv.split(domains.X, domains.bags):
        model = clone(machine).fit(domains.X[train], domains.bags[train])
        total[test] += model.decision_function(domains.X[test])
    np.testing.assert_allclose(found, total / 2)
    with pytest.raises(ValueError, match="labels have no mean"):
        bag_cross_val_predict(machine, domains.X, domains.bags, cv=cv, method="predict")


def test_labels_that_are_no_numbers(domains):
    y_source = np.where(domains.y_source == 1, "yes", "no")
    bags = Bags.from_arrays(
        [Bags.NO_BAG, *domains.bag_ids], domains.shares, positive="yes", negative="no"
    )
    X = np.vstack([domains.X[:1], domains.X])
    labels = bag_cross_val_predict(
        TGPLM(), X, bags, source=(domains.X_source, y_source), cv=BagKFold(4), method="predict"
    )
    assert labels[0] is None
    assert set(labels[1:]) == {"yes", "no"}


@pytest.mark.parametrize(
    "labels", [(0, 1), (2**60, 2**60 + 1), (False, True), ("no", "yes"), (0.5, 1.5)], ids=str
)
def test_labels_keep_their_type_when_every_row_is_held_out(labels, domains):
    bags = Bags.from_arrays(
        domains.bag_ids, domains.shares, negative=labels[0], positive=labels[1]
    )
    source = domains.X_source, np.array(labels)[domains.y_source]
    settings = {"cv": BagKFold(4), "method": "predict"}
    found = bag_cross_val_predict(TGPLM(), domains.X, bags, source=source, **settings)
    assert found.dtype == np.array(labels).dtype
    assert set(found.tolist()) == set(labels)

    Xa, ya = stack_domains(source=source, target=(domains.X, bags))
    stacked = bag_cross_val_predict(TGPLM(), Xa, ya, **settings)
    assert stacked[ya.target_rows()].tolist() == found.tolist()
    as_floats = labels[0] != 2**60 and labels[0] != "no"
    assert stacked.dtype == (float if as_floats else object)
    assert all(np.isnan(label) if as_floats else label is None for label in stacked[ya.is_source])


def test_predicted_numbers_suit_the_metrics_of_scikit_learn(domains):
    Xa, ya = stack_domains(source=domains.source, target=(domains.X, domains.bags))
    found = bag_cross_val_predict(TGPLM(), Xa, ya, method="predict")[ya.target_rows()]
    assert accuracy_score(domains.labels, found) == np.mean(domains.labels == found)


@pytest.mark.parametrize("machine", [TGPLM, SourceSVM, InverseCalibrationSVM])
def test_precomputed_kernel_equals_its_function(machine, domains):
    """On its own, stacked with the source in any order, and in a Pipeline."""
    linear, given = machine(kernel="linear"), machine(kernel="precomputed")
    if machine is InverseCalibrationSVM:
        Xa, ya = domains.X, domains.bags
    else:
        Xa, ya = stack_domains(source=domains.source, target=(domains.X, domains.bags))
    order = np.random.default_rng(3).permutation(len(ya))
    Xa, ya = Xa[order], ya[order]
    gram = Xa @ Xa.T
    expected = bag_cross_val_predict(linear, Xa, ya, cv=4)
    for estimator in (
        given,
        make_pipeline(given),
        make_pipeline("passthrough", given),
        make_pipeline(FunctionTransformer(), given),
    ):
        found = bag_cross_val_predict(estimator, gram, ya, cv=4)
        np.testing.assert_allclose(found, expected, atol=1e-9)
    for kind in (pd.DataFrame, csr_matrix, list):
        np.testing.assert_allclose(
            bag_cross_val_predict(given, kind(gram), ya, cv=4), expected, atol=1e-9
        )


@pytest.mark.parametrize("machine", [TGPLM, SourceSVM])
def test_precomputed_kernel_with_a_source_beside_it(machine, domains):
    rows = np.vstack([domains.X_source, domains.X])
    gram, n_source = rows @ rows.T, len(domains.X_source)
    found = bag_cross_val_predict(
        machine(kernel="precomputed"),
        gram[n_source:],
        domains.bags,
        source=(gram[:n_source], domains.y_source),
        cv=4,
    )
    expected = bag_cross_val_predict(
        machine(kernel="linear"), domains.X, domains.bags, source=domains.source, cv=4
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)
    with pytest.raises(ValueError, match="stack_domains"):
        bag_cross_val_predict(
            machine(kernel="precomputed"),
            gram[n_source:, n_source:],
            domains.bags,
            source=(gram[:n_source], domains.y_source),
        )


def test_pipeline_whose_step_centres_or_makes_the_kernel(domains):
    given, cv = InverseCalibrationSVM(kernel="precomputed"), BagKFold(4)
    centred = bag_cross_val_predict(
        make_pipeline(KernelCenterer(), given), domains.X @ domains.X.T, domains.bags, cv=cv
    )
    made = bag_cross_val_predict(
        make_pipeline(StandardScaler(with_std=False), _LinearKernel(), given),
        domains.X,
        domains.bags,
        cv=cv,
    )
    np.testing.assert_allclose(centred, made, atol=1e-9)


class _LinearKernel(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.X_ = X
        return self

    def transform(self, X):
        return X @ self.X_.T


def test_pipeline_on_stacked_domains(domains):
    Xa, ya = stack_domains(source=domains.source, target=(domains.X, domains.bags))
    pipeline = make_pipeline(StandardScaler(), TGPLM())
    scores = bag_cross_val_predict(pipeline, Xa, ya, cv=BagKFold(4))
    assert np.isfinite(scores[ya.bag_index >= 0]).all()
    assert not hasattr(pipeline[-1], "classes_")


def test_ids_do_not_matter(domains):
    names = {k: f"bag {100 - k}" for k in domains.shares}
    renamed = Bags.from_arrays(
        [names[k] for k in domains.bag_ids], {names[k]: p for k, p in domains.shares.items()}
    )
    machine = InverseCalibrationSVM()
    np.testing.assert_array_equal(
        bag_cross_val_predict(machine, domains.X, domains.bags),
        bag_cross_val_predict(machine, domains.X, renamed),
    )


def test_what_cannot_be_used(domains):
    X, bags = domains.X, domains.bags
    with pytest.raises(ValueError, match="method must be one of"):
        bag_cross_val_predict(TGPLM(), X, bags, method="transform")
    with pytest.raises(TypeError, match="y must be a Bags, got ndarray"):
        bag_cross_val_predict(TGPLM(), X, domains.labels)
    with pytest.raises(ValueError, match="stack_domains"):
        bag_cross_val_predict(make_pipeline(TGPLM()), X, bags, source=domains.source)
    one = np.flatnonzero(domains.bag_ids == 0)
    with pytest.raises(BagError, match="at least 2 bags"):
        bag_cross_val_predict(TGPLM(), X[one], bags[one])
    with pytest.raises(BagError, match="at least 20 bags"):
        bag_cross_val_predict(SourceSVM(), X, bags, source=domains.source, cv=BagKFold(20))
