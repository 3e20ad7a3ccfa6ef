# SPDX-License-Identifier: BSD-3-Clause
"""Readers of tasks: from the tables of files to a source and a target domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_breast_cancer

from bagshift.datasets.labelled_domains import LabelledDomains
from bagshift.datasets.one_hot import one_hot_columns
from bagshift.datasets.rotated_digits import rotated_digits
from bagshift.datasets.row_table import RowTable, stack_tables

SOURCE_OF_ONE_DOMAIN = 1 / 3

# From the tables of the files and the number of the draw to both domains.
Read = Callable[[list[RowTable], int], LabelledDomains]


def between(source: str, target: str, *, by: str | None = None) -> Read:
    """Return a reader of two domains of a table.

    Parameters
    ----------
    source, target : str
        The domains.
    by : str, optional
        The column whose values are the domains.

    Returns
    -------
    callable
    """
    return lambda tables, draw: tables[0].between(source, target, by=by)


def classes(negative: int | str, positive: int | str, source: str, target: str) -> Read:
    """Return a reader of two classes in two domains of a table.

    Parameters
    ----------
    negative, positive : int or str
        The classes.
    source, target : str
        The domains.

    Returns
    -------
    callable
    """
    return lambda tables, draw: tables[0].pair(negative, positive, source, target)


def by_groups(
    positive: tuple[list[str], list[str]], negative: tuple[list[str], list[str]]
) -> Read:
    """Return a reader whose classes and domains are groups of rows.

    Parameters
    ----------
    positive, negative : tuple of two lists of str
        Groups of the source, then those of the target.

    Returns
    -------
    callable
    """

    def read(tables: list[RowTable], draw: int) -> LabelledDomains:
        table = stack_tables(tables)
        source, target = (table.by_groups(positive[k], negative[k]) for k in (0, 1))
        return source.with_target(target)

    return read


def counties_of(source: str, target: str) -> Read:
    """Return a reader of the counties of 2020 in two regions.

    Parameters
    ----------
    source, target : str
        The regions.

    Returns
    -------
    callable
    """

    def read(tables: list[RowTable], draw: int) -> LabelledDomains:
        return tables[0].take(tables[0].domains == "2020").between(source, target, by="region")

    return read


def census(tables: list[RowTable], draw: int) -> LabelledDomains:
    """Read the two files of the census, the groups being occupation by education.

    Parameters
    ----------
    tables : list of RowTable
        The one table.
    draw : int
        Not used.

    Returns
    -------
    LabelledDomains
    """
    table = tables[0]
    jobs, schools = (
        np.array(table.levels[name])[table.X[:, table.feature_names.index(name)].astype(np.intp)]
        for name in ("occupation", "education")
    )
    groups = np.char.add(np.char.add(jobs, " x "), schools)
    return one_hot_columns(replace(table, groups=groups)).between("data", "test")


def one_domain(negative: int | str | None = None, positive: int | str | None = None) -> Read:
    """Return a reader that cuts one domain at random.

    Parameters
    ----------
    negative, positive : int or str, optional
        The classes, where labels are not -1 and +1.

    Returns
    -------
    callable
    """

    def read(tables: list[RowTable], draw: int) -> LabelledDomains:
        table = tables[0]
        if negative is not None and positive is not None:
            table = table.as_binary(negative, positive)
        table.check_binary()
        X = table.X if sparse.issparse(table.X) else np.asarray(table.X, dtype=np.float64)
        return _cut_at_random(X, table.y, draw)

    return read


def tumours(tables: list[RowTable], draw: int) -> LabelledDomains:
    """Cut the breast cancer data of scikit-learn at random.

    Parameters
    ----------
    tables : list of RowTable
        None.
    draw : int
        Seed of the cut.

    Returns
    -------
    LabelledDomains
    """
    X, y = load_breast_cancer(return_X_y=True)
    return _cut_at_random(X, 2 * y - 1, draw)


def _cut_at_random(X: Any, y: NDArray[np.int64], draw: int) -> LabelledDomains:
    order = np.random.default_rng(draw).permutation(len(y))
    n_source = round(SOURCE_OF_ONE_DOMAIN * len(y))
    source, target = order[:n_source], order[n_source:]
    labels = y.astype(np.int8)
    return LabelledDomains(X[source], labels[source], X[target], labels[target])


def turned_digits(angle: float) -> Read:
    """Return a reader of 120 upright digits and others, rotated; no image occurs twice.

    Parameters
    ----------
    angle : float
        In degrees.

    Returns
    -------
    callable
    """

    def read(tables: list[RowTable], draw: int) -> LabelledDomains:
        digits = rotated_digits(angle, (3, 8), draw, n_source=120, bag_size=1)
        labels = (
            digits.y_source,
            np.concatenate([digits.y_bagged, digits.y_fresh]),
        )
        y_source, y_target = ((2 * y - 1).astype(np.int8) for y in labels)
        X_target = np.concatenate([digits.X_bagged, digits.X_fresh])
        return LabelledDomains(255.0 * digits.X_source, y_source, 255.0 * X_target, y_target)

    return read
