# SPDX-License-Identifier: BSD-3-Clause
"""The troubles of a bag table in words, all at once, before anything is fitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bagshift._bags.near_misses import differences, find_near_miss
from bagshift._bags.totals import is_named_total, is_sum_of_others
from bagshift.exceptions import BagError, name_some, plural
from bagshift.inspection._share_findings import share_findings
from bagshift.workflows.bag_sheet import BagSheet
from bagshift.workflows.findings import (
    Finding,
    bags_named,
    error,
    have,
    rows_in_no_bag,
    speaking_rows,
    these,
)
from bagshift.workflows.noise import NoiseRequest
from bagshift.workflows.noise_check import check_noise

DROP = "--on-unmatched drop"
MOSTLY_LARGE = 0.5
# No noise that leaves anything to learn puts half of the shares above this.
FAR_ABOVE_ONE = 5.0


def check_bag_sheet(sheet: BagSheet) -> list[Finding]:
    """Look at ids and shares and say everything that is wrong or worth knowing.

    Parameters
    ----------
    sheet : BagSheet
        Ids and shares as read.

    Returns
    -------
    list of Finding
        Errors first, then warnings, then notes.
    """
    found = [*_ids(sheet), *_values(sheet), *_sizes(sheet), *check_noise(sheet)]
    if not any(finding.level == "error" and not finding.droppable for finding in found):
        found += _information(sheet)
    order = ("error", "warning", "note")
    return sorted(found, key=lambda finding: order.index(finding.level))


def raise_first_error(findings: list[Finding], *, drop: bool) -> None:
    """Raise the first error that is not to be dropped.

    Parameters
    ----------
    findings : list of Finding
        From :func:`check_bag_sheet`.
    drop : bool
        Whether troubles that can be left out are to be left out.

    Raises
    ------
    BagError
        Its sentence says how many more errors there are.
    """
    errors = [f for f in findings if f.level == "error" and not (drop and f.droppable)]
    if not errors:
        return
    rest = len(errors) - 1
    more = f" (`bagshift check` shows {rest} more)" if rest else ""
    raise BagError(errors[0].text.removesuffix(".") + more + ".")


def usable_table(sheet: BagSheet) -> pl.DataFrame:
    """Return one row per bag that has rows and a share.

    Parameters
    ----------
    sheet : BagSheet
        A sheet whose remaining errors are droppable.

    Returns
    -------
    polars.DataFrame
        Columns of ``sheet.table``.
    """
    return (
        sheet.table.filter(
            pl.col("bag").is_in(sheet.row_ids.drop_nulls().unique().implode())
            & pl.col("value").is_not_null()
        )
    ).unique("bag", keep="first", maintain_order=True)


def _ids(sheet: BagSheet) -> Iterator[Finding]:
    row_ids, table_ids = sheet.row_ids, sheet.table["bag"]
    bag, name = sheet.request.bag, sheet.target_name
    blank = row_ids.is_null().arg_true()
    if blank.len():
        yield error(
            f"Column {bag!r} of {name} is blank in {plural(blank.len(), 'row')} (row "
            f"{name_some(_file_rows(blank))}); fill the ids in, or use {DROP} to keep these rows "
            "in no bag.",
            dropped=rows_in_no_bag(blank.len()),
        )
    if sheet.beside_rows:
        yield from _changing_shares(sheet)
        return
    yield from _totals(sheet)
    blank = table_ids.is_null().arg_true()
    if blank.len():
        yield error(
            f"Column {sheet.request.bag_in_shares!r} of {sheet.table_name} is blank in "
            f"{plural(blank.len(), 'row')} (row {name_some(_file_rows(blank))}); fill the ids in, "
            f"or use {DROP} to leave them out.",
            dropped=f"{these(blank.len(), 'row')} of {sheet.table_name} left out",
        )
    yield from _duplicates(sheet)
    yield from _unmatched(sheet)


def _changing_shares(sheet: BagSheet) -> Iterator[Finding]:
    twice = _repeated(sheet.table["bag"])
    if twice.len():
        request = sheet.request
        columns = filter(None, (request.value_column, request.size_column, request.noise_column))
        yield error(
            f"Column {' and '.join(map(repr, columns))} of {sheet.target_name} changes within "
            f"{bags_named(twice)}; every row of a bag must repeat the same value."
        )


def _total_rows(sheet: BagSheet) -> pl.Series:
    """Ids of the table that sum up other bags and have no rows of their own."""
    table = sheet.table.filter(
        pl.col("bag").is_not_null() & ~pl.col("bag").is_in(sheet.row_ids.drop_nulls().implode())
    )
    amount = "value" if sheet.request.by_count else "size"
    is_total = np.array([is_named_total(bag) for bag in table["bag"]], dtype=bool)
    if amount in table.columns:
        # Of a table, what sums up all others, those with rows included.
        sums = is_sum_of_others(sheet.table[amount].fill_null(0.0).to_numpy())
        is_total |= table["bag"].is_in(sheet.table["bag"].filter(sums).implode()).to_numpy()
    return table["bag"].filter(is_total)


def _totals(sheet: BagSheet) -> Iterator[Finding]:
    totals = _total_rows(sheet)
    if totals.len():
        yield error(
            f"{sheet.table_name} has what looks like a total row, {name_some(totals)}, next to "
            f"the bags; remove it, or use {DROP} to leave it out.",
            dropped=f"{these(totals.len(), 'row')} of {sheet.table_name} left out",
        )


def _duplicates(sheet: BagSheet) -> Iterator[Finding]:
    table = sheet.table.filter(pl.col("bag").is_not_null())
    agreeing = _repeated(table["bag"])
    contradicting = _repeated(table.unique()["bag"])
    agreeing = agreeing.filter(~agreeing.is_in(contradicting.implode()))
    if contradicting.len():
        yield error(
            f"{sheet.table_name} has several rows that disagree for "
            f"{bags_named(contradicting)}; keep one row per bag."
        )
    if agreeing.len():
        yield error(
            f"{sheet.table_name} repeats {bags_named(agreeing)}; keep one row per bag, or use "
            f"{DROP} to leave the repetitions out.",
            dropped="one row per bag is kept",
        )


def _unmatched(sheet: BagSheet) -> Iterator[Finding]:
    in_rows = sheet.row_ids.drop_nulls().unique(maintain_order=True)
    in_table = sheet.table["bag"].drop_nulls().unique(maintain_order=True)
    totals = _total_rows(sheet)
    without_share = in_rows.filter(~in_rows.is_in(in_table.implode()))
    without_rows = in_table.filter(~in_table.is_in(pl.concat([in_rows, totals]).implode()))
    if without_share.len() == in_rows.len():
        yield error(
            f"No bag id of {sheet.target_name} (such as {name_some(in_rows, 3)}) occurs in "
            f"{sheet.table_name} (such as {name_some(in_table, 3)}); check that "
            f"{sheet.request.bag!r} and {sheet.request.bag_in_shares!r} mean the same"
            f"{_nearly_equal(without_share, in_table)}."
        )
        return
    if without_share.len():
        n_rows = int(sheet.row_ids.is_in(without_share.implode()).sum())
        yield error(
            f"{plural(without_share.len(), 'bag')} of {sheet.target_name} ({plural(n_rows, 'row')}"
            f") {have(without_share.len())} no share in {sheet.table_name}: "
            f"{name_some(without_share)}"
            f"{_nearly_equal(without_share, without_rows)}; add them, or use {DROP} to keep these "
            "rows in no bag.",
            dropped=rows_in_no_bag(n_rows),
        )
    if without_rows.len():
        yield error(
            f"{plural(without_rows.len(), 'bag')} of {sheet.table_name} "
            f"{have(without_rows.len())} no rows in "
            f"{sheet.target_name}: {name_some(without_rows)}; add the rows, or use {DROP} to "
            "leave these bags out.",
            dropped=f"{these(without_rows.len(), 'bag')} left out",
        )


def _nearly_equal(missing: pl.Series, offered: pl.Series) -> str:
    pair = find_near_miss(missing.to_list(), offered.to_list())
    if pair is None:
        return ""
    return f" ({pair[0]!a} and {pair[1]!a} differ only in {' and '.join(differences(*pair))})"


def _values(sheet: BagSheet) -> Iterator[Finding]:
    column, name = sheet.request.value_column, sheet.table_name
    known = speaking_rows(sheet)
    missing = known.filter(pl.col("value").is_null())["bag"]
    if missing.len():
        yield error(
            f"Column {column!r} of {name} is missing for {bags_named(missing)}; fill it in, "
            f"or use {DROP} to keep their rows in no bag.",
            dropped=rows_in_no_bag(int(sheet.row_ids.is_in(missing.implode()).sum())),
        )
    known = known.filter(pl.col("value").is_not_null())
    infinite = known.filter(pl.col("value").is_infinite())["bag"]
    if infinite.len():
        yield error(f"Column {column!r} of {name} is infinite for {bags_named(infinite)}.")
    known = known.filter(pl.col("value").is_finite())
    yield from (_counts(sheet, known) if sheet.request.by_count else _shares(sheet, known))


def _shares(sheet: BagSheet, known: pl.DataFrame) -> Iterator[Finding]:
    column, name = sheet.request.value_column, sheet.table_name
    outside = known.filter(~pl.col("value").is_between(0, 1))
    if not outside.height:
        return
    values = known["value"].to_numpy()
    noise = sheet.request.noise
    if _are_percentages(values, noise):
        yield error(
            f"Column {column!r} of {name} looks like 0–100 (from {values.min():g} to "
            f"{values.max():g}) but shares run from 0 to 1; divide by 100."
        )
        return
    if noise is not None and noise.is_additive:
        return
    worst = name_some([float(value) for value in outside["value"]], 1)
    yield error(
        f"Column {column!r} of {name} is outside 0 to 1 for {bags_named(outside['bag'])} "
        f"(such as {worst}); correct these shares, or {_advice(sheet)}."
    )


def _advice(sheet: BagSheet) -> str:
    """Say how noise is declared, by the law of the fit where there was one."""
    known = sheet.request.noise_at_fit
    if known is None or not known.is_additive:
        return "declare with --noise what was added to them"
    return f"add --noise {known.as_option()}, the law of the shares that the model was fitted on"


def _are_percentages(values: NDArray[np.float64], noise: NoiseRequest | None) -> bool:
    inside = (values >= 0) & (values <= 100)
    if noise is None or not noise.is_additive:
        return bool(inside.all()) and float(np.mean(values > 1)) > MOSTLY_LARGE
    return bool(inside.all()) and float(np.median(values)) > FAR_ABOVE_ONE


def _counts(sheet: BagSheet, known: pl.DataFrame) -> Iterator[Finding]:
    column, name, noise = sheet.request.value_column, sheet.table_name, sheet.request.noise
    if noise is not None and noise.is_additive:
        yield from _noisy_counts(sheet, known)
        return
    broken = known.filter((pl.col("value") < 0) | (pl.col("value") != pl.col("value").round()))
    if broken.height:
        yield error(
            f"Column {column!r} of {name} holds no count for {bags_named(broken['bag'])} "
            f"(such as {name_some([float(v) for v in broken['value']], 1)}); counts are whole "
            f"numbers from 0 on: give shares with --share-column, or {_advice(sheet)}."
        )
    sized = _with_sizes(sheet, known)
    large = sized.filter(pl.col("value") > pl.col("size"))
    if large.height:
        bag, value, size = large.select("bag", "value", "size").row(0)
        whose = "the size declared" if sheet.request.size_column else "the rows of the bag"
        yield error(
            f"Column {column!r} of {name} is larger than {whose} for "
            f"{bags_named(large['bag'])} ({bag!r}: {value:g} of {size:g}); correct the counts, "
            f"give the true sizes with --size-column, or {_advice(sheet)}."
        )


def _noisy_counts(sheet: BagSheet, known: pl.DataFrame) -> Iterator[Finding]:
    noise = sheet.request.noise
    broken = known.filter(pl.col("value") != pl.col("value").round())
    if noise is not None and noise.stays_whole and broken.height:
        yield error(
            f"Column {sheet.request.value_column!r} of {sheet.table_name} is not whole for "
            f"{bags_named(broken['bag'])} (such as {name_some([float(broken['value'][0])])}), but "
            f"{noise.law} noise keeps counts whole; correct the counts or --noise."
        )


def _sizes(sheet: BagSheet) -> Iterator[Finding]:
    if not sheet.request.size_column:
        return
    column, name = sheet.request.size_column, sheet.table_name
    known = speaking_rows(sheet)
    broken = known.filter(
        pl.col("size").is_null()
        | (pl.col("size") < 1)
        | (pl.col("size") != pl.col("size").round())
        | pl.col("size").is_infinite()
    )
    if broken.height:
        yield error(
            f"Column {column!r} of {name} holds no size for {bags_named(broken['bag'])}; "
            "sizes are whole numbers from 1 on."
        )
    small = known.join(_row_counts(sheet), on="bag").filter(pl.col("size") < pl.col("rows"))
    if small.height:
        bag, size, rows = small.select("bag", "size", "rows").row(0)
        yield error(
            f"Column {column!r} of {name} is smaller than the rows in {sheet.target_name} for "
            f"{bags_named(small['bag'])} ({bag!r}: {size:g} against {rows} rows); a bag "
            "cannot have more rows than individuals."
        )


def _information(sheet: BagSheet) -> Iterator[Finding]:
    table = _with_sizes(sheet, usable_table(sheet))
    shares = table["value"] / table["size"] if sheet.request.by_count else table["value"]
    noise = sheet.request.noise
    yield from what_shares_tell(
        shares.to_numpy(),
        table["rows"].to_numpy(),
        is_noisy=bool(noise and noise.is_additive),
        ids=table["bag"].to_list(),
    )


def what_shares_tell(
    shares: NDArray[np.float64],
    n_rows: NDArray[np.int64],
    *,
    is_noisy: bool = False,
    ids: Sequence[object] = (),
) -> Iterator[Finding]:
    """Say what can be learned from shares such as these.

    Parameters
    ----------
    shares : ndarray of shape (n_bags,)
    n_rows : ndarray of shape (n_bags,)
        Rows of each bag.
    is_noisy : bool, default=False
        Whether something was added to the shares: a noisy one of 0 or 1 tells no labels.
    ids : sequence of length n_bags, optional
        Bag ids, to be named.

    Yields
    ------
    Finding
    """
    for level, text in share_findings(shares, n_rows, is_noisy=is_noisy, ids=ids):
        yield Finding(level, text)


def _row_counts(sheet: BagSheet) -> pl.DataFrame:
    ids = sheet.row_ids.drop_nulls().alias("bag")
    return ids.to_frame().group_by("bag", maintain_order=True).agg(pl.len().alias("rows"))


def _with_sizes(sheet: BagSheet, table: pl.DataFrame) -> pl.DataFrame:
    table = table.join(_row_counts(sheet), on="bag", maintain_order="left")
    return table if "size" in table.columns else table.with_columns(size=pl.col("rows"))


def _repeated(ids: pl.Series) -> pl.Series:
    return ids.filter(ids.is_duplicated()).unique(maintain_order=True)


def _file_rows(positions: pl.Series) -> list[int]:
    """Rows as a reader counts them, from 1."""
    return [int(position) + 1 for position in positions]
