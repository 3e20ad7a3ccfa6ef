# SPDX-License-Identifier: BSD-3-Clause
"""Which class shares are of: classes stay sorted, scores follow them, shares follow the label."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bagshift import (
    TGPLM,
    BagError,
    BagKFold,
    Bags,
    InverseCalibrationSVM,
    SourceSVM,
    get_bag_tags,
    path_search,
    stack_domains,
)
from bagshift.model_selection import neg_share_error, neg_soft_share_error, share_error_soft_ties
from problems import two_domains


def declared(bags, positive, negative, *, other_way=False):
    shares = 1 - bags.positive_shares if other_way else bags.positive_shares
    return Bags.from_arrays(
        bags.bag_index, dict(enumerate(shares)), positive=positive, negative=negative
    )


@pytest.mark.parametrize(
    "machine",
    [
        TGPLM(tol=1e-8),
        InverseCalibrationSVM(tol=1e-8),
        SourceSVM(tol=1e-8),
        SourceSVM(threshold="prior", tol=1e-8),
    ],
    ids=["tgplm", "ic-svm", "svm", "svm-prior"],
)
def test_a_positive_label_that_sorts_first_changes_names_only(machine):
    X, bags, labels, (X_source, y_source) = two_domains()
    names = np.array(["no", "Aye"])  # of the classes 0 and 1
    source = None if isinstance(machine, InverseCalibrationSVM) else (X_source, names[y_source])
    plain_source = None if source is None else (X_source, y_source)
    plain = clone(machine).fit(X, bags, source=plain_source)
    named = clone(machine).fit(X, declared(bags, "Aye", "no"), source=source)
    np.testing.assert_array_equal(named.classes_, ["Aye", "no"])
    assert named.positive_class_ == "Aye"
    np.testing.assert_allclose(named.decision_function(X), -plain.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(named.predict(X), names[plain.predict(X)])
    assert named.score(X, names[labels]) == plain.score(X, labels)
    assert named.score(X, declared(bags, "Aye", "no")) == pytest.approx(plain.score(X, bags))
    for scorer in (neg_share_error, neg_soft_share_error, share_error_soft_ties):
        expected = pytest.approx(scorer(plain, X, bags), abs=1e-6)
        assert scorer(named, X, declared(bags, "Aye", "no")) == expected
    wanted = get_scorer("roc_auc")(plain, X, labels)
    assert get_scorer("roc_auc")(named, X, names[labels]) == pytest.approx(wanted, abs=1e-3)
    if hasattr(machine, "predict_proba"):
        wanted = get_scorer("neg_log_loss")(plain, X, labels)
        assert get_scorer("neg_log_loss")(named, X, names[labels]) == pytest.approx(wanted)


def test_scores_on_bags_follow_the_class_that_they_declare():
    X, bags, labels, _ = two_domains()
    names = np.array(["Aye", "no"])[labels]
    for machine in (TGPLM(), SVC(), make_pipeline(StandardScaler(), SVC())):
        machine.fit(X, names)
        of_no = declared(bags, "no", "Aye")
        of_aye = declared(bags, "Aye", "no", other_way=True)
        assert neg_share_error(machine, X, of_no) == pytest.approx(
            neg_share_error(machine, X, of_aye)
        )
        with pytest.raises(BagError, match="'maybe'"):
            neg_share_error(machine, X, declared(bags, "maybe", "no"))
    machine = TGPLM().fit(X, names)
    assert machine.score(X, of_no) == pytest.approx(machine.score(X, of_aye))
    with pytest.raises(BagError, match="'maybe'"):
        machine.score(X, declared(bags, "maybe", "no"))


def test_search_and_calibration_with_a_positive_label_that_sorts_first():
    X, bags, labels, (X_source, y_source) = two_domains(n_bags=15)
    names = np.array(["no", "Aye"])
    Xa, ya = stack_domains(
        source=(X_source, names[y_source]), target=(X, declared(bags, "Aye", "no"))
    )
    grid = {"coupling": [0.1, 1.0, 10.0], "C_target": [0.0, 1.0]}
    cv = BagKFold(3)
    by_grid = GridSearchCV(TGPLM(gamma=0.3), grid, cv=cv, scoring=share_error_soft_ties)
    by_grid.fit(Xa, ya)
    by_path = path_search(TGPLM(gamma=0.3), Xa, ya, grid=grid, cv=cv)
    assert by_path.best_params == by_grid.best_params_
    np.testing.assert_allclose(
        [entry["score"] for entry in by_path.table],
        by_grid.cv_results_["mean_test_score"],
        atol=1e-6,
    )
    calibrated = CalibratedClassifierCV(FrozenEstimator(by_path.best_estimator))
    assert calibrated.fit(X, names[labels]).score(X, names[labels]) > 0.75


def test_tags_are_found_inside_searches_and_nested_pipelines():
    inside = make_pipeline(StandardScaler(), TGPLM())
    for outer in (
        make_pipeline(StandardScaler(), inside),
        GridSearchCV(inside, {}, cv=BagKFold(3)),
    ):
        assert get_bag_tags(outer).uses_bags
    assert not get_bag_tags(SVC()).uses_bags
