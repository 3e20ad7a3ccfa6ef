# SPDX-License-Identifier: BSD-3-Clause
"""Bags with a column of shares or counts for every class, from files."""

from __future__ import annotations

from typing import Any

import polars as pl

from bagshift.bags import Bags
from bagshift.columns import NamedTable
from bagshift.exceptions import BagError, TableError, name_bags, name_some
from bagshift.tables import read_table, require_columns
from bagshift.workflows.bag_sheet import as_ids, as_numbers
from bagshift.workflows.labels import class_of
from bagshift.workflows.requests import BagRequest


def read_class_bags(
    request: BagRequest, target: NamedTable, known: list[Any] | None = None
) -> Bags:
    """Read shares or counts of several classes, and put rows into their bags.

    Parameters
    ----------
    request : BagRequest
        Files, and a column for every class.
    target : NamedTable
        The target file, already read.
    known : list, optional
        Labels of the history or classes of a model, which the classes are named as.

    Returns
    -------
    Bags

    Raises
    ------
    TableError, BagError
        When a column is missing or the numbers cannot be used; one sentence says why.
    """
    require_columns(target.frame, [request.bag], target.name)
    table, bag_column = _table_of_bags(request, target)
    columns = list(request.class_columns)
    more = [request.size_column] if request.size_column else []
    require_columns(table.frame, [bag_column, *columns, *more], table.name)
    sheet = pl.DataFrame(
        [
            as_ids(table.frame[bag_column]).alias(bag_column),
            *(as_numbers(table, name) for name in (*columns, *more)),
        ]
    )
    if request.shares is None:
        sheet = sheet.filter(pl.col(bag_column).is_not_null()).unique(maintain_order=True)
    ids = sheet[bag_column].to_list()
    _check_distinct(sheet[bag_column], table.name)
    values = dict(zip(ids, sheet.select(columns).rows(), strict=True))
    sizes = dict(zip(ids, sheet[more[0]].to_list(), strict=True)) if more else None
    names = class_names(request, known)
    try:
        return Bags.from_arrays(
            as_ids(target.frame[request.bag]).to_list(),
            None if request.by_count else values,
            counts=values if request.by_count else None,
            sizes=sizes,
            classes=names,
            other=names[-1] if request.other is not None else None,
            on_unmatched=request.on_unmatched,
        )
    except BagError as error:
        raise BagError(f"{table.name}: {error}") from error


def class_names(request: BagRequest, known: list[Any] | None) -> list[Any]:
    """Return the classes that columns are of, as labels of the history are written.

    Parameters
    ----------
    request : BagRequest
    known : list or None
        Labels of the history, or classes of a model.

    Returns
    -------
    list
        In the order of the columns, and last the one that has the rest, if there is one.

    Raises
    ------
    TableError
        When no column is named as any of the labels.
    """
    written = [*request.class_columns, *([] if request.other is None else [request.other])]
    found = [class_of(name, known or []) for name in written]
    if known and all(label is None for label in found):
        raise TableError(
            f"The columns {name_some(written)} are named as none of the labels "
            f"{name_some(known)}; name the columns of shares or counts as their classes."
        )
    # All of one type: text among whole numbers would have no order.
    as_known = None not in found or all(isinstance(label, str) for label in known or [])
    if not as_known:
        missing = [name for name, label in zip(written, found, strict=True) if label is None]
        if known:
            raise TableError(
                f"The columns {name_some(missing)} are named as none of the labels "
                f"{name_some(known)}, which are not text; name the columns as their classes."
            )
    return [name if label is None else label for name, label in zip(written, found, strict=True)]


def _table_of_bags(request: BagRequest, target: NamedTable) -> tuple[NamedTable, str]:
    if request.shares is None:
        return target, request.bag
    frame = read_table(request.shares, text_columns=[request.bag_in_shares])
    return NamedTable(frame, request.shares.name), request.bag_in_shares


def _check_distinct(ids: pl.Series, name: str) -> None:
    known = ids.drop_nulls()
    repeated = known.filter(known.is_duplicated()).unique(maintain_order=True).to_list()
    if repeated:
        raise BagError(
            f"{name} has more than one row for {name_bags(repeated)}; keep one row per bag."
        )
