# SPDX-License-Identifier: BSD-3-Clause
"""With which epsilon declared noise protects labels, if it was drawn for that."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.noise import GeometricNoise, LaplaceNoise


def epsilon_per_bag(bags: Bags) -> NDArray[np.float64]:
    r"""Say with how much differential privacy the label of a row in each bag is protected.

    One changed label changes the count by one, which Laplace noise of scale :math:`b` in counts
    hides with :math:`1/b`, and geometric noise with its own parameter.

    Parameters
    ----------
    bags : Bags

    Returns
    -------
    ndarray of shape (n_bags,)
        Infinite where the number is exact or rounded, and for Gaussian noise, which has no
        epsilon without a delta.

    Examples
    --------
    >>> from bagshift import Bags, GeometricNoise, LaplaceNoise
    >>> laws = {"a": LaplaceNoise(0.5, unit="shares"), "b": GeometricNoise(2.0), "c": None}
    >>> epsilon_per_bag(Bags.from_arrays(list("aaaabc"), {"a": 0.1, "b": 1, "c": 1}, noise=laws))
    array([0.5, 2. , inf])
    """
    found = np.full(bags.n_bags, np.inf)
    for place, law in enumerate(bags.noise):
        if isinstance(law, GeometricNoise):
            found[place] = law.epsilon
        elif isinstance(law, LaplaceNoise):
            in_counts = law.scale * (bags.sizes[place] if law.unit == "shares" else 1.0)
            found[place] = 1.0 / in_counts
    return found
