# SPDX-License-Identifier: BSD-3-Clause
"""Handwritten digits, upright as history and rotated as target.

The images are scikit-learn's bundled digits; no download. It is the smallest problem with a real
shift between domains: two digits drawn upright are told apart by what is no longer there once the
page is turned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import rotate
from sklearn.datasets import load_digits
from sklearn.utils import check_random_state

from bagshift.datasets.bag_making import check_number, make_bags

SIDE = 8
BRIGHTEST = 16.0
Pixels = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class RotatedDigits:
    """One draw of the problem; no image occurs twice.

    Pixels lie in [0, 1], row by row. Labels are 1 for the second digit of the pair, else 0.

    Attributes
    ----------
    X_source, y_source : ndarray of shape (n_source, 64), (n_source,)
        Upright digits and their labels.
    X_bagged : ndarray of shape (n_bagged, 64)
        Rotated digits in bags.
    bag_ids : ndarray of shape (n_bagged,)
        Their bags.
    shares : dict of int to float
        Share of the second digit in every bag.
    X_fresh, y_fresh : ndarray of shape (n_fresh, 64), (n_fresh,)
        Further rotated digits and their labels, for testing only.
    y_bagged : ndarray of shape (n_bagged,)
        True labels of the bagged rows, for testing only.
    pair : tuple of int
        The two digits.
    angle : float
        Degrees that the target is rotated by.
    """

    X_source: Pixels
    y_source: Ints
    X_bagged: Pixels
    bag_ids: Ints
    shares: dict[int, float]
    X_fresh: Pixels
    y_fresh: Ints
    y_bagged: Ints
    pair: tuple[int, int]
    angle: float


def rotated_digits(
    angle: float = 50.0,
    pair: tuple[int, int] = (3, 8),
    random_state: int | np.random.RandomState | None = None,
    *,
    n_source: int = 120,
    bag_size: int = 8,
) -> RotatedDigits:
    """Draw the problem.

    Parameters
    ----------
    angle : float, default=50.0
        Degrees that the target images are rotated by, counterclockwise.
    pair : tuple of two ints, default=(3, 8)
        The digits to tell apart; the second is the positive class.
    random_state : int, RandomState or None, default=None
        Of the draw.
    n_source : int, default=120
        Upright images. Half of the other images, rounded down to whole bags, are bagged; the
        rest is fresh.
    bag_size : int, default=8
        Rows per bag.

    Returns
    -------
    RotatedDigits

    Raises
    ------
    ValueError
        When the pair is not two different digits, the angle is not finite, a number is none, or
        not enough images are left for a bag.

    Examples
    --------
    >>> digits = rotated_digits(random_state=0)
    >>> digits.X_source.shape, digits.X_bagged.shape, digits.X_fresh.shape
    ((120, 64), (112, 64), (125, 64))
    """
    negative, positive = pair
    if negative == positive or not {negative, positive} <= set(range(10)):
        raise ValueError(f"pair must be two different digits from 0 to 9, not {pair}.")
    if not np.isfinite(angle):
        raise ValueError(f"angle must be a finite number of degrees, not {angle!r}.")
    check_number("n_source", n_source)
    check_number("bag_size", bag_size)
    random = check_random_state(random_state)
    images, digit = load_digits(return_X_y=True)
    order = random.permutation(np.flatnonzero(np.isin(digit, pair)))
    n_bagged = max(0, len(order) - n_source) // 2 // bag_size * bag_size
    if n_bagged == 0:
        raise ValueError(
            f"n_source={n_source} leaves no bag of {bag_size} of {len(order)} images; lower it."
        )
    source, bagged, fresh = np.split(order, [n_source, n_source + n_bagged])
    labels = (digit == positive).astype(np.int64)
    bag_ids, shares = make_bags(labels[bagged], bag_size, random)
    return RotatedDigits(
        X_source=images[source] / BRIGHTEST,
        y_source=labels[source],
        X_bagged=_rotated(images[bagged], angle),
        bag_ids=bag_ids,
        shares=shares,
        X_fresh=_rotated(images[fresh], angle),
        y_fresh=labels[fresh],
        y_bagged=labels[bagged],
        pair=pair,
        angle=angle,
    )


def _rotated(images: Pixels, angle: float) -> Pixels:
    """Turn images about their centre by linear interpolation."""
    squares = images.reshape(-1, SIDE, SIDE) / BRIGHTEST
    turned = rotate(squares, angle, axes=(2, 1), reshape=False, order=1)
    return np.asarray(np.clip(turned, 0.0, 1.0)).reshape(-1, SIDE * SIDE)
