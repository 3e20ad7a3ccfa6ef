# SPDX-License-Identifier: BSD-3-Clause
"""Troubles of the declared noise: numbers that make no law, scales in the wrong unit."""

from __future__ import annotations

from collections.abc import Iterator

from bagshift.workflows.bag_sheet import BagSheet
from bagshift.workflows.findings import Finding, bags_named, error, speaking_rows
from bagshift.workflows.noise import NoiseRequest

SMALLEST_IN_COUNTS = 0.1


def check_noise(sheet: BagSheet) -> Iterator[Finding]:
    """Look at the law of the noise.

    Parameters
    ----------
    sheet : BagSheet
        Ids and shares as read.

    Yields
    ------
    Finding
    """
    yield from _numbers(sheet)
    yield from _unit(sheet)


def _numbers(sheet: BagSheet) -> Iterator[Finding]:
    """Find bags whose own number in the column of the noise makes no law."""
    noise = sheet.request.noise
    if noise is None or noise.column is None:
        return
    known = speaking_rows(sheet)
    broken = known.filter([not _makes_a_law(noise, number) for number in known["noise"]])
    if broken.height:
        first = broken["noise"][0]
        shown = "missing" if first is None else f"{first:g}"
        exact = "; 0 stands for an exact number" if noise.zero_is_exact else ""
        yield error(
            f"Column {noise.column!r} of {sheet.table_name} holds no {noise.name_of_number} of "
            f"{noise.law} noise for {bags_named(broken['bag'])} (such as {shown}){exact}."
        )


def _unit(sheet: BagSheet) -> Iterator[Finding]:
    """Find scales that mean something in the other unit only."""
    noise = sheet.request.noise
    if noise is None or noise.unit is None:
        return
    scales = [noise.number] if noise.column is None else sheet.table["noise"].to_list()
    yield from unit_doubts(noise, max((s for s in scales if s is not None), default=0.0))


def unit_doubts(noise: NoiseRequest, largest: float) -> Iterator[Finding]:
    """Warn of scales that mean something in the other unit only.

    Parameters
    ----------
    noise : NoiseRequest
    largest : float
        The largest scale of a bag.

    Yields
    ------
    Finding
    """
    if noise.unit == "shares" and largest >= 1:
        yield Finding(
            "warning",
            f"Noise with a scale of {largest:g} in shares, which run from 0 to 1, hides them; if "
            "the scale is in individuals write unit=counts.",
        )
    if noise.unit == "counts" and 0 < largest < SMALLEST_IN_COUNTS:
        yield Finding(
            "warning",
            f"Noise with a scale of {largest:g} individuals leaves counts as good as exact; if "
            "the scale is in shares write unit=shares.",
        )


def _makes_a_law(noise: NoiseRequest, number: float | None) -> bool:
    if number is None:
        return False
    try:
        noise.law_of(number)
    except (TypeError, ValueError):
        return False
    return True
