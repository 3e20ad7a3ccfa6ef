# SPDX-License-Identifier: BSD-3-Clause
"""Read everything a fit needs from files, and keep account of what was read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import polars as pl

from bagshift.bags import Bags
from bagshift.columns import ColumnChoice, NamedTable, as_kinds, choose_columns
from bagshift.exceptions import BagError, TableError
from bagshift.noise import NoiseLaw
from bagshift.tables import read_table, require_columns
from bagshift.workflows.bag_check import check_bag_sheet, raise_first_error, usable_table
from bagshift.workflows.bag_sheet import BagSheet, read_bag_sheet
from bagshift.workflows.class_bags import read_class_bags
from bagshift.workflows.findings import Finding
from bagshift.workflows.labels import (
    Labels,
    class_of,
    made_up_negative,
    read_all_labels,
    read_labels,
)
from bagshift.workflows.noise import NoiseRequest
from bagshift.workflows.requests import FitRequest


@dataclass(frozen=True)
class FitInputs:
    """What was read for a fit.

    Attributes
    ----------
    request : FitRequest
        What was asked for.
    X_target : polars.DataFrame of shape (n_target, n_columns)
        Columns to learn from, brought to their kinds.
    bags : Bags of length n_target
        Bags and shares.
    X_source : polars.DataFrame or None
        The same columns of the labelled history rows.
    labels : Labels or None
        Labels of the history.
    columns : ColumnChoice
        Columns used, and those ignored with the reason.
    findings : list of Finding
        What is worth knowing about the bags.
    id_column : str or None
        Column that names the target rows, though it was not said to.
    """

    request: FitRequest
    X_target: pl.DataFrame
    bags: Bags
    X_source: pl.DataFrame | None
    labels: Labels | None
    columns: ColumnChoice
    findings: list[Finding]
    id_column: str | None = None

    @property
    def negative(self) -> Any:
        """The class that shares are not of."""
        return self.labels.negative if self.labels else self.bags.negative

    @property
    def positive(self) -> Any:
        """The class that shares are of."""
        return self.labels.positive if self.labels else self.bags.positive


def read_fit_inputs(request: FitRequest) -> FitInputs:
    """Read and check the files of a fit.

    Parameters
    ----------
    request : FitRequest
        Files and columns.

    Returns
    -------
    FitInputs

    Raises
    ------
    TableError, BagError
        When the files cannot be used; one sentence says why.
    """
    target = read_target(request)
    source, labels = read_history(request)
    if request.bags.has_more_classes:
        bags = read_class_bags(request.bags, target, labels.classes if labels else None)
        findings: list[Finding] = []
    else:
        bags, findings = _read_bags(request, target, labels)
    columns = choose_fit_columns(request, target, source)
    return FitInputs(
        request=request,
        X_target=as_kinds(target, columns.kinds),
        bags=bags,
        X_source=as_kinds(source, columns.kinds) if source else None,
        labels=labels,
        columns=columns,
        findings=findings,
        id_column=obvious_id(request, target, columns),
    )


def _read_bags(
    request: FitRequest, target: NamedTable, labels: Labels | None
) -> tuple[Bags, list[Finding]]:
    """Read and check shares of one class of two."""
    sheet = read_bag_sheet(request.bags, target)
    findings = check_bag_sheet(sheet)
    raise_first_error(findings, drop=request.bags.on_unmatched == "drop")
    negative, positive = bag_classes(labels, request)
    bags = make_bags(sheet, negative, positive)
    return bags, [*findings, *class_doubts(request, negative, positive)]


def read_target(request: FitRequest) -> NamedTable:
    """Read the file of target rows.

    Parameters
    ----------
    request : FitRequest
        Names the file and the columns of ids.

    Returns
    -------
    NamedTable
    """
    path = request.bags.target
    frame = read_table(path, text_columns=_texts(request.bags.bag, request.id_column))
    return NamedTable(frame, path.name)


def read_history(request: FitRequest) -> tuple[NamedTable | None, Labels | None]:
    """Read labelled history, if there is any.

    Parameters
    ----------
    request : FitRequest
        Names the file and the column of labels.

    Returns
    -------
    source : NamedTable or None
        Rows that have a label.
    labels : Labels or None
        Their labels.
    """
    if request.source is None or request.label is None:
        return None, None
    frame = read_table(request.source, text_columns=_texts(request.label, request.id_column))
    source = NamedTable(frame, request.source.name)
    if request.bags.has_more_classes:
        labels = read_all_labels(source, request.label)
        return NamedTable(frame.filter(labels.has_label), source.name), labels
    labels = read_labels(source, request.label, request.positive)
    if request.negative is not None and class_of(request.negative, [labels.negative]) is None:
        raise TableError(
            f"{request.negative!r} (--negative) is not the other label of column "
            f"{request.label!r} of {source.name}, which is {labels.negative!r}."
        )
    return NamedTable(frame.filter(labels.has_label), source.name), labels


def choose_fit_columns(
    request: FitRequest, target: NamedTable, source: NamedTable | None
) -> ColumnChoice:
    """Decide which columns a fit learns from.

    Parameters
    ----------
    request : FitRequest
        Columns asked for, left out, or with another part to play.
    target : NamedTable
        Target rows.
    source : NamedTable or None
        Labelled history.

    Returns
    -------
    ColumnChoice

    Raises
    ------
    TableError
        When columns asked for are missing, contradict each other, or none is left.
    """
    if request.id_column:
        require_columns(target.frame, [request.id_column], target.name)
    _check_ignored(request, target, source)
    reserved = reserved_columns(request)
    clash = sorted(set(request.only) & set(reserved))
    if clash:
        raise TableError(f"Column {clash[0]!r} cannot be learned from: {reserved[clash[0]]}.")
    return choose_columns(target, source, reserved=reserved, only=request.only)


def make_bags(sheet: BagSheet, negative: Any = None, positive: Any = None) -> Bags:
    """Build bags from a checked sheet.

    Parameters
    ----------
    sheet : BagSheet
        Ids and shares, without errors other than droppable ones.
    negative, positive : str, int, float or bool, optional
        The two classes.

    Returns
    -------
    Bags
        Rows whose bag has no share are in no bag.

    Raises
    ------
    BagError
        When no bag is left.
    """
    table = usable_table(sheet)
    if table.is_empty():
        raise BagError(
            f"No bag is left to learn from: {sheet.table_name} holds no share of a bag that has "
            f"rows in {sheet.target_name}."
        )
    ids = table["bag"].to_list()
    values = dict(zip(ids, table["value"].to_list(), strict=True))
    sizes = None
    if "size" in table.columns:
        sizes = dict(zip(ids, table["size"].to_list(), strict=True))
    return Bags.from_arrays(
        [bag if bag in values else Bags.NO_BAG for bag in sheet.row_ids.to_list()],
        None if sheet.request.by_count else values,
        counts=values if sheet.request.by_count else None,
        sizes=sizes,
        noise=_laws(sheet.request.noise, table),
        negative=negative,
        positive=positive,
    )


def _laws(
    request: NoiseRequest | None, table: pl.DataFrame
) -> NoiseLaw | dict[str, NoiseLaw | None] | None:
    """Return one law for all bags, or a law by bag id."""
    if request is None:
        return None
    if request.column is None:
        return request.law_of()
    numbers = zip(table["bag"].to_list(), table["noise"].to_list(), strict=True)
    return {bag: request.law_of(number) for bag, number in numbers}


def _check_ignored(request: FitRequest, target: NamedTable, source: NamedTable | None) -> None:
    """Refuse to leave out a column that is in neither table: its name may be misspelt."""
    in_source = source.frame.columns if source else []
    unknown = [name for name in request.ignore if name not in in_source]
    require_columns(target.frame, unknown, target.name)


def bag_classes(labels: Labels | None, request: FitRequest) -> tuple[Any, Any]:
    """Return the negative and the positive class.

    Parameters
    ----------
    labels : Labels or None
        Labels of the history.
    request : FitRequest
        Without history the classes are 0 and 1, or carry the names given here.

    Returns
    -------
    tuple
    """
    if labels:
        return labels.negative, labels.positive
    positive, negative = request.positive, request.negative
    if positive is None or (positive == "1" and negative in (None, "0")):
        return 0, 1
    return negative or made_up_negative(positive), positive


def class_doubts(request: FitRequest, negative: Any, positive: Any) -> list[Finding]:
    """Warn when the column of shares has the name of the other class.

    Parameters
    ----------
    request : FitRequest
        Names the column.
    negative, positive : str, int, float or bool
        The two classes.

    Returns
    -------
    list of Finding
        Empty, or one warning.
    """
    column = request.bags.value_column
    if not _has_word(column, negative) or _has_word(column, positive):
        return []
    return [
        Finding(
            "warning",
            f"Column {column!r} looks like it is about {negative}, but is taken as that of "
            f"{positive}; if it is about {negative}, give --positive {negative}.",
        )
    ]


def _has_word(name: str, label: Any) -> bool:
    """Tell whether a label is among the words of a name, as "yes" is of "yes_share"."""
    words, wanted = (
        " ".join(re.findall(r"[^\W_]+", str(text).casefold())) for text in (name, label)
    )
    return bool(wanted) and f" {wanted} " in f" {words} "


def obvious_id(request: FitRequest, target: NamedTable, columns: ColumnChoice) -> str | None:
    """Find the column that names the target rows when none was named.

    Parameters
    ----------
    request : FitRequest
        Columns that were named.
    target : NamedTable
        Target rows.
    columns : ColumnChoice
        Columns that are learned from.

    Returns
    -------
    str or None
        A column of text or whole numbers that is not learned from and differs in every row; the
        one with "id" in its name if there are several.
    """
    if request.id_column is not None:
        return None
    parts = {request.bags.bag, *request.bags.value_columns, request.label}
    found = [
        name
        for name in target.frame.columns
        if name not in parts and name not in columns.kinds and _names_rows(target.frame[name])
    ]
    return min(found, key=lambda name: not _has_word(name, "id"), default=None)


def _names_rows(values: pl.Series) -> bool:
    is_name = values.dtype == pl.String or values.dtype.is_integer()
    return is_name and values.len() > 1 and not values.null_count() and values.is_unique().all()


def reserved_columns(request: FitRequest) -> dict[str, str]:
    """Return the columns that are no features, and why.

    Parameters
    ----------
    request : FitRequest

    Returns
    -------
    dict of str to str
    """
    bags = request.bags
    parts = dict.fromkeys(request.ignore, "left out on request")
    for name, part in (
        (request.id_column, "id of the row"),
        (request.label, "label of the history"),
        (bags.bag, "bag id"),
        *(
            (None if bags.shares else name, "count" if bags.by_count else "share")
            for name in bags.value_columns
        ),
        (None if bags.shares else bags.size_column, "bag size"),
        (None if bags.shares else bags.noise_column, "noise of the share"),
    ):
        if name:
            parts[name] = part
    return parts


def _texts(*names: str | None) -> list[str]:
    return [name for name in names if name]
