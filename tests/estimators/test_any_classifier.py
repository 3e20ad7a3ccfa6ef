# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers of scikit-learn inside ours: frames, missing values, weights, and the default."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from bagshift import (
    BagEM,
    BagKFold,
    PriorShift,
    SourceScaleWarning,
    stack_domains,
)
from problems import two_domains

MACHINES = pytest.mark.parametrize("machine", [BagEM(), PriorShift()], ids=["BagEM", "PriorShift"])
WITHIN = LogisticRegression(tol=1e-6, max_iter=1000)


def with_holes(X):
    X = X.copy()
    X[::7, 1] = np.nan
    return X


@MACHINES
@pytest.mark.parametrize(
    "classifier",
    [HistGradientBoostingClassifier(min_samples_leaf=8), make_pipeline(SimpleImputer(), WITHIN)],
    ids=["boosting", "pipeline"],
)
@pytest.mark.filterwarnings("ignore:HistGradientBoostingClassifier gives back any labels")
def test_missing_values_go_on_to_classifiers_that_take_them(machine, classifier):
    X, bags, y, (X_source, y_source) = two_domains(gap=2.5)
    X, X_source = with_holes(X), with_holes(X_source)
    machine = clone(machine).set_params(estimator=classifier)
    fitted = machine.fit(X, bags, source=(X_source, y_source))
    assert fitted.score(X, y) > 0.8
    assert np.all(np.isfinite(fitted.predict_proba_in_bags(X, bags)))
    assert machine.fit(X, y).score(X, y) > 0.8
    with pytest.raises(ValueError, match="infinity"):
        machine.fit(np.where(np.isnan(X), np.inf, X), bags, source=(X_source, y_source))


@MACHINES
@pytest.mark.parametrize(
    "classifier",
    [None, WITHIN, make_pipeline(StandardScaler(), WITHIN)],
    ids=["default", "logistic", "pipeline"],
)
def test_missing_values_are_refused_where_the_classifier_takes_none(machine, classifier):
    X, bags, _, (X_source, y_source) = two_domains()
    machine = clone(machine).set_params(estimator=classifier)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        machine.fit(with_holes(X), bags, source=(with_holes(X_source), y_source))


def as_frame(kind, X):
    colours = np.where(X[:, 0] > 0, "red", "blue")
    return kind({"a": X[:, 0], "b": X[:, 1], "colour": colours})


def by_names():
    columns = ColumnTransformer(
        [("numbers", StandardScaler(), ["a", "b"]), ("colours", OneHotEncoder(), ["colour"])]
    )
    return make_pipeline(columns, WITHIN)


@MACHINES
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_go_on_with_names_and_text(machine, kind):
    X, bags, y, (X_source, y_source) = two_domains(gap=2.5)
    machine = clone(machine).set_params(estimator=by_names())
    rows, history = as_frame(kind, X), as_frame(kind, X_source)
    scores = machine.fit(rows, bags, source=(history, y_source)).decision_function(rows)
    assert machine.feature_names_in_.tolist() == ["a", "b", "colour"]
    assert machine.score(rows, y) > 0.8
    stacked, ya = stack_domains(source=(history, y_source), target=(rows, bags))
    np.testing.assert_allclose(machine.fit(stacked, ya).decision_function(rows), scores)
    numbers = np.column_stack([X[:, :2], X[:, 0] > 0, X[:, 0] <= 0])
    numbers_source = np.column_stack([X_source[:, :2], X_source[:, 0] > 0, X_source[:, 0] <= 0])
    same = ColumnTransformer([("scaler", StandardScaler(), [0, 1])], remainder="passthrough")
    plain = clone(machine).set_params(estimator=make_pipeline(same, WITHIN))
    plain.fit(numbers, bags, source=(numbers_source, y_source))
    np.testing.assert_allclose(scores, plain.decision_function(numbers), atol=1e-3)
    weights = 1.0 + np.arange(len(y)) % 2
    assert machine.fit(rows, y, sample_weight=weights).score(rows, y) > 0.8
    with pytest.raises(ValueError, match="feature names should match"):
        machine.predict(rows[["b", "a", "colour"]])


@MACHINES
def test_a_frame_and_a_source_without_names(machine):
    X, bags, _, (X_source, y_source) = two_domains()
    rows = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"rows of source= cannot be used\. X is a frame and"):
        machine.fit(rows, bags, source=(X_source, y_source))


@MACHINES
def test_scales_of_frames_are_compared(machine):
    X, bags, _, (X_source, y_source) = two_domains()
    rows, history = (pd.DataFrame(Z, columns=["a", "b", "c"]) for Z in (X, 100.0 * X_source))
    with pytest.warns(SourceScaleWarning):
        clone(machine).fit(rows, bags, source=(history, y_source))


def test_frames_pass_a_search():
    X, bags, _, _ = two_domains(gap=2.5)
    grid = {"estimator__logisticregression__C": [0.1, 1.0]}
    search = GridSearchCV(BagEM(by_names()), grid, cv=BagKFold(3))
    rows = as_frame(pd.DataFrame, X)
    assert search.fit(rows, bags).score(rows, bags) > 0.8


# Weights in Pipelines ---------------------------------------------------------------------


def test_posterior_labels_train_a_pipeline():
    X, bags, _, source = two_domains()
    scale = FunctionTransformer(lambda Z: Z / 3.0)
    machine = BagEM(make_pipeline(scale, WITHIN), labels="posterior")
    alone = BagEM(WITHIN, labels="posterior").fit(X / 3.0, bags, source=(source[0] / 3, source[1]))
    machine.fit(X, bags, source=source)
    np.testing.assert_allclose(machine.decision_function(X), alone.decision_function(X / 3.0))


@MACHINES
def test_a_row_of_weight_two_is_two_rows_in_a_pipeline(machine):
    X, _, y, _ = two_domains()
    weights = 1 + np.arange(len(y)) % 3
    for classifier in (None, make_pipeline(make_pipeline(StandardScaler(), clone(WITHIN)))):
        machine = clone(machine).set_params(estimator=classifier)
        weighted = machine.fit(X, y, sample_weight=weights).decision_function(X)
        repeated = machine.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        np.testing.assert_allclose(weighted, repeated.decision_function(X), atol=1e-4)


def test_a_pipeline_without_weights_is_named_by_its_last_step():
    X, bags, _, source = two_domains()
    neighbours = make_pipeline(StandardScaler(), KNeighborsClassifier())
    with pytest.raises(ValueError, match="sample_weight, which KNeighborsClassifier"):
        BagEM(neighbours, labels="posterior").fit(X, bags, source=source)
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        PriorShift(neighbours).fit(X, bags, source=(*source, 1.0 + np.arange(40) % 2))


# The default ------------------------------------------------------------------------------


@MACHINES
def test_default_takes_sparse_rows_after_dense_ones_and_before(machine):
    X, bags, _, (X_source, y_source) = two_domains()
    machine = clone(machine)
    wanted = machine.fit(X, bags, source=(X_source, y_source)).decision_function(X)
    np.testing.assert_allclose(machine.decision_function(sparse.csr_array(X)), wanted)
    for rows in (X, sparse.csr_array(X)):
        for history in (X_source, sparse.csr_array(X_source)):
            machine.fit(rows, bags, source=(history, y_source))
            scores = machine.decision_function(X)
            np.testing.assert_allclose(scores, machine.decision_function(sparse.csr_array(X)))
            assert np.corrcoef(scores, wanted)[0, 1] > 0.99
