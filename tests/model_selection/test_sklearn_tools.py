# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's own tools around the machines, with bags as the target."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagshift import TGPLM, InverseCalibrationSVM, SourceSVM, stack_domains
from bagshift.model_selection import (
    BagKFold,
    LeaveOneBagOut,
    neg_soft_share_error,
    share_error_soft_ties,
)


@pytest.mark.parametrize("machine", [TGPLM(), SourceSVM()], ids=repr)
def test_source_reaches_every_fold_whole(machine, domains):
    cv = BagKFold(4)
    scores = cross_validate(
        machine,
        domains.X,
        domains.bags,
        cv=cv,
        params={"source": domains.source},
        error_score="raise",
    )["test_score"]
    expected = [
        clone(machine)
        .fit(domains.X[train], domains.bags[train], source=domains.source)
        .score(domains.X[test], domains.bags[test])
        for train, test in cv.split(domains.X, domains.bags)
    ]
    np.testing.assert_array_equal(scores, expected)


def test_source_as_long_as_the_target_is_not_sliced(domains):
    n = len(domains.X)
    source = np.resize(domains.X_source, (n, 4)), np.resize(domains.y_source, n)
    search = GridSearchCV(TGPLM(), {"coupling": [0.1, 1.0]}, cv=BagKFold(4), error_score="raise")
    search.fit(domains.X, domains.bags, source=source)
    assert search.predict(domains.X).shape == (n,)


def test_grid_search_in_processes(domains):
    def fitted(n_jobs):
        return GridSearchCV(
            TGPLM(),
            {"coupling": [0.1, 1.0]},
            cv=LeaveOneBagOut(),
            scoring=share_error_soft_ties,
            n_jobs=n_jobs,
            error_score="raise",
        ).fit(domains.X, domains.bags, source=domains.source)

    alone, together = fitted(None), fitted(2)
    assert alone.best_params_ == together.best_params_
    for split in range(14):
        name = f"split{split}_test_score"
        np.testing.assert_array_equal(alone.cv_results_[name], together.cv_results_[name])


def test_grid_search_over_a_pipeline_on_stacked_domains(domains):
    Xa, ya = stack_domains(source=domains.source, target=(domains.X, domains.bags))
    pipeline = make_pipeline(StandardScaler(), TGPLM())
    search = GridSearchCV(
        pipeline,
        {"standardscaler__with_std": [True, False], "tgplm__coupling": [0.1, 1.0]},
        cv=BagKFold(4),
        scoring=neg_soft_share_error,
        error_score="raise",
    ).fit(Xa, ya)
    # Scaling both domains by hand, fold by fold, gives the same scores.
    best = clone(pipeline).set_params(**search.best_params_)
    expected = []
    for train, test in BagKFold(4).split(Xa, ya):
        scaler = clone(best[0]).fit(Xa[train])
        model = clone(best[1]).fit(scaler.transform(Xa[train]), ya[train])
        expected.append(neg_soft_share_error(model, scaler.transform(Xa[test]), ya[test]))
    assert search.best_score_ == pytest.approx(np.mean(expected), abs=1e-12)


def test_frames_and_set_output(domains):
    columns = ["a", "b", "c", "d"]
    source = pd.DataFrame(domains.X_source, columns=columns), domains.y_source
    Xa, ya = stack_domains(
        source=source, target=(pd.DataFrame(domains.X, columns=columns), domains.bags)
    )
    pipeline = make_pipeline(StandardScaler(), TGPLM()).set_output(transform="pandas")
    from_frames = cross_val_score(pipeline, Xa, ya, cv=BagKFold(4), error_score="raise")
    from_arrays = cross_val_score(
        make_pipeline(StandardScaler(), TGPLM()), Xa.to_numpy(), ya, cv=BagKFold(4)
    )
    np.testing.assert_allclose(from_frames, from_arrays)
    assert list(clone(pipeline).fit(Xa, ya)[-1].feature_names_in_) == columns


def test_searched_machine_can_be_pickled(domains):
    search = GridSearchCV(InverseCalibrationSVM(), {"C": [1.0, 4.0]}, cv=BagKFold(4))
    search.fit(domains.X, domains.bags)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(
        again.decision_function(domains.X), search.decision_function(domains.X)
    )
