# SPDX-License-Identifier: BSD-3-Clause
"""Warnings name the line of whoever called, through searches and Pipelines too."""

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagshift import TGPLM, Bags, CountLikelihoodClassifier, CountLikelihoodCV
from problems import two_domains

LINEAR = {"kernel": "linear"}


@pytest.mark.parametrize(
    "machine",
    [
        CountLikelihoodClassifier(max_iter=1, **LINEAR),
        CountLikelihoodCV({"C_target": [1.0]}, cv=3, max_iter=1, **LINEAR),
        TGPLM(max_iter=1, **LINEAR),
        make_pipeline(StandardScaler(), CountLikelihoodClassifier(max_iter=1, **LINEAR)),
    ],
    ids=["count", "count search", "tgplm", "pipeline"],
)
def test_warnings_name_the_line_of_the_caller(machine):
    X, bags, _, source = two_domains()
    equal = Bags.from_arrays(bags.bag_index, dict.fromkeys(range(bags.n_bags), 0.93))
    given = {} if hasattr(machine, "steps") else {"source": (100 * source[0], source[1])}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(X, equal, **given)
    assert {warning.filename for warning in caught} == {__file__}
    assert {"BagWarning", "ConvergenceWarning"} <= {each.category.__name__ for each in caught}


def test_predictions_warn_at_the_line_of_the_caller():
    X, bags, _, _ = two_domains()
    fitted = CountLikelihoodClassifier(**LINEAR).fit(X, bags)
    rounded = Bags.from_arrays(np.zeros(len(X)), {0: 0.3})
    for method in (fitted.predict_proba_in_bags, fitted.predict_in_bags, fitted.score):
        with pytest.warns(UserWarning, match="rounded") as caught:
            method(X, rounded)
        assert [warning.filename for warning in caught] == [__file__]
