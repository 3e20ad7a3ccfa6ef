# SPDX-License-Identifier: BSD-3-Clause
"""A table of labelled rows, and the pairs of domains that can be cut from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from bagshift.datasets.labelled_domains import LabelledDomains
from bagshift.exceptions import TableError, name_some


@dataclass(frozen=True, eq=False, kw_only=True)
class RowTable:
    """Rows with labels, domains and groups, as a file holds them.

    Attributes
    ----------
    name : str
        Name of the data set, for messages.
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        Values as they are in the file; neither scaled nor cleaned.
    y : ndarray of int, shape (n_rows,)
        Label of every row: -1 and +1, or codes of several classes.
    domains : ndarray of str, shape (n_rows,)
        Domain of every row.
    domain_names : tuple of str
        The domains, in the order of the file.
    groups : ndarray of str, shape (n_rows,), or None
        Natural group of every row, such as its state.
    feature_names : tuple of str
        Names of the columns of `X`; empty when the file has none.
    class_names : tuple of str
        What the file says about its labels; for codes from 0, the name of each.
    levels : dict of str to tuple of str
        Columns of `X` that hold codes of categories: by column name, the category of each code.
    columns : dict of str to ndarray of shape (n_rows,)
        Further facts about every row, such as its region.
    """

    name: str
    X: Any
    y: NDArray[np.int64]
    domains: NDArray[np.str_]
    domain_names: tuple[str, ...]
    groups: NDArray[np.str_] | None = None
    feature_names: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: ArrayLike) -> RowTable:
        """Return some of the rows.

        Parameters
        ----------
        rows : array-like of int, or of bool of shape (n_rows,)
            Which ones.

        Returns
        -------
        RowTable

        Raises
        ------
        ValueError
            When `rows` holds neither numbers of rows nor one truth value per row.
        """
        rows = _row_numbers(rows, len(self))
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            domains=self.domains[rows],
            groups=None if self.groups is None else self.groups[rows],
            columns={name: values[rows] for name, values in self.columns.items()},
        )

    def as_binary(self, negative: int | str, positive: int | str) -> RowTable:
        """Return the rows of two classes, labelled -1 and +1.

        Parameters
        ----------
        negative, positive : int or str
            Codes of the two classes, or names out of `class_names`.

        Returns
        -------
        RowTable

        Raises
        ------
        TableError
            When a class has no rows, or both are the same.
        """
        codes = [self._code(label) for label in (negative, positive)]
        if codes[0] == codes[1]:
            raise TableError(f"{self.name}: name two different classes, not {positive!r} twice.")
        rows = self.take(np.isin(self.y, codes))
        names = tuple(f"{sign}={name}" for sign, name in (("-1", negative), ("+1", positive)))
        return replace(rows, y=np.where(rows.y == codes[1], 1, -1), class_names=names)

    def by_groups(self, positive: Sequence[str], negative: Sequence[str]) -> RowTable:
        """Return the rows of some groups, labelled +1 and -1 by their group.

        Parameters
        ----------
        positive, negative : sequence of str
            Names of groups.

        Returns
        -------
        RowTable

        Raises
        ------
        TableError
            When there are no groups, none of a name, or one is on both sides.
        """
        if self.groups is None:
            raise TableError(f"{self.name} has no groups.")
        wanted = [*positive, *negative]
        if both := set(positive) & set(negative):
            raise TableError(
                f"{self.name}: {name_some(both)} cannot be both positive and negative."
            )
        there = sorted(set(self.groups.tolist()))
        _require(f"{self.name} has no group", wanted, there)
        labels = np.where(np.isin(self.groups, list(positive)), 1, -1)
        return replace(self, y=labels).take(np.isin(self.groups, wanted))

    def between(self, source: str, target: str, *, by: str | None = None) -> LabelledDomains:
        """Return two domains of the table.

        Parameters
        ----------
        source, target : str
            Names out of `domain_names`.
        by : str, optional
            A name out of `columns`, whose values are to be the domains instead, such as "region".

        Returns
        -------
        LabelledDomains

        Raises
        ------
        TableError
            When there is no such domain, or labels are not -1 and +1.

        Examples
        --------
        >>> import numpy as np
        >>> table = RowTable(
        ...     name="heights",
        ...     X=np.array([[1.5], [1.7], [1.6], [1.9]]),
        ...     y=np.array([-1, 1, -1, 1]),
        ...     domains=np.array(["1990", "1990", "2020", "2020"]),
        ...     domain_names=("1990", "2020"),
        ... )
        >>> table.between("1990", "2020").X_target.ravel()
        array([1.6, 1.9])
        """
        if by is not None:
            _require(f"{self.name} has no column", [by], list(self.columns))
        domains = self.domains if by is None else self.columns[by].astype(str)
        there = self.domain_names if by is None else sorted(set(domains.tolist()))
        _require(f"{self.name} has no domain", [source, target], there)
        if source == target:
            raise TableError(f"{self.name}: source and target are both the domain {source!r}.")
        self.check_binary()
        return self.take(domains == source).with_target(self.take(domains == target))

    def pair(
        self, negative: int | str, positive: int | str, source: str, target: str
    ) -> LabelledDomains:
        """Return two classes in two domains of the table.

        Parameters
        ----------
        negative, positive : int or str
            Codes of the two classes, or names out of `class_names`.
        source, target : str
            Names out of `domain_names`.

        Returns
        -------
        LabelledDomains

        Raises
        ------
        TableError
            When there is no such class or domain.
        """
        return self.as_binary(negative, positive).between(source, target)

    def with_target(self, target: RowTable) -> LabelledDomains:
        """Take these rows as source and others as target.

        Parameters
        ----------
        target : RowTable
            Rows with the same columns.

        Returns
        -------
        LabelledDomains

        Raises
        ------
        TableError
            When columns differ, or labels are not -1 and +1.
        """
        _check_same_columns(self, target)
        for rows in (self, target):
            rows.check_binary()
        return LabelledDomains(
            self.X, self.y.astype(np.int8), target.X, target.y.astype(np.int8), target.groups
        )

    def check_binary(self) -> None:
        """Refuse labels other than -1 and +1, and rows of one class.

        Raises
        ------
        TableError
            Saying which labels there are.
        """
        codes = np.unique(self.y).tolist()
        if codes == [-1, 1]:
            return
        if not codes:
            raise TableError(f"{self.name} has no rows in one of the domains.")
        if set(codes) < {-1, 1}:
            where = name_some(sorted(set(self.domains.tolist())))
            raise TableError(f"{self.name}: the rows of {where} have only the labels {codes}.")
        named = f" ({name_some(self.class_names)})" if self.class_names else ""
        raise TableError(
            f"{self.name} has the labels {name_some(codes, 12)}{named}, not -1 and +1: choose two "
            "classes with pair or as_binary, or groups with by_groups."
        )

    def _code(self, label: int | str) -> int:
        codes = np.unique(self.y).tolist()
        names = self.class_names if set(codes) <= set(range(len(self.class_names))) else ()
        code = names.index(label) if isinstance(label, str) and label in names else label
        _require(f"{self.name} has no class", [code], [*codes, *names], show=[label])
        return int(code)


def stack_tables(tables: Iterable[RowTable]) -> RowTable:
    """Put tables with the same columns of `X` below each other.

    Further `columns` are kept when all tables have them, groups likewise.

    Parameters
    ----------
    tables : iterable of RowTable
        One or more.

    Returns
    -------
    RowTable
        Named by all of them, with the levels and class names of the first.

    Raises
    ------
    TableError
        When there are none, or their columns differ.
    """
    tables = list(tables)
    if not tables:
        raise TableError("There are no tables to stack; give at least one.")
    first, *others = tables
    for other in others:
        _check_same_columns(first, other)
    groups = [table.groups for table in tables if table.groups is not None]
    shared = [name for name in first.columns if all(name in table.columns for table in tables)]
    return replace(
        first,
        name=" + ".join(table.name for table in tables),
        X=_stacked([table.X for table in tables]),
        y=np.concatenate([table.y for table in tables]),
        domains=np.concatenate([table.domains for table in tables]),
        domain_names=tuple(dict.fromkeys(name for table in tables for name in table.domain_names)),
        groups=np.concatenate(groups) if len(groups) == len(tables) else None,
        columns={
            name: np.concatenate([table.columns[name] for table in tables]) for name in shared
        },
    )


def _row_numbers(rows: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (n_rows,):
        return np.flatnonzero(rows)
    is_whole = rows.dtype.kind in "iu" or rows.size == 0
    if rows.ndim != 1 or not is_whole or np.any((rows < -n_rows) | (rows >= n_rows)):
        raise ValueError(
            f"rows must hold row numbers below {n_rows:,}, or {n_rows:,} truth values; it is of "
            f"shape {rows.shape} and type {rows.dtype}."
        )
    return rows.astype(np.int64)


def _stacked(parts: list[Any]) -> Any:
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def _check_same_columns(first: RowTable, second: RowTable) -> None:
    widths = [table.X.shape[1] for table in (first, second)]
    if widths[0] != widths[1] or first.feature_names != second.feature_names:
        raise TableError(
            f"{first.name} and {second.name} do not have the same columns ({widths[0]:,} and "
            f"{widths[1]:,})."
        )


def _require(
    what: str, wanted: Sequence[Any], there: Sequence[Any], show: Sequence[Any] | None = None
) -> None:
    if missing := [name for name in wanted if name not in there]:
        known = name_some(there, 12) or "none"
        raise TableError(f"{what} {name_some(show or missing)}; it has {known}.")
