# SPDX-License-Identifier: BSD-3-Clause
"""The inverse-calibrated loss of bags, shared by TGPLM and the inverse-calibrated SVM."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.bags import Bags
from bagshift.calibration import inverse_calibrate
from bagshift.estimators._coupled import Loss, tube_loss
from bagshift.estimators._training import TrainingData

Floats = NDArray[np.float64]

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
    cost_of_bags = cost * bag_weights(bags, machine.bag_weight)
    return tube_loss(score_scale * wanted.centres, score_scale * wanted.half_widths, cost_of_bags)


def bag_weights(bags: Bags, bag_weight: str) -> Floats:
    """Return the factor on the loss of every bag.

    Parameters
    ----------
    bags : Bags
        With weights of their own.
    bag_weight : {"equal", "size"}
        Whether these are all, or sizes count as well.

    Returns
    -------
    ndarray of shape (n_bags,)
    """
    if bag_weight == "equal" or bags.n_bags == 0:
        return bags.weights
    return np.asarray(bags.weights * bags.sizes / bags.sizes.mean())
