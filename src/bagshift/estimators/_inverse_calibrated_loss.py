# SPDX-License-Identifier: BSD-3-Clause
"""The inverse-calibrated loss of bags, shared by TGPLM and the inverse-calibrated SVM."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.calibration import inverse_calibrate
from bagshift.estimators._coupled import Loss, tube_loss
from bagshift.estimators._training import TrainingData

CALIBRATION_CONSTRAINTS: dict[str, list[Any]] = {
    "tube": [StrOptions({"product", "quotient", "constant"})],
    "epsilon": [None, Interval(Real, 0.0, None, closed="left")],
    "clip": [StrOptions({"auto", "bag"}), Interval(Real, 0.0, 0.5, closed="neither")],
    "bag_weight": [StrOptions({"equal", "size"})],
}


def bag_loss(machine: Any, data: TrainingData, cost: float, *, score_scale: float = 1.0) -> Loss:
    """Return the tube loss of every bag around the logit of its share.

    Parameters
    ----------
    machine : estimator
        Gives ``tube``, ``epsilon``, ``clip`` and ``bag_weight``.
    data : TrainingData
        The bags with their shares and sizes.
    cost : float
        Cost of a unit of slack of a bag of average weight.
    score_scale : float, default=1.0
        Factor on wanted scores and tubes.

    Returns
    -------
    Loss
    """
    bags = data.bags
    if bags.n_bags == 0:
        nothing = np.empty(0)
        return tube_loss(nothing, nothing, nothing)
    wanted = inverse_calibrate(
        data.shares,
        clip=machine.clip,
        tube=machine.tube,
        epsilon=machine.epsilon,
        sizes=bags.sizes,
        n_rows=len(bags),
        noisy=bags.is_noisy,
    )
    weight = bags.weights
    if machine.bag_weight == "size":
        weight = weight * bags.sizes / bags.sizes.mean()
    return tube_loss(score_scale * wanted.centres, score_scale * wanted.half_widths, cost * weight)
