# SPDX-License-Identifier: BSD-3-Clause
"""Counts of right labels against machines fitted one by one."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, ParameterGrid
from sklearn.svm import SVC

from bagshift import TGPLM, InverseCalibrationSVM, SourceSVM
from bagshift.estimators import TrueLabelSVM
from bagshift.estimators._training import read_training
from bagshift.model_selection import BagKFold
from bagshift.model_selection._labelled_folds import LabelledFold, count_right

TOL = 1e-8
COSTS = [0.25, 4.0]
GAMMAS = [0.05, 0.4]
GRIDS = {
    "tgplm": (
        TGPLM(tol=TOL),
        {"gamma": GAMMAS, "C_source": COSTS, "C_target": COSTS, "coupling": [0.1, 8.0]},
    ),
    "ic-svm": (InverseCalibrationSVM(tol=TOL), {"gamma": GAMMAS, "C": COSTS}),
    "svm": (SourceSVM(tol=TOL), {"gamma": GAMMAS, "C": COSTS}),
}


def machines_of(machine, grid):
    return [clone(machine).set_params(**setting) for setting in ParameterGrid(grid)]


def folds_of(domain, splits):
    return [LabelledFold(domain, np.sort(train), np.sort(test)) for train, test in splits]


@pytest.mark.parametrize("name", GRIDS)
def test_held_out_bags(domains, name):
    machine, grid = GRIDS[name]
    bags, source = domains.bags, None if name == "ic-svm" else domains.source
    folds = folds_of("target", BagKFold(4, shuffle=True, random_state=1).split(domains.X, bags))
    machines = machines_of(machine, grid)
    given = read_training(clone(machine), domains.X, bags, source=source)
    right = count_right(machines, given, folds, np.where(domains.labels == 1, 1, -1))
    for i, each in enumerate(machines):
        for j, fold in enumerate(folds):
            fitted = clone(each).fit(domains.X[fold.train], bags[fold.train], source=source)
            guess = fitted.predict(domains.X[fold.test])
            assert right[i, j] == np.sum(guess == domains.labels[fold.test])


@pytest.mark.parametrize("name", ["tgplm", "svm"])
def test_held_out_source_rows(domains, name):
    machine, grid = GRIDS[name]
    X, y = domains.source
    folds = folds_of("source", KFold(5, shuffle=True, random_state=0).split(X))
    machines = machines_of(machine, grid)
    given = read_training(clone(machine), domains.X, domains.bags, source=domains.source)
    right = count_right(machines, given, folds, np.where(y == 1, 1, -1))
    for i, each in enumerate(machines):
        for j, fold in enumerate(folds):
            history = X[fold.train], y[fold.train]
            fitted = clone(each).fit(domains.X, domains.bags, source=history)
            if name == "tgplm":
                positive = fitted.source_decision_function(X[fold.test]) > 0
            else:
                positive = fitted.decision_function(X[fold.test]) > 0
            assert right[i, j] == np.sum(positive == (y[fold.test] == 1))


def test_true_labels_are_those_of_svc(domains):
    X, y = domains.X, domains.labels
    folds = folds_of("target", KFold(3).split(X))
    machines = machines_of(TrueLabelSVM(tol=TOL), {"gamma": GAMMAS, "C": COSTS})
    given = read_training(TrueLabelSVM(), X, y)
    right = count_right(machines, given, folds, np.where(y == 1, 1, -1))
    for i, each in enumerate(machines):
        for j, fold in enumerate(folds):
            svc = SVC(C=each.C, gamma=each.gamma, tol=TOL).fit(X[fold.train], y[fold.train])
            assert right[i, j] == np.sum(svc.predict(X[fold.test]) == y[fold.test])


def test_training_on_everything_is_a_fold_too(domains):
    machines = machines_of(*GRIDS["tgplm"])
    given = read_training(TGPLM(), domains.X, domains.bags, source=domains.source)
    rows = np.arange(len(domains.X))
    right = count_right(
        machines, given, [LabelledFold("target", rows, rows)], np.where(domains.labels == 1, 1, -1)
    )
    for i, each in enumerate(machines):
        fitted = clone(each).fit(domains.X, domains.bags, source=domains.source)
        assert right[i, 0] == np.sum(fitted.predict(domains.X) == domains.labels)
