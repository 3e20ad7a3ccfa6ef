# SPDX-License-Identifier: BSD-3-Clause
"""How `Bags` show themselves: one line, and a small table in notebooks."""

from __future__ import annotations

from collections import Counter
from html import escape

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.data import BagData

_SHOWN_BAGS = 5
_SHOWN_CLASSES = 8
_SHOWN_LAWS = 2
_LONGEST_TEXT = 60
_BARS = " ▁▂▃▄▅▆▇█"


def describe(bags: BagData) -> dict[str, str]:
    """Say in a few words what the bags hold.

    Parameters
    ----------
    bags : BagData

    Returns
    -------
    dict
        Text by heading, such as ``{"rows": "800", "bags": "100", ...}``.
    """
    lines = {"rows": f"{len(bags):,}", "bags": f"{bags.n_bags:,}"}
    if bags.n_bags:
        lines["sizes"] = _range(bags.sizes)
        if bags.classes is None:
            lines["shares"] = _range(bags.positive_shares)
        else:
            lines["classes"] = _classes(bags)
    noise = _noise(bags)
    if noise:
        lines["noise"] = noise
    if bags.positive is not None:
        lines["positive"] = repr(bags.positive)
    n_source = int(bags.is_source.sum())
    n_labelled = int((bags.has_label & ~bags.is_source).sum())
    in_no_bag = len(bags) - len(bags.rows_in_bags()) - n_source - n_labelled
    for heading, number in (
        ("source rows", n_source),
        ("labelled rows", n_labelled),
        ("rows in no bag", in_no_bag),
    ):
        if number:
            lines[heading] = f"{number:,}"
    return lines


def to_text(bags: BagData) -> str:
    """Write the bags in one line."""
    lines = describe(bags)
    counted = [_count(lines.pop("rows"), "row"), _count(lines.pop("bags"), "bag")]
    return f"<Bags: {', '.join(counted + [f'{key} {value}' for key, value in lines.items()])}>"


def to_html(bags: BagData) -> str:
    """Write the bags as two small tables: what they hold, and the first few bags."""
    lines = describe(bags)
    if bags.n_bags and bags.classes is None:
        lines["shares"] += f"  0 {histogram(bags.clipped_shares)} 1"
    summary = "".join(
        f"<tr><th style='text-align:left'>{escape(key)}</th>"
        f"<td style='text-align:left;white-space:pre'>{escape(value)}</td></tr>"
        for key, value in lines.items()
    )
    return f"<div class='bagshift-bags'><table>{summary}</table>{_first_bags(bags)}</div>"


def histogram(shares: NDArray[np.float64]) -> str:
    """Draw how many shares fall into each tenth between 0 and 1, as ten bars of text.

    Examples
    --------
    >>> histogram(np.array([0.0, 0.0, 0.5, 1.0]))
    '█    ▄   ▄'
    """
    counts, _ = np.histogram(shares, bins=10, range=(0.0, 1.0))
    levels = np.ceil(counts / counts.max() * (len(_BARS) - 1)).astype(int)
    return "".join(_BARS[level] for level in levels)


def _first_bags(bags: BagData) -> str:
    if not bags.n_bags:
        return ""
    rows_per_bag = bags.rows_per_bag
    shown = bags.shares[:, 1:] if bags.classes is None else bags.shares[:, :_SHOWN_CLASSES]
    rows = "".join(
        f"<tr><td style='text-align:left'>{escape(_shorten(str(bags.ids[place])))}</td>"
        f"<td>{rows_per_bag[place]:,}</td><td>{bags.sizes[place]:,.0f}</td>"
        f"<td>{'</td><td>'.join(f'{share:.3f}' for share in shown[place])}</td></tr>"
        for place in range(min(bags.n_bags, _SHOWN_BAGS))
    )
    n_more = bags.n_bags - _SHOWN_BAGS
    names = ["share"] if bags.classes is None else [*map(str, bags.classes[:_SHOWN_CLASSES])]
    width = 3 + len(names)
    more = f"<tr><td colspan='{width}'>and {n_more:,} more</td></tr>" if n_more > 0 else ""
    names = [escape(_shorten(name)) for name in names]
    head = "".join(f"<th>{name}</th>" for name in ("bag", "rows", "size", *names))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}{more}</tbody></table>"


def _count(number: str, unit: str) -> str:
    return f"{number} {unit}" if number == "1" else f"{number} {unit}s"


def _range(values: NDArray[np.float64]) -> str:
    low, middle, high = values.min(), np.median(values), values.max()
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g} (median {middle:.4g})"


def _classes(bags: BagData) -> str:
    """Name the first few classes with their mean shares."""
    means = bags.shares.mean(axis=0)
    named = [
        f"{_shorten(str(label))} {mean:.3g}"
        for label, mean in zip(bags.classes or (), means, strict=True)
    ]
    n_more = len(named) - _SHOWN_CLASSES
    more = f" and {n_more} more" if n_more > 0 else ""
    return f"{len(named)} ({', '.join(named[:_SHOWN_CLASSES])}{more})"


def _noise(bags: BagData) -> str:
    """Name the law of the bags, or how many have which; empty if all numbers are exact."""
    numbers = Counter(repr(law) for law in bags.noise if law is not None)
    if len(numbers) > _SHOWN_LAWS:
        return f"of {len(numbers):,} laws in {_count(f'{numbers.total():,}', 'bag')}"
    return ", ".join(
        law if number == bags.n_bags else f"{law} in {_count(f'{number:,}', 'bag')}"
        for law, number in numbers.items()
    )


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
