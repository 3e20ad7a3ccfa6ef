# SPDX-License-Identifier: BSD-3-Clause
"""How likely the published numbers of bags are, beside a model that knows no columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from bagshift.bags import Bags
from bagshift.estimators._in_bags import count_log_likelihoods
from bagshift.metrics import overall_share


@dataclass(frozen=True)
class CountFit:
    """Mean log-likelihood of the published number of a bag; nearer to 0 is better.

    Attributes
    ----------
    log_likelihood : float
        Under the model.
    without_columns : float
        If every row had the same chance, the overall share.
    is_exact : bool
        Whether every number is the exact one of the rows, so that its likelihood is a
        probability.
    """

    log_likelihood: float
    without_columns: float
    is_exact: bool

    @property
    def columns_help(self) -> bool:
        """Whether the numbers are likelier than without columns."""
        return self.log_likelihood > self.without_columns


def count_fit(bags: Bags, log_likelihood: float) -> CountFit:
    """Set the log-likelihood of a model beside that of the overall share.

    Parameters
    ----------
    bags : Bags
        The bags, at least one.
    log_likelihood : float
        Mean over the bags, under the model.

    Returns
    -------
    CountFit
    """
    least = 0.5 / (1.0 + bags.sizes.sum())
    same = np.full(len(bags), float(logit(np.clip(overall_share(bags), least, 1.0 - least))))
    values = count_log_likelihoods(same, bags, flipped=False, warn=False)
    return CountFit(
        log_likelihood=float(log_likelihood),
        without_columns=float(np.average(values, weights=bags.weights)),
        is_exact=bool(
            all(law is None for law in bags.noise) and np.all(bags.sizes == bags.rows_per_bag)
        ),
    )
