# SPDX-License-Identifier: BSD-3-Clause
"""Methods of the league: all of the library, chosen without a label."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

import bagshift
from bagshift import TSVM, MeanMap
from bagshift.datasets import LabelledDomains
from bagshift.estimators._base import BagClassifier
from bagshift.experiments.draws import Draw, make_draw
from bagshift.experiments.methods import CEILING, METHODS, supervised_svm
from bagshift.experiments.selection import rbf_widths, score, select
from bagshift.model_selection import BagKFold, share_error_soft_ties

# A run gathers their warnings, see test_runs.py.
pytestmark = pytest.mark.filterwarnings("ignore")

# In the league as CountLikelihoodCV and TGPLMCV, as the ceiling, and as what is in a wrapper.
ELSEWHERE = {
    *("CountLikelihoodClassifier", "TGPLM", "TrueLabelSVM", "SigmoidCalibrator"),
    "OneVsRestBagClassifier",
}


@pytest.fixture
def draw(clouds: LabelledDomains) -> Draw:
    return make_draw(
        replace(
            clouds, X_target=clouds.X_target[:130], y_target=clouds.y_target[:130], groups=None
        ),
        "table",
        8,
        0,
    )


def test_every_classifier_of_the_library_takes_part() -> None:
    public = {
        name
        for name in bagshift.__all__
        if isinstance(found := getattr(bagshift, name), type) and issubclass(found, BagClassifier)
    }
    assert public - ELSEWHERE <= {name.partition("(")[0] for name in METHODS}


@pytest.mark.parametrize("name", METHODS)
def test_methods_learn_and_target_labels_do_not_matter(draw: Draw, name: str) -> None:
    model, chosen = METHODS[name].fit(draw)
    assert model.score(draw.X_fresh, draw.y_fresh) > 0.6
    if name == CEILING:
        return
    unlabelled = replace(draw, y_bagged=np.zeros_like(draw.y_bagged), y_fresh=draw.y_fresh[:0])
    again, chosen_again = METHODS[name].fit(unlabelled)
    assert {k: str(v) for k, v in chosen.items()} == {k: str(v) for k, v in chosen_again.items()}
    assert np.array_equal(model.predict(draw.X_fresh), again.predict(draw.X_fresh))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_floor_and_ceiling_are_those_of_the_protocol(draw: Draw, kernel: str) -> None:
    X, y = draw.X_source, draw.y_source
    model, chosen = supervised_svm(kernel, X, y, 3)
    grid = {"C": [0.25, 1.0, 8.0]}
    if kernel == "rbf":
        scale = 1 / (X.shape[1] * X.var())
        grid["gamma"] = [0.25 * scale, scale, 4 * scale]
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    search = GridSearchCV(SVC(kernel=kernel), grid, cv=folds).fit(X, y)
    assert chosen == search.best_params_
    np.testing.assert_allclose(
        model.decision_function(draw.X_fresh), search.decision_function(draw.X_fresh)
    )


def test_criterion_is_the_share_error_of_held_out_bags(draw: Draw) -> None:
    settings = [{"C": 0.25}, {"C": 8.0}]
    expected = []
    for setting in settings:
        of_folds = []
        for train, test in BagKFold(3, shuffle=True, random_state=0).split(
            draw.X_bagged, draw.bags
        ):
            model = MeanMap(kernel="linear", **setting)
            model.fit(draw.X_bagged[train], draw.bags[train])
            of_folds.append(
                (share_error_soft_ties(model, draw.X_bagged[test], draw.bags[test]), len(test))
            )
        values, weights = zip(*of_folds, strict=True)
        expected.append(np.average(values, weights=weights))
    linear = replace(draw, kernel="linear")
    found = [score(MeanMap(kernel="linear"), setting, linear) for setting in settings]
    np.testing.assert_allclose(found, expected)
    _, chosen = select(MeanMap(kernel="linear"), settings, linear)
    assert chosen == settings[int(np.argmax(expected))]


def test_without_shares_in_the_fit_all_bags_score(draw: Draw) -> None:
    machine = TSVM(kernel="linear").fit(draw.X_bagged, draw.bags, source=draw.source)
    expected = share_error_soft_ties(machine, draw.X_bagged, draw.bags)
    assert score(TSVM(kernel="linear"), {}, draw) == expected


def test_widths_are_those_of_both_domains(draw: Draw) -> None:
    rows = np.concatenate([draw.X_source, draw.X_bagged])
    np.testing.assert_allclose(
        rbf_widths(draw), np.array([0.25, 1, 4]) / (3 * rows.var()), rtol=1e-12
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_class_is_refused_in_a_sentence(kernel: str) -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(ValueError, match="number of classes has to be greater than one") as told:
        supervised_svm(kernel, X, np.ones(40, dtype=np.int8), 0)
    assert len(str(told.value)) < 200
