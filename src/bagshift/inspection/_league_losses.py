# SPDX-License-Identifier: BSD-3-Clause
"""What bags cost in the library's own experiments: accuracy lost against true labels.

Source: the league of 2026-11-30, ``docs/results/2026-11-30/league-random-8-tasks.csv`` and those
of 32 and 100. The loss of a task is the fresh accuracy of an SVM with the true labels of all
bagged rows (``ceiling``) minus that of `CountLikelihoodCV`, a mean over ten draws, in points.
Tasks with fewer than 50 fresh rows (pie) are left out, as in the league's own means. Bags were
cut at random, with exact shares: the hardest case. There were up to 100 bags of 8, and up to 25
of 32 and of 100.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SOURCE = "the league of 2026-11-30 (docs/league)"

# Bag size: tasks, then points lost: lowest tenth, median, highest tenth and worst of the tasks.
LOSSES = {
    8: (22, -0.24, 0.03, 2.47, 21.55),
    32: (17, 0.26, 1.01, 5.80, 13.67),
    100: (14, 0.42, 1.02, 3.81, 6.74),
}
_SIZES = np.array(list(LOSSES), dtype=np.float64)


@dataclass(frozen=True)
class LossRange:
    """Points of fresh accuracy lost against true labels, over tasks of the league.

    Attributes
    ----------
    bag_size : float
        For which size.
    low, middle, high : float
        In eight of ten tasks the loss was between `low` and `high`, in half of them up to
        `middle`. Between the sizes of the league, interpolated in the logarithm of the size.
    worst : float
        In the worst task.
    is_measured : bool
        Whether the size is from 8 to 100, as in the league. Smaller bags have the figures of 8,
        which they should not exceed; larger ones those of 100, which they may exceed.
    """

    bag_size: float
    low: float
    middle: float
    high: float
    worst: float
    is_measured: bool

    def __str__(self) -> str:
        text = f"{self.low:.1f} to {self.high:.1f} points"
        if self.is_measured:
            return text
        if self.bag_size < _SIZES[0]:
            return f"at most the {text} of bags of 8"
        return f"at least the {text} of bags of 100, beyond which nothing was measured"


def loss_range(bag_size: float) -> LossRange:
    """Look up what bags of a size cost.

    Parameters
    ----------
    bag_size : float

    Returns
    -------
    LossRange

    Examples
    --------
    >>> print(loss_range(20))
    0.1 to 4.7 points
    """
    place = np.log(np.clip(bag_size, _SIZES[0], _SIZES[-1]))
    figures = np.array([LOSSES[int(size)][1:] for size in _SIZES])
    low, middle, high, worst = (
        float(np.interp(place, np.log(_SIZES), column)) for column in figures.T
    )
    is_measured = bool(_SIZES[0] <= bag_size <= _SIZES[-1])
    return LossRange(float(bag_size), low, middle, high, worst, is_measured)
