# SPDX-License-Identifier: BSD-3-Clause
"""Times of single fits and of a chain of programs."""

import numpy as np

from bagshift import TGPLM, Bags, CountLikelihoodClassifier
from bagshift.solvers import CoupledProblem, solve_coupled_chain

ROWS_PER_BAG = 10


def make_rows(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows of two classes and their labels."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    return rng.normal(size=(n, 5)) + 0.5 * y[:, None], y


def make_bags(y: np.ndarray) -> Bags:
    """Return bags of so many rows each, with their counts."""
    bag_ids = np.arange(len(y)) // ROWS_PER_BAG
    counts = {int(bag): int(np.sum(y[bag_ids == bag] == 1)) for bag in np.unique(bag_ids)}
    return Bags.from_arrays(bag_ids, counts=counts, positive=1)


class _Fit:
    """A fit to n source rows and as many target rows."""

    param_names = ("n",)

    def setup(self, n: int) -> None:
        """Make the rows."""
        self.source = make_rows(0, n)
        self.X, y = make_rows(1, n)
        self.bags = make_bags(y)


class TGPLMFit(_Fit):
    """The coupled machines of the paper."""

    params = (100, 1000)

    def time_tgplm(self, n: int) -> None:
        """With parameters as they are."""
        TGPLM(C_source=1.0, C_target=4.0, coupling=0.125).fit(
            self.X, self.bags, source=self.source
        )


class CountLikelihoodFit(_Fit):
    """The count likelihood, of fewer rows."""

    params = (100,)

    def time_count_likelihood(self, n: int) -> None:
        """With parameters as they are."""
        CountLikelihoodClassifier().fit(self.X, self.bags, source=self.source)


class Chain:
    """Programs over a grid of costs and couplings on one Gram matrix."""

    def setup(self) -> None:
        """Make the matrix of 200 labelled rows and 100 bags."""
        n_source, n_bags = 200, 100
        rows, y = make_rows(2, n_source + n_bags)
        is_bag = np.arange(len(y)) >= n_source
        self.problem = CoupledProblem(
            gram=rows @ rows.T,
            n_source=n_source,
            targets=y.astype(float),
            half_widths=np.where(is_bag, 0.1, 0.0),
            lower=np.where(is_bag | (y < 0), -1.0, 0.0),
            upper=np.where(is_bag | (y > 0), 1.0, 0.0),
            coupling=1.0,
        )
        couplings = 2.0 ** np.arange(-6, 7, 2)
        self.costs = np.repeat(2.0 ** np.arange(-4, 5, 2), len(couplings))
        self.couplings = np.tile(couplings, 5)

    def time_chain(self) -> None:
        """All 35 of them."""
        solve_coupled_chain(self.problem, self.costs, self.costs, self.couplings)
