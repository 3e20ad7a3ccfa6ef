# SPDX-License-Identifier: BSD-3-Clause
"""How much a noise law moves published shares: its variance, and draws from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.ids import number_distinct
from bagshift.bags import Bags
from bagshift.noise import GaussianNoise, GeometricNoise, LaplaceNoise, NoiseLaw, Rounding

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def noise_variances(bags: Bags) -> FloatArray:
    """Return the variance of what each law adds to a share; shape (n_bags,).

    Examples
    --------
    >>> from bagshift import Bags, GaussianNoise
    >>> law = GaussianNoise(0.5, unit="counts")
    >>> noise_variances(Bags.from_arrays(["a", "a"], {"a": 0.7}, noise=law))
    array([0.0625])
    """
    found = np.zeros(bags.n_bags)
    for law, places in _laws(bags):
        found[places] = _variance(law, bags.sizes[places])
    return found


def publish(counts: FloatArray, bags: Bags, random: np.random.Generator) -> FloatArray:
    """Draw what would be published of counts under the laws of the bags.

    Parameters
    ----------
    counts : ndarray of shape (n_draws, n_bags)
    bags : Bags
    random : Generator

    Returns
    -------
    ndarray of shape (n_draws, n_bags)
        Shares.
    """
    shares = counts / bags.sizes
    for law, places in _laws(bags):
        part = shares[:, places]
        scales = np.sqrt(_variance(law, bags.sizes[places]))
        if isinstance(law, Rounding):
            shares[:, places] = np.round(part, law.digits)
        elif isinstance(law, GaussianNoise):
            shares[:, places] = part + random.normal(size=part.shape) * scales
        elif isinstance(law, GeometricNoise):
            chance = -np.expm1(-law.epsilon)
            first, second = (random.geometric(chance, part.shape) for _ in range(2))
            shares[:, places] = part + (first - second) / bags.sizes[places]
        else:
            shares[:, places] = part + random.laplace(size=part.shape) * scales / np.sqrt(2)
    return shares


def _laws(bags: Bags) -> list[tuple[NoiseLaw, IntArray]]:
    """Return the laws there are, each with the places of its bags."""
    codes, laws = number_distinct(bags.noise, "noise")
    return [
        (law, np.flatnonzero(codes == number))
        for number, law in enumerate(laws)
        if isinstance(law, NoiseLaw)
    ]


def _variance(law: NoiseLaw, sizes: FloatArray) -> FloatArray:
    if isinstance(law, GeometricNoise):
        in_counts = 2 * np.exp(-law.epsilon) / np.expm1(-law.epsilon) ** 2
        return np.asarray(in_counts / sizes**2)
    if isinstance(law, Rounding):
        return np.full(len(sizes), 100.0**-law.digits / 12)
    times = 2.0 if isinstance(law, LaplaceNoise) else 1.0
    return np.asarray(times * law._scale_in_shares(sizes) ** 2)
