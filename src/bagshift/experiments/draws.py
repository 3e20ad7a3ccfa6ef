# SPDX-License-Identifier: BSD-3-Clause
"""The honest protocol: draws of a task.

A *draw* takes up to 600 labelled source rows, puts a part of the target rows into bags with exact
shares (the *bagged* rows) and keeps up to 1,500 others apart (the *fresh* rows). Labels of the
target make the shares and score the result; nothing else sees them. Features are fitted on source
and bagged rows only. The seed of a draw is its number, so that draw 3 is the same for everyone.

Bags are made in one of these ways:

* random: rows cut at random into bags of one size;
* clustered: bags of one size, of rows that lie near one another;
* feature: bags of one size, of rows with neighbouring values in the column that varies most;
* skewed: bags of one size whose shares spread far more than chance would make them;
* natural: the groups that the rows come with, such as states; those of fewer than five rows are
  left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.utils.sparsefuncs import mean_variance_axis

from bagshift.bags import Bags
from bagshift.datasets import (
    LabelledDomains,
    make_clustered_bags,
    make_natural_bags,
    make_skewed_bags,
)
from bagshift.datasets.bag_making import check_bag_size
from bagshift.exceptions import BagError

MAX_SOURCE_ROWS = 600
MAX_FRESH_ROWS = 1500
MAX_BAGGED_ROWS, MAX_BAGGED_ROWS_LARGE = 800, 2500
LARGE_BAG = 100
SMALLEST_NATURAL_BAG = 5
SKEW = 1.0

Kind = Literal["text", "weights", "table", "skewed table", "pixels"]
BagKind = Literal["random", "clustered", "feature", "skewed", "natural"]
BAG_KINDS: tuple[BagKind, ...] = get_args(BagKind)


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of a task, as features.

    Attributes
    ----------
    kernel : {"linear", "rbf"}
        The kernel for such features.
    X_source, y_source : array of shape (n_source, n_features), (n_source,)
        Labelled source rows.
    X_bagged, y_bagged : array of shape (n_bagged, n_features), (n_bagged,)
        Target rows in bags, and their labels: for shares, the ceiling and in-sample accuracy.
    bag_ids : ndarray of shape (n_bagged,)
        The bag of each of them.
    shares : dict of int to float
        The share of positives of each bag.
    X_fresh, y_fresh : array of shape (n_fresh, n_features), (n_fresh,)
        Target rows of no bag.
    seed : int
        Number of the draw.
    """

    kernel: Literal["linear", "rbf"]
    X_source: Any
    y_source: NDArray[np.int8]
    X_bagged: Any
    y_bagged: NDArray[np.int8]
    bag_ids: NDArray[np.int64]
    shares: dict[int, float]
    X_fresh: Any
    y_fresh: NDArray[np.int8]
    seed: int

    @cached_property
    def bags(self) -> Bags:
        """The bags with their shares; the positive class is 1."""
        return Bags.from_arrays(self.bag_ids, self.shares, positive=1, negative=-1)

    @property
    def source(self) -> tuple[Any, NDArray[np.int8]]:
        """The source, as ``fit`` takes it."""
        return self.X_source, self.y_source


def make_draw(
    domains: LabelledDomains,
    kind: Kind,
    bag_size: int,
    seed: int,
    bags: BagKind = "random",
) -> Draw:
    """Return one draw.

    Parameters
    ----------
    domains : LabelledDomains
        All rows of a task.
    kind : {"text", "weights", "table", "skewed table", "pixels"}
        Which features are made of the columns: sublinear tf-idf of counts; rows of length one;
        standardised columns, the median in place of what is missing; the same of signed
        logarithms log(1 + |x|); divided by 255. The first two take the linear kernel, the others
        RBF.
    bag_size : int
        Rows per bag; the number of bagged rows is a multiple of it. Not used with natural bags.
    seed : int
        Number of the draw.
    bags : {"random", "clustered", "feature", "skewed", "natural"}
        How bags are made; see the module.

    Returns
    -------
    Draw

    Raises
    ------
    BagError
        When there are too few rows for two bags, or natural bags are asked for and the rows have
        no groups.
    ValueError
        When the bag size is no whole number from 1 on.
    """
    rng = np.random.default_rng(seed)
    source = rng.permutation(len(domains.y_source))[:MAX_SOURCE_ROWS]
    target = rng.permutation(len(domains.y_target))
    n_bagged = n_bagged_rows(len(target), bag_size, bags)
    bagged, fresh = target[:n_bagged], target[n_bagged : n_bagged + MAX_FRESH_ROWS]
    if bags == "natural":
        bagged = _rows_of_large_groups(domains, bagged)
    elif n_bagged < 2 * bag_size:
        raise BagError(f"{len(target)} target rows are too few for two bags of {bag_size}.")
    X_source, X_bagged, X_fresh = features_of(
        kind, domains.X_source[source], domains.X_target[bagged], domains.X_target[fresh]
    )
    y_bagged = domains.y_target[bagged]
    groups = None if domains.groups is None else domains.groups[bagged]
    bag_ids, shares = _cut(bags, X_bagged, y_bagged, groups, bag_size, seed)
    return Draw(
        kernel="linear" if kind in ("text", "weights") else "rbf",
        X_source=X_source,
        y_source=domains.y_source[source],
        X_bagged=X_bagged,
        y_bagged=y_bagged,
        bag_ids=bag_ids,
        shares=shares,
        X_fresh=X_fresh,
        y_fresh=domains.y_target[fresh],
        seed=seed,
    )


