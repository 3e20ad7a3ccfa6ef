# SPDX-License-Identifier: BSD-3-Clause
"""Model files of machines of more than two classes."""

from __future__ import annotations

import numpy as np
import pytest

from bagshift import (
    LSTGPLM,
    TGPLM,
    TGPLMCV,
    Bags,
    CountLikelihoodClassifier,
    InverseCalibrationSVM,
    OneVsRestBagClassifier,
    ProportionMatching,
    SourceSVM,
)
from bagshift.exceptions import ModelFileError
from bagshift.persistence import load_model, save_model

NAMES = np.array(["bear", "cat", "dog"])
MACHINES = [
    TGPLM(),
    TGPLM(kernel="linear"),
    TGPLM(solver="newton", feature_map="fourier", n_components=20),
    TGPLMCV(grid={"C_target": [1.0, 4.0]}),
    LSTGPLM(),
    CountLikelihoodClassifier(standardize=True),
    CountLikelihoodClassifier(kernel="linear"),
    SourceSVM(),
    InverseCalibrationSVM(),
    OneVsRestBagClassifier(ProportionMatching()),
]


def fitted(machine):
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=60)
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[codes] + rng.normal(size=(60, 2))
    ids = np.repeat(np.arange(12), 5)
    shares = np.eye(3)[codes].reshape(12, 5, 3).mean(axis=1)
    bags = Bags.from_arrays(ids, dict(enumerate(shares)), classes=NAMES)
    source = None if isinstance(machine, InverseCalibrationSVM) else (X[:30], NAMES[codes[:30]])
    return machine.fit(X, bags, source=source), X


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_saved_and_loaded(machine, tmp_path):
    machine, X = fitted(machine)
    save_model(machine, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.model.decision_function(X), machine.decision_function(X))
    assert np.array_equal(loaded.model.predict(X), machine.predict(X))
    assert loaded.manifest.classes == tuple(NAMES)
    assert loaded.manifest.positive is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"classes_": np.array(["bear", "cat", "cat"])}, "not two or more different classes"),
        ({"classes_": NAMES[:2]}, "positive_class_"),
        ({"intercept_": np.zeros(1)}, r"its intercept_ has shape \(1,\) where \(3,\) is needed"),
        ({"coef_": np.zeros((1, 2))}, r"its coef_ has shape \(1, 2\) where \(3, 2\) is needed"),
        ({"coef_": np.full((3, 2), np.nan)}, "not finite"),
    ],
)
def test_what_could_not_predict_is_refused(change, words, tmp_path):
    machine, _ = fitted(TGPLM(kernel="linear"))
    vars(machine).update(change)
    with pytest.raises(ModelFileError, match=words):
        save_model(machine, tmp_path / "model.skops")
