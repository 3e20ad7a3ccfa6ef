# SPDX-License-Identifier: BSD-3-Clause
"""How likely the published numbers of held-out bags are, beside a model that knows no columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from bagshift.bags import Bags
from bagshift.estimators._in_bags import count_log_likelihoods


@dataclass(frozen=True)
class CountFit:
    """Mean log-likelihood of the published number of a bag; nearer to 0 is better.

    Attributes
    ----------
    held_out : float
        Of bags that were held out.
    without_columns : float
        If every row had the same chance, the overall share.
    is_exact : bool
        Whether every number is the exact one of the rows, so that its likelihood is a
        probability.
    """

    held_out: float
    without_columns: float
    is_exact: bool


def count_fit(bags: Bags, held_out: float) -> CountFit:
    """Set a held-out log-likelihood beside that of the overall share.

    Parameters
    ----------
    bags : Bags
        The bags, at least one.
    held_out : float
        Mean log-likelihood of held-out bags.

    Returns
    -------
    CountFit
    """
    overall = np.average(bags.clipped_shares, weights=bags.sizes)
    least = 0.5 / (1.0 + bags.sizes.sum())
    same = np.full(len(bags), float(logit(np.clip(overall, least, 1.0 - least))))
    values = count_log_likelihoods(same, bags, flipped=False, warn=False)
    return CountFit(
        held_out=float(held_out),
        without_columns=float(np.average(values, weights=bags.weights)),
        is_exact=bool(
            all(law is None for law in bags.noise) and np.all(bags.sizes == bags.rows_per_bag)
        ),
    )
