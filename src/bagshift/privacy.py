# SPDX-License-Identifier: BSD-3-Clause
r"""Releases of bag counts that protect the label of every individual.

Two data sets are neighbours if they differ in the label of one individual; features, bag sizes
and who is in which bag are public. Then one count changes by one (bags are disjoint), and adding
two-sided geometric noise of parameter :math:`\varepsilon` to every count makes any set of
releases at most :math:`e^\varepsilon` times as likely under one data set as under the other:
label differential privacy [1]_, [2]_.

Noise drawn in floating point leaks the count through its last digits, so it is drawn with whole
numbers alone, and exactly, from random bits [3]_.

References
----------
.. [1] A. Ghosh, T. Roughgarden, M. Sundararajan (2012). Universally utility-maximizing privacy
   mechanisms. SIAM Journal on Computing 41(6).
.. [2] K. Chaudhuri, D. Hsu (2011). Sample complexity bounds for differentially private learning.
   COLT.
.. [3] C. L. Canonne, G. Kamath, T. Steinke (2020). The discrete Gaussian for differential
   privacy. NeurIPS; algorithms 1 and 2.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from secrets import SystemRandom, randbits

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.class_columns import two_columns
from bagshift._bags.count_weights import is_whole
from bagshift._bags.noise_column import repeat_law
from bagshift.bags import Bags
from bagshift.exceptions import BagError, name_bags
from bagshift.noise import GeometricNoise


def noise_counts(
    bags: Bags, epsilon: float, *, testing: bool = False, seed: int | None = None
) -> Bags:
    r"""Add two-sided geometric noise to the count of every bag.

    The label of each individual in a bag is then protected with differential privacy of
    :math:`\varepsilon`, against whoever knows everything else: neighbours are data sets that
    differ in the label of one individual, while features, bag sizes and who is in which bag are
    public. A label changes one count by one, since no individual is in two bags.

    Parameters
    ----------
    bags : Bags
        Whole bags with exact counts of their own rows: no noise law and no declared size above
        the rows.
    epsilon : float
        The privacy parameter; the noise has a standard deviation of about
        :math:`\sqrt 2/\varepsilon` counts for small :math:`\varepsilon`.
    testing : bool, default=False
        Whether the result is for a test only, so that a `seed` is harmless.
    seed : int, optional
        Makes the noise repeatable, and with it removable: only with ``testing=True``. Otherwise
        the noise comes from the operating system's secure random numbers.

    Returns
    -------
    Bags
        With noisy counts, never clipped to the range of a count, and `GeometricNoise` as their
        law, so that machines that know laws can allow for it.

    Raises
    ------
    BagError
        If the bags are cut, have a noise law or no whole counts, were declared larger than
        their rows, or if labels of single target rows are known.
    ValueError
        If `epsilon` is not positive, or a seed is given without ``testing=True``.

    Notes
    -----
    Every release costs: the :math:`\varepsilon` of repeated releases of the same counts add up.
    Source rows, whose labels stand in the clear, are passed on untouched. Fitted models are as
    private as the counts they learned from, but for what they hold of the source rows and
    features.

    Examples
    --------
    >>> from bagshift import Bags
    >>> bags = Bags.from_arrays(["a", "a", "b", "b"], counts={"a": 1, "b": 2})
    >>> noise_counts(bags, 1.0).noise
    array([GeometricNoise(epsilon=1.0), GeometricNoise(epsilon=1.0)], dtype=object)
    """
    if not isinstance(bags, Bags):
        raise TypeError(
            f"bags must be a Bags, got {type(bags).__name__}; make one with Bags.from_arrays."
        )
    if seed is not None and not testing:
        raise ValueError(
            "seed makes the noise removable by whoever knows it: leave it out for a release, or "
            "say testing=True for a test."
        )
    law = GeometricNoise(epsilon)
    counts = _exact_counts(bags)
    random = SystemRandom() if seed is None else Random(seed)
    noise = [draw_two_sided_geometric(law.epsilon, random) for _ in range(bags.n_bags)]
    noisy = np.array([int(count) + extra for count, extra in zip(counts, noise, strict=True)])
    return replace(
        bags,
        shares=two_columns(noisy.astype(np.float64) / bags.sizes),
        noise=repeat_law(law, bags.n_bags),
        _origins=np.full(bags.n_bags, randbits(63), dtype=np.int64),
    )


def draw_two_sided_geometric(epsilon: float, random: Random) -> int:
    r"""Draw :math:`k` with probability proportional to :math:`e^{-\varepsilon |k|}`, exactly.

    Parameters
    ----------
    epsilon : float
        Positive; taken for the fraction that it is.
    random : random.Random
        Its ``randrange`` is the only source of randomness.

    Returns
    -------
    int
    """
    numerator, denominator = Fraction(epsilon).as_integer_ratio()
    while True:
        remainder = random.randrange(denominator)
        if not _is_exponentially_rare(remainder, denominator, random):
            continue
        n_whole = 0
        while _is_exponentially_rare(1, 1, random):
            n_whole += 1
        magnitude = (remainder + denominator * n_whole) // numerator
        is_negative = random.randrange(2) == 1
        if magnitude or not is_negative:  # else zero would come twice
            return -magnitude if is_negative else magnitude


def _is_exponentially_rare(numerator: int, denominator: int, random: Random) -> bool:
    """Draw True with probability exp(-numerator / denominator), for a fraction up to 1."""
    trials = 1
    while random.randrange(denominator * trials) < numerator:
        trials += 1
    return trials % 2 == 1


def _exact_counts(bags: Bags) -> NDArray[np.float64]:
    """Return the counts of positives among the rows; refuse what cannot be released."""
    bags.check_whole()
    n_labelled = int((bags.has_label & ~bags.is_source).sum())
    if n_labelled:
        raise BagError(
            f"labels are known in {n_labelled:,} target rows and would be released as they are: "
            "leave with_labels out, or these rows."
        )
    has_law = np.array([law is not None for law in bags.noise], dtype=bool)
    counts = bags.positive_shares * bags.sizes
    for bad, fault, advice in (
        (has_law, "a noise law", "noise the exact counts"),
        (
            bags.sizes != bags.rows_per_bag,
            "a declared size above the rows",
            "count the positives among the rows",
        ),
        (~is_whole(counts), "no whole count", "pass the exact numbers as counts="),
    ):
        if bad.any():
            raise BagError(
                f"noise_counts needs exact counts, but there is {fault} in "
                f"{name_bags(bags.ids[bad])}: {advice}."
            )
    return np.rint(counts)
