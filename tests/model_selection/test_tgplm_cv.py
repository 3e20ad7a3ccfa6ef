# SPDX-License-Identifier: BSD-3-Clause
"""A machine that searches by itself: the same search, the same machine, scikit-learn's manners."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagshift import (
    TGPLM,
    TGPLMCV,
    BagError,
    Bags,
    get_bag_tags,
    path_search,
    predict_proba_in_bags,
    stack_domains,
)
from bagshift.model_selection import (
    BagKFold,
    bag_cross_val_predict,
    neg_soft_share_error,
    share_error_soft_ties,
)
from bagshift.persistence import load_model, save_model

GRID = {"C_target": [1.0, 4.0], "coupling": [0.1, 1.0]}
TOL = 1e-8


def fitted(domains, grid=GRID, **settings):
    settings = {"cv": BagKFold(4), "gamma": 0.2, **settings}
    return TGPLMCV(grid, **settings).fit(domains.X, domains.bags, source=domains.source)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_equals_path_search(kernel, domains):
    search = TGPLMCV(kernel=kernel, cv=4).fit(domains.X, domains.bags, source=domains.source)
    expected = path_search(
        TGPLM(kernel=kernel), domains.X, domains.bags, source=domains.source, cv=4
    )
    assert search.best_params_ == expected.best_params
    assert search.best_score_ == expected.best_score
    assert search.best_index_ == expected.best_index
    assert search.n_splits_ == expected.n_splits == 4
    for name, column in expected.cv_results.items():
        np.testing.assert_array_equal(search.cv_results_[name], column)
    np.testing.assert_array_equal(
        search.decision_function(domains.X), expected.best_estimator.decision_function(domains.X)
    )


def test_equals_grid_search(domains):
    search = fitted(domains, tol=TOL)
    expected = GridSearchCV(
        TGPLM(gamma=0.2, tol=TOL), GRID, cv=BagKFold(4), scoring=share_error_soft_ties
    ).fit(domains.X, domains.bags, source=domains.source)
    assert search.best_params_ == expected.best_params_
    assert search.best_index_ == expected.best_index_
    assert search.n_splits_ == expected.n_splits_
    ours, theirs = pd.DataFrame(search.cv_results_), pd.DataFrame(expected.cv_results_)
    of_both = [name for name in theirs if not name.endswith("_time")]
    assert set(of_both) <= set(ours)
    pd.testing.assert_frame_equal(ours[of_both], theirs[of_both], check_dtype=False, atol=1e-11)
    assert ours["rank_test_score"].dtype == theirs["rank_test_score"].dtype
    np.testing.assert_allclose(
        search.decision_function(domains.X),
        expected.best_estimator_.decision_function(domains.X),
        atol=1e-12,
    )


def test_results_of_several_grids_are_masked(domains):
    grids = [{"kernel": ["linear"], "coupling": [1, 2.0]}, {"gamma": [0.1]}]
    results = fitted(domains, grids, gamma="auto").cv_results_
    assert results["param_gamma"].mask.tolist() == [True, True, False]
    assert results["param_kernel"].tolist() == ["linear", "linear", None]
    assert results["params"][2] == {"gamma": 0.1}
    assert pd.DataFrame(results)["mean_share_error"].between(0, 1).all()


def test_attributes_of_the_machine_are_those_of_the_search(domains):
    search = fitted(domains)
    machine = search.best_estimator_
    for name, value in vars(machine).items():
        if name.endswith("_"):
            assert getattr(search, name) is value
    for name in ("C_source", "C_target", "coupling"):
        assert getattr(search, f"{name}_") == getattr(machine, name)
    assert search.gamma_ == machine.kernel_.gamma == 0.2
    assert search.coupling_ == search.best_params_["coupling"]
    again = search.set_params(kernel="linear").fit(domains.X, domains.bags)
    assert not hasattr(again, "gamma_")
    assert not hasattr(again, "source_coef_")
    assert again.coef_.shape == (1, 4)


def test_outputs_are_those_of_the_machine(domains):
    search = fitted(domains, score_scale=2.0)
    machine, X = search.best_estimator_, domains.X
    for method in ("decision_function", "predict", "predict_proba", "source_decision_function"):
        np.testing.assert_array_equal(getattr(search, method)(X), getattr(machine, method)(X))
    for y in (domains.bags, domains.labels):
        assert search.score(X, y) == machine.score(X, y)
    given = machine.predict_proba_in_bags(X, domains.bags)
    np.testing.assert_array_equal(search.predict_proba_in_bags(X, domains.bags), given)
    np.testing.assert_array_equal(predict_proba_in_bags(search, X, domains.bags), given)
    # Scorers undo the scale of the scores inside a search, too.
    error = neg_soft_share_error(machine, X, domains.bags)
    assert neg_soft_share_error(search, X, domains.bags) == error
    assert get_bag_tags(search) == get_bag_tags(machine)


def test_scorers_see_the_class_of_the_shares_inside_searches(domains):
    """Shares of the first class, whose declaration the scored bags do not repeat."""
    given = {k: 1 - p for k, p in domains.shares.items()}
    flipped = Bags.from_arrays(domains.bag_ids, given, positive=0, negative=1)
    plain = Bags.from_arrays(domains.bag_ids, given)
    ours = TGPLMCV(GRID, BagKFold(4)).fit(domains.X, flipped)
    theirs = GridSearchCV(TGPLM(), GRID, cv=BagKFold(4)).fit(domains.X, flipped)
    for search in (ours, theirs):
        assert share_error_soft_ties(search, domains.X, plain) == share_error_soft_ties(
            search.best_estimator_, domains.X, plain
        )


def test_number_of_jobs_does_not_matter(domains):
    one, two = fitted(domains), fitted(domains, n_jobs=2)
    for name, column in one.cv_results_.items():
        np.testing.assert_array_equal(two.cv_results_[name], column)


def test_given_width_is_not_searched(domains):
    assert "param_gamma" not in fitted(domains, "quick", gamma="paper").cv_results_
    assert "param_gamma" in fitted(domains, "quick", gamma="auto").cv_results_
    assert fitted(domains, {"gamma": [0.7]}, gamma=0.1).gamma_ == 0.7


def test_in_a_pipeline_on_stacked_domains(domains):
    Xa, ya = stack_domains(source=domains.source, target=(domains.X * 5, domains.bags))
    pipeline = make_pipeline(StandardScaler(), TGPLMCV(GRID, 4)).fit(Xa, ya)
    expected = path_search(TGPLM(), StandardScaler().fit_transform(Xa), ya, grid=GRID, cv=4)
    assert pipeline[-1].best_params_ == expected.best_params
    assert pipeline.score(Xa, ya) == expected.best_estimator.score(pipeline[:-1].transform(Xa), ya)


def test_sparse_rows_equal_dense_rows(domains):
    source = sparse.csr_matrix(domains.X_source), domains.y_source
    search = TGPLMCV(GRID, 4, kernel="linear").fit(
        sparse.csr_matrix(domains.X), domains.bags, source=source
    )
    dense = fitted(domains, cv=4, kernel="linear", gamma="auto")
    assert search.best_params_ == dense.best_params_
    np.testing.assert_allclose(
        search.decision_function(sparse.csr_array(domains.X)),
        dense.decision_function(domains.X),
        atol=1e-6,
    )


def test_precomputed_kernel_equals_its_function(domains):
    rows = np.vstack([domains.X_source, domains.X])
    gram, n = rows @ rows.T, len(domains.X_source)
    search = TGPLMCV(GRID, 4, kernel="precomputed", tol=TOL)
    search.fit(gram[n:], domains.bags, source=(gram[:n], domains.y_source))
    linear = fitted(domains, cv=4, kernel="linear", tol=TOL)
    assert search.best_params_ == linear.best_params_
    np.testing.assert_allclose(
        search.decision_function(gram[n:]), linear.decision_function(domains.X), atol=1e-5
    )


def test_search_inside_cross_validation(domains):
    """The honest number: bags held out around the search."""
    cv = BagKFold(3)
    params = {"source": domains.source}
    scores = cross_val_score(
        TGPLMCV(GRID, 3, gamma=0.2), domains.X, domains.bags, cv=cv, params=params
    )
    train, test = next(cv.split(domains.X, domains.bags))
    search = TGPLMCV(GRID, 3, gamma=0.2)
    search.fit(domains.X[train], domains.bags[train], source=domains.source)
    assert scores[0] == search.score(domains.X[test], domains.bags[test])
    out_of_bag = bag_cross_val_predict(search, domains.X, domains.bags, cv=cv)
    assert np.isfinite(out_of_bag).all()


def test_plain_labels_train_the_machine_with_its_defaults(domains):
    weight = np.linspace(0.5, 2.0, len(domains.labels))
    search = TGPLMCV(GRID, kernel="linear", tube="constant")
    search.fit(domains.X, domains.labels, sample_weight=weight)
    expected = TGPLM(kernel="linear", tube="constant")
    expected.fit(domains.X, domains.labels, sample_weight=weight)
    np.testing.assert_array_equal(search.coef_, expected.coef_)
    names = ("C_source", "C_target", "coupling", "gamma")
    assert search.best_params_ == {name: getattr(expected, name) for name in names}
    assert search.n_splits_ == 0
    assert not hasattr(search, "cv_results_")


def test_what_cannot_be_fitted(domains):
    one = np.flatnonzero(domains.bag_ids == 0)
    with pytest.raises(BagError, match="TGPLMCV holds out bags and needs at least 2; there is 1"):
        TGPLMCV().fit(domains.X[one], domains.bags[one])
    with pytest.raises(ValueError, match="sample_weight goes with plain labels only"):
        TGPLMCV().fit(domains.X, domains.bags, sample_weight=np.ones(len(domains.X)))
    with pytest.raises(ValueError, match="needs bags or labelled rows"):
        TGPLMCV().fit(domains.X, None, source=domains.source)
    with pytest.raises(ValueError, match="'tube' parameter of TGPLMCV"):
        TGPLMCV(tube="round").fit(domains.X, domains.bags)
    with pytest.raises(ValueError, match=r"grid must be one of \['full', 'quick', 'paper'\]"):
        TGPLMCV("huge").fit(domains.X, domains.bags)
    with pytest.raises(TypeError, match="TGPLMCV is a search by itself"):
        path_search(TGPLMCV(), domains.X, domains.bags)


def test_source_machine_needs_a_source(domains):
    search = TGPLMCV(GRID, 4).fit(domains.X, domains.bags)
    with pytest.raises(ValueError, match="fitted without a source"):
        search.source_decision_function(domains.X)


def test_progress_is_told_drawn_and_not_stored(domains, capsys, tmp_path):
    calls = []
    search = TGPLMCV(GRID, 4, progress=lambda *numbers: calls.append(numbers))
    assert clone(search).progress is search.progress
    search.fit(domains.X, domains.bags)
    assert calls == [(done, 4) for done in range(1, 5)]
    assert pickle.loads(pickle.dumps(search)).progress is None
    save_model(search, tmp_path / "model.skops")
    assert search.progress is not None
    assert capsys.readouterr() == ("", "")
    search.set_params(progress="bar").fit(domains.X, domains.bags)
    drawn = capsys.readouterr()
    assert drawn.out == ""
    assert drawn.err.endswith(f"\rTGPLMCV [{'#' * 30}] 4/4\n")
    with pytest.raises(ValueError, match="progress must be"):
        path_search(TGPLM(), domains.X, domains.bags, progress="loud")


def test_model_file_keeps_the_search(domains, tmp_path):
    search = fitted(domains, [GRID, {"kernel": ["poly"]}])
    save_model(search, tmp_path / "model.skops")
    saved = load_model(tmp_path / "model.skops")
    assert saved.manifest.method == "TGPLMCV"
    assert saved.manifest.holds_training_rows
    assert saved.model.best_params_ == search.best_params_
    for name, column in search.cv_results_.items():
        np.testing.assert_array_equal(saved.model.cv_results_[name], column)
    np.testing.assert_array_equal(
        saved.model.predict_proba(domains.X), search.predict_proba(domains.X)
    )
    again = saved.model.fit(domains.X, domains.bags, source=domains.source)
    assert again.best_score_ == search.best_score_