def n_bagged_rows(n_target: int, bag_size: int, bags: BagKind = "random") -> int:
    """Return how many of the target rows a draw puts into bags.

    Parameters
    ----------
    n_target : int
        Rows of the target.
    bag_size : int
        Rows per bag; not used with natural bags.
    bags : {"random", "clustered", "feature", "skewed", "natural"}
        How bags are made.

    Returns
    -------
    int
        Up to 800 and half of the rows; up to 2,500 and two thirds of them for natural bags and
        those of 100 rows or more. A multiple of the bag size.

    Raises
    ------
    ValueError
        When the bag size is no whole number from 1 on.
    """
    if bags == "natural":
        return min(MAX_BAGGED_ROWS_LARGE, 2 * n_target // 3)
    check_bag_size(bag_size)
    if bag_size >= LARGE_BAG:
        wanted = min(MAX_BAGGED_ROWS_LARGE, 2 * n_target // 3)
    else:
        wanted = min(MAX_BAGGED_ROWS, n_target // 2)
    return wanted // bag_size * bag_size


def _rows_of_large_groups(domains: LabelledDomains, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    if domains.groups is None:
        raise BagError("These rows have no natural groups; take another kind of bags.")
    _, group, sizes = np.unique(domains.groups[rows], return_inverse=True, return_counts=True)
    if np.sum(sizes >= SMALLEST_NATURAL_BAG) < 2:
        raise BagError(
            f"Fewer than two natural groups have {SMALLEST_NATURAL_BAG} of {len(rows)} rows; take "
            "another kind of bags."
        )
    return rows[sizes[group] >= SMALLEST_NATURAL_BAG]


def n_large_groups(groups: NDArray[Any]) -> int:
    """Return how many groups have the rows that a natural bag needs.

    Parameters
    ----------
    groups : ndarray of shape (n_rows,)
        Group of every row.

    Returns
    -------
    int
    """
    return int(np.sum(np.unique(groups, return_counts=True)[1] >= SMALLEST_NATURAL_BAG))


def _cut(
    bags: BagKind,
    X: Any,
    labels: NDArray[np.int8],
    groups: NDArray[Any] | None,
    bag_size: int,
    seed: int,
) -> tuple[NDArray[np.int64], dict[int, float]]:
    """Return bag ids of rows in random order, and shares."""
    if groups is not None and bags == "natural":
        return make_natural_bags(groups, labels)
    if bags == "clustered":
        return make_clustered_bags(X, labels, bag_size, random_state=seed)
    if bags == "skewed":
        return make_skewed_bags(labels, bag_size, SKEW, random_state=seed)
    if bags == "feature":
        return make_natural_bags(_blocks_along_widest_column(X, bag_size), labels)
    return make_natural_bags(np.arange(len(labels)) // bag_size, labels)


def _blocks_along_widest_column(X: Any, bag_size: int) -> NDArray[np.int64]:
    if sp.issparse(X):
        widest = int(mean_variance_axis(X.tocsr(), axis=0)[1].argmax())
        values = X[:, [widest]].toarray().ravel()
    else:
        values = X[:, int(X.var(axis=0).argmax())]
    blocks = np.empty(len(values), dtype=np.int64)
    # Rows come in random order, so equal values are in random order too.
    blocks[np.argsort(values, kind="stable")] = np.arange(len(values)) // bag_size
    return blocks


def features_of(kind: Kind, source: Any, bagged: Any, fresh: Any) -> list[Any]:
    """Return features of the three parts, fitted on source and bagged rows only.

    Parameters
    ----------
    kind : {"text", "weights", "table", "skewed table", "pixels"}
        As :func:`make_draw` has it.
    source, bagged, fresh : matrix
        Columns as they come.

    Returns
    -------
    list of matrix
    """
    parts = [source, bagged, fresh]
    if kind == "text":
        known = sp.vstack([sp.csr_matrix(source), sp.csr_matrix(bagged)])
        weighting = TfidfTransformer(sublinear_tf=True).fit(known)
        # A word that is in no known row has no weight in any machine; it counts in lengths alone.
        is_known = known.getnnz(axis=0) > 0
        return [weighting.transform(part).tocsr()[:, is_known] for part in parts]
    if kind == "weights":
        return [normalize(part) for part in parts]
    dense = [np.asarray(part, dtype=np.float64) for part in parts]
    if kind == "pixels":
        return [part / 255.0 for part in dense]
    if kind == "skewed table":
        dense = [np.sign(part) * np.log1p(np.abs(part)) for part in dense]
    tables = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    tables.fit(np.concatenate(dense[:2]))
    return [tables.transform(part) for part in dense]
