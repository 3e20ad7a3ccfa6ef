# SPDX-License-Identifier: BSD-3-Clause
r"""Inverse calibration: from the share of a bag to the mean decision value it asks for.

With the probability :math:`\sigma(f)` of a decision value :math:`f`, a share :math:`p` asks for
the value :math:`t = \mathrm{logit}(\mathrm{clip}(p))` (Rueping, ICML 2010). A tube of half width
:math:`\varepsilon` around :math:`t` says how far the bag's mean may stray at no cost. Shares of
more classes ask for a value of each, the centred log-ratio, of which the logit is the case of two.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit, softmax

from bagshift._bags.ids import unmask
from bagshift.exceptions import BagError, name_some

FloatArray = NDArray[np.float64]
Tube = Literal["product", "quotient", "constant"]
Clip = float | Literal["auto", "bag"]

DEFAULT_EPSILON = {"product": 0.1, "quotient": 0.01, "constant": 0.1}
SMALLEST_AUTO_CLIP = 1e-3
LARGEST_CLIP = 0.25


@dataclass(frozen=True)
class BagTargets:
    """What bags ask of the mean decision value of their rows.

    Attributes
    ----------
    centres : ndarray of shape (n_bags,)
        Middle of the tube, in units of the decision function.
    half_widths : ndarray of shape (n_bags,)
        Half the width of the tube, in the same units.
    """

    centres: FloatArray
    half_widths: FloatArray


def inverse_calibrate(
    shares: ArrayLike,
    *,
    clip: Clip = "auto",
    tube: Tube = "product",
    epsilon: float | None = None,
    sizes: ArrayLike,
    n_rows: int,
    noisy: ArrayLike = False,
) -> BagTargets:
    r"""Turn shares into targets of the mean decision value.

    Parameters
    ----------
    shares : array-like of shape (n_bags,)
        Shares of positives in [0, 1].
    clip : {"auto", "bag"} or float, default="auto"
        How far shares are kept away from 0 and 1, see `clip_levels`.
    tube : {"product", "quotient", "constant"}, default="product"
        With :math:`p` the clipped share, "product" has the half width
        :math:`\varepsilon p(1-p)` around :math:`\mathrm{logit}\,p`, as the TGPLM paper prints;
        "constant" has :math:`\varepsilon`. "quotient", with :math:`p` the share as given, is the
        interval from :math:`\mathrm{logit}\,\mathrm{clip}(p-\varepsilon)` to
        :math:`\mathrm{logit}\,\mathrm{clip}(p+\varepsilon)`, a tolerance in units of the share:
        its half width is :math:`\varepsilon / (p(1-p))` to first order where neither end is
        clipped, and its centre is not :math:`\mathrm{logit}\,p` but the middle.
    epsilon : float, optional
        By default 0.1 for "product" and "constant", 0.01 for "quotient".
    sizes : array-like of shape (n_bags,)
        Individuals that each share speaks about.
    n_rows : int
        Number of target rows.
    noisy : bool or array-like of bool, shape (n_bags,), default=False
        Which shares have declared noise in them: these may lie outside [0, 1] and are clipped.

    Returns
    -------
    BagTargets

    Raises
    ------
    BagError
        If a share without noise is outside [0, 1], or any share is missing.
    ValueError
        If `clip`, `tube` or `epsilon` is not among the allowed values.

    Examples
    --------
    >>> targets = inverse_calibrate([0.5, 1.0], clip=0.1, sizes=[4, 4], n_rows=8)
    >>> targets.centres.round(3)
    array([0.   , 2.197])
    >>> targets.half_widths.round(3)
    array([0.025, 0.009])
    """
    raw = np.asarray(unmask(shares), dtype=np.float64)
    raw = np.where(noisy, np.clip(raw, 0.0, 1.0), raw)
    levels = clip_levels(clip, sizes=sizes, n_rows=n_rows)
    clipped = clip_shares(raw, levels)
    width = _check_epsilon(epsilon, tube)
    if tube == "quotient":
        low = logit(clip_shares(np.clip(raw - width, 0, 1), levels))
        high = logit(clip_shares(np.clip(raw + width, 0, 1), levels))
        return BagTargets(centres=(low + high) / 2, half_widths=(high - low) / 2)
    half_widths = width * clipped * (1 - clipped) if tube == "product" else width
    return BagTargets(
        centres=logit(clipped), half_widths=np.broadcast_to(half_widths, raw.shape).copy()
    )


def centred_log_ratio(
    shares: ArrayLike,
    *,
    clip: Clip = "auto",
    sizes: ArrayLike,
    n_rows: int,
    noisy: ArrayLike = False,
) -> FloatArray:
    r"""Turn the shares of any number of classes into targets of their mean decision values.

    The target of class :math:`c` of :math:`C` is the logarithm of its share against the mean
    logarithm of the others',

    .. math::

        t_c = \log p_c - \frac1{C-1}\sum_{c' \ne c}\log p_{c'}
        = \frac C{C-1}\Bigl(\log p_c - \frac1C\sum_{c'}\log p_{c'}\Bigr) .

    Of two classes it is the logit of the share. All classes together sum to zero, and
    :func:`class_probabilities` is the way back.

    Parameters
    ----------
    shares : array-like of shape (n_bags, n_classes)
        Shares of the classes in [0, 1]; each row sums to 1.
    clip : {"auto", "bag"} or float, default="auto"
        How far each share is kept away from 0 and 1, as of one class against all the others, see
        `clip_levels`; a row is divided by its sum after that.
    sizes : array-like of shape (n_bags,)
        Individuals that the shares of each bag speak about.
    n_rows : int
        Number of target rows.
    noisy : bool or array-like of bool, shape (n_bags,), default=False
        Which bags have declared noise in their shares: these may lie outside [0, 1] and are
        clipped.

    Returns
    -------
    ndarray of shape (n_bags, n_classes)

    Raises
    ------
    BagError
        If a share without noise is outside [0, 1], or any share is missing.
    ValueError
        If `clip` is not among the allowed values, or there are fewer than two classes.

    References
    ----------
    J. Aitchison, The statistical analysis of compositional data, J. R. Stat. Soc. B 44, 1982; the
    factor makes two classes the logit.

    Examples
    --------
    >>> centred_log_ratio([[0.2, 0.3, 0.5]], clip=0.01, sizes=[10], n_rows=10).round(3)
    array([[-0.661, -0.053,  0.714]])
    >>> centred_log_ratio([[0.2, 0.8]], clip=0.01, sizes=[10], n_rows=10).round(3)
    array([[-1.386,  1.386]])
    """
    raw = np.asarray(unmask(shares), dtype=np.float64)
    if raw.ndim != 2 or raw.shape[1] < 2:
        raise ValueError(
            f"shares must have a column for each of two classes or more: its shape is {raw.shape}."
        )
    is_noisy = np.broadcast_to(np.asarray(noisy, dtype=bool), len(raw))
    raw = np.where(is_noisy[:, None], np.clip(raw, 0.0, 1.0), raw)
    levels = clip_levels(clip, sizes=sizes, n_rows=n_rows)
    logs = np.log(clip_shares(raw, levels[:, None]))
    n_classes = raw.shape[1]
    # Division of a row by its sum moves all its logarithms alike, which the mean takes away.
    centred = logs - logs.mean(axis=1, keepdims=True)
    return np.asarray(n_classes / (n_classes - 1) * centred)


def class_probabilities(scores: ArrayLike) -> FloatArray:
    r"""Turn decision values of any number of classes into probabilities.

    The inverse of :func:`centred_log_ratio`: the softmax of :math:`\frac{C-1}C f`, which for two
    opposite scores is the sigmoid.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_classes)

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        Rows sum to 1.

    Examples
    --------
    >>> class_probabilities([[-0.661, -0.053, 0.714]]).round(3)
    array([[0.2, 0.3, 0.5]])
    """
    values = np.asarray(scores, dtype=np.float64)
    n_classes = values.shape[1]
    return np.asarray(softmax((n_classes - 1) / n_classes * values, axis=1))


def class_codes(places: ArrayLike, n_classes: int) -> FloatArray:
    r"""Turn labels into targets of the decision values: 1 for the label, less for the others.

    Parameters
    ----------
    places : array-like of int, shape (n_rows,)
        Place of each row's label among the classes.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        1 in the column of the label and :math:`-1/(C-1)` in the others, so that rows sum to 0;
        of two classes -1 and 1 as ever.

    Examples
    --------
    >>> class_codes([2, 0], 3)
    array([[-0.5, -0.5,  1. ],
           [ 1. , -0.5, -0.5]])
    """
    labels = np.asarray(places, dtype=np.intp)
    codes = np.full((len(labels), n_classes), -1.0 / (n_classes - 1))
    codes[np.arange(len(labels)), labels] = 1.0
    return codes


def clip_levels(clip: Clip, *, sizes: ArrayLike, n_rows: int) -> FloatArray:
    r"""How far each bag's share is kept away from 0 and 1.

    Parameters
    ----------
    clip : {"auto", "bag"} or float
        "auto" is :math:`1/N` for :math:`N` target rows, at least 0.001; "bag" is half a count,
        :math:`1/(2 |S_k|)`. Both are at most 1/4, so that a share keeps its side of one half
        even for bags of one. A number strictly between 0 and 1/2 is taken as it is.
    sizes : array-like of shape (n_bags,)
    n_rows : int

    Returns
    -------
    ndarray of shape (n_bags,)
    """
    bag_sizes = np.asarray(unmask(sizes), dtype=np.float64)
    if isinstance(clip, str):
        if clip == "auto":
            level = max(1 / max(n_rows, 1), SMALLEST_AUTO_CLIP)
            return np.full(bag_sizes.shape, min(level, LARGEST_CLIP))
        if clip == "bag":
            return np.minimum(0.5 / bag_sizes, LARGEST_CLIP)
    elif 0 < clip < 0.5:
        return np.full(bag_sizes.shape, float(clip))
    raise ValueError(
        f'clip must be "auto", "bag" or a number strictly between 0 and 0.5, not {clip!r}.'
    )


def clip_shares(shares: ArrayLike, levels: ArrayLike) -> FloatArray:
    """Keep shares away from 0 and 1.

    Parameters
    ----------
    shares : array-like of shape (n_bags,) or (n_bags, n_classes)
    levels : float or array-like that fits them

    Returns
    -------
    ndarray of the shape of `shares`

    Examples
    --------
    >>> clip_shares([0.0, 0.3, 1.0], 0.01)
    array([0.01, 0.3 , 0.99])
    """
    values = np.asarray(unmask(shares), dtype=np.float64)
    bad = ~((values >= 0) & (values <= 1))
    if bad.any():
        bags = bad.any(axis=1) if bad.ndim == 2 else bad
        raise BagError(
            "shares must lie in [0, 1] but do not at positions "
            f"{name_some(np.flatnonzero(bags))}: correct them."
        )
    level = np.asarray(levels, dtype=np.float64)
    return np.clip(values, level, 1 - level)


def _check_epsilon(epsilon: float | None, tube: str) -> float:
    if tube not in DEFAULT_EPSILON:
        raise ValueError(f"tube must be one of {name_some(DEFAULT_EPSILON)}, not {tube!r}.")
    if epsilon is None:
        return DEFAULT_EPSILON[tube]
    if not (np.isfinite(epsilon) and epsilon >= 0):
        raise ValueError(f"epsilon must be a finite number that is not negative, not {epsilon!r}.")
    return float(epsilon)
