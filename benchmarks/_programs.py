# SPDX-License-Identifier: BSD-3-Clause
"""Coupled programs to time: a labelled source, and bags of a target that is a little shifted.

Three kinds of data. "gauss": two classes in the plane, as in the paper. "mixed": classes of
several clusters in twenty columns, with wrong labels. "cancer": the breast cancer set of
scikit-learn, at most 280 rows of each domain. Bags are of about eight rows that lie together in a
noisy order of their labels, so their shares and sizes differ. Kernels are RBF, their width a
multiple of gamma "scale" of the source.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.preprocessing import StandardScaler

from bagshift import Bags
from bagshift.kernels import Kernel, unit_gram
from bagshift.solvers import CoupledProblem

Floats = NDArray[np.float64]

BAG_SIZE = 8
TUBE = 0.1
CLIP = 1e-2


@dataclass(frozen=True)
class Domains:
    """Source rows with labels -1 and 1, target rows in numbered bags with known shares."""

    source: Floats
    signs: Floats
    target: Floats
    bag_of_row: NDArray[np.int64]
    shares: Floats

    @property
    def bags(self) -> Bags:
        return Bags.from_arrays(self.bag_of_row, dict(enumerate(self.shares)))

    @property
    def gamma_scale(self) -> float:
        return float(1.0 / (self.source.shape[1] * self.source.var()))


def _rows(kind: str, n: int, rng: np.random.Generator, seed: int) -> tuple[Floats, Floats]:
    if kind == "gauss":
        signs = rng.choice([-1.0, 1.0], size=2 * n)
        return rng.normal(size=(2 * n, 2)) + signs[:, None], signs
    if kind == "mixed":
        X, y = make_classification(
            2 * n, 20, n_informative=10, n_redundant=4, n_clusters_per_class=4, flip_y=0.08,
            class_sep=0.8, random_state=seed,
        )  # fmt: skip
    else:
        X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), 2.0 * y - 1.0


def make_domains(kind: str, n: int, seed: int = 0) -> Domains:
    """Return n rows of each domain."""
    rng = np.random.default_rng(seed)
    X, signs = _rows(kind, n, rng, seed)
    order = rng.permutation(len(signs))
    n = min(n, len(signs) // 2)
    X, signs = X[order], signs[order]
    target = X[n : 2 * n] + 0.3 * rng.normal(size=X.shape[1])
    hidden = signs[n : 2 * n]
    together = np.argsort(hidden + 2.5 * rng.normal(size=n))
    target, hidden = target[together], hidden[together]
    n_bags = max(2, n // BAG_SIZE)
    cuts = rng.choice(np.arange(1, n), n_bags - 1, replace=False)
    bag_of_row = np.cumsum(np.isin(np.arange(n), cuts)).astype(np.int64)
    sizes = np.bincount(bag_of_row)
    shares = np.bincount(bag_of_row, hidden > 0) / sizes
    return Domains(X[:n], signs[:n], target, bag_of_row, shares)


def make_program(
    domains: Domains,
    width: float,
    *,
    coupling: float = 1.0,
    c_source: float = 1.0,
    c_target: float = 1.0,
) -> CoupledProblem:
    """Return the program of TGPLM on these domains; `width` multiplies gamma "scale"."""
    n, d = len(domains.signs), len(domains.shares)
    share = np.clip(domains.shares, CLIP, 1 - CLIP)
    kernel = Kernel("rbf", gamma=width * domains.gamma_scale)
    return CoupledProblem(
        gram=unit_gram(kernel, domains.source, domains.target, domains.bag_of_row, d),
        n_source=n,
        targets=np.concatenate([domains.signs, np.log(share / (1 - share))]),
        half_widths=np.concatenate([np.zeros(n), TUBE * share * (1 - share)]),
        lower=np.concatenate([c_source * np.minimum(domains.signs, 0.0), np.full(d, -c_target)]),
        upper=np.concatenate([c_source * np.maximum(domains.signs, 0.0), np.full(d, c_target)]),
        coupling=coupling,
    )
