# SPDX-License-Identifier: BSD-3-Clause
"""A report with ugly names, shared by the tests of its parts and of its look."""

import warnings

import numpy as np
import pytest

from bagshift import Bags, CountLikelihoodClassifier
from bagshift.datasets import rotated_digits
from bagshift.report import make_report

SCRIPT = "<script>document.title='run'</script>"
FORMULA = "=cmd()"


@pytest.fixture(scope="session")
def case():
    digits = rotated_digits(random_state=0)
    names = {0: SCRIPT, 1: FORMULA}
    ids = np.array([names.get(bag, f"bag {bag}") for bag in digits.bag_ids], dtype=object)
    shares = {ids[digits.bag_ids == bag][0]: share for bag, share in digits.shares.items()}
    bags = Bags.from_arrays(ids, shares)
    source = digits.X_source, digits.y_source
    model = CountLikelihoodClassifier(coupling=0.5).fit(digits.X_bagged, bags, source=source)
    return model, digits.X_bagged, bags, source


@pytest.fixture(scope="session")
def page(case):
    model, X, bags, source = case
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return make_report(model, X, bags, source=source, title=f"Report {SCRIPT}", n_replicates=4)
