# SPDX-License-Identifier: BSD-3-Clause
"""Reports as aligned text: what troubles first, then names and values in two columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from textwrap import wrap

WIDTH = 96
_MOST_NAME = 28

Facts = list[tuple[str, str]]


def write_report(title: str, warnings: Sequence[str], parts: Iterable[tuple[str, Facts]]) -> str:
    """Write a report.

    Parameters
    ----------
    title : str
    warnings : sequence of str
        Sentences.
    parts : iterable of (heading, facts)
        Names and values under each heading; a name may be empty where the value goes on.

    Returns
    -------
    str

    Examples
    --------
    >>> print(write_report("Bags", ["All are small."], [("Sizes", [("rows", "3 to 5")])]))
    Bags
    <BLANKLINE>
      ! All are small.
    <BLANKLINE>
    Sizes
      rows  3 to 5
    """
    filled = [(heading, facts) for heading, facts in parts if facts]
    width = max((len(name) for _, facts in filled for name, _ in facts), default=0)
    width = min(width, _MOST_NAME)
    lines = [title]
    if warnings:
        lines.append("")
    for warning in warnings:
        lines += _hang("  ! ", warning)
    for heading, facts in filled:
        lines += ["", heading]
        for name, value in facts:
            lines += _hang(f"  {name.ljust(width)}  ", value)
    return "\n".join(lines)


def as_html(text: str) -> str:
    """Show text in a notebook as it is; nothing in it is taken for HTML."""
    return f"<pre class='bagshift-report'>{escape(text)}</pre>"


def percent(share: float) -> str:
    """Write a share as a percentage, with more digits near 0 and 100.

    Examples
    --------
    >>> percent(0.5), percent(0.0123), percent(0.9996), percent(1.0)
    ('50 %', '1.2 %', '99.96 %', '100 %')
    """
    near = min(abs(share), abs(1 - share))
    digits = 0 if near > 0.0999 or near == 0 else 1 if near >= 0.005 else 2
    return f"{100 * share:.{digits}f} %"


def in_range(values: Sequence[float], digits: int = 4) -> str:
    """Write the smallest, the middle and the largest of three numbers."""
    low, middle, high = values
    if low == high:
        return f"{low:,.{digits}g}" if low < 1000 else f"{low:,.0f}"
    return " ".join(
        [
            f"{_plain(low, digits)} to {_plain(high, digits)}",
            f"(median {_plain(middle, digits)})",
        ]
    )


def _plain(value: float, digits: int) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def _hang(start: str, text: str) -> list[str]:
    """Wrap text; further lines stand below its first letter."""
    return wrap(
        text,
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    ) or [start.rstrip()]
