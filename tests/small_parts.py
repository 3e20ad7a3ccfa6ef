# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the paper cut down to what a test has time for."""

from __future__ import annotations

import pytest
from sklearn.svm import SVC

from bagshift.experiments.draws import Draw
from bagshift.experiments.paper import (
    gaussians,
    synthetic,
    synthetic_claims,
    synthetic_pictures,
)
from bagshift.experiments.runs import Outcome

COUPLINGS = (2.0**-6, 1.0, 2.0**11)


def quickly(method: str, draw: Draw) -> Outcome:
    """Stand in for the methods of the league, which have tests of their own."""
    machine = SVC().fit(draw.X_source, draw.y_source)
    fresh, in_sample = (
        machine.score(X, y)
        for X, y in ((draw.X_fresh, draw.y_fresh), (draw.X_bagged, draw.y_bagged))
    )
    return Outcome(fresh, in_sample, f"method={method}")


def make_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave two bag sizes and three couplings; the honest protocol takes little time."""
    monkeypatch.setattr(gaussians, "honest_outcome", quickly)
    monkeypatch.setattr(synthetic, "BAG_SIZES", (8, 16))
    for module in (synthetic, synthetic_claims, synthetic_pictures):
        monkeypatch.setattr(module, "COUPLINGS", COUPLINGS)
