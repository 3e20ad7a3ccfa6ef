# SPDX-License-Identifier: BSD-3-Clause
"""Ids that a reader would take for one and the same, though they are not equal.

Nothing is matched by this; it only makes the refusal say what to correct.
"""

import re
import unicodedata
from collections.abc import Callable, Hashable, Sequence

_ZEROS = re.compile(r"([+-]?)0*(\d+)(?:\.0*)?")


def _compose(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _show(text: str) -> str:
    """Leave out zero-width characters and byte order marks."""
    return "".join(letter for letter in text if unicodedata.category(letter) != "Cf")


def _trim(text: str) -> str:
    return "".join(text.split())


def _drop_zeros(text: str) -> str:
    """Write 007 and 7.0 as 7."""
    return _ZEROS.sub(r"\1\2", text) if _ZEROS.fullmatch(text) else text


_STEPS: dict[str, Callable[[str], str]] = {
    "Unicode form": _compose,
    "invisible characters": _show,
    "spaces": _trim,
    "letter case": str.casefold,
    "zeros before or after the number": _drop_zeros,
}


def find_near_miss(
    in_rows: Sequence[Hashable], in_column: Sequence[Hashable]
) -> tuple[Hashable, Hashable] | None:
    """Find an id of the rows and one of the column that differ in type or spelling only.

    Parameters
    ----------
    in_rows : sequence of ids
        Those without a partner.
    in_column : sequence of ids

    Returns
    -------
    tuple of the two ids, or None

    Examples
    --------
    >>> find_near_miss(["8", "007"], [7])
    ('007', 7)
    """
    by_text = {_fold(bag): bag for bag in in_column}
    return next(((bag, by_text[_fold(bag)]) for bag in in_rows if _fold(bag) in by_text), None)


def near_identical(ids: Sequence[Hashable]) -> list[list[Hashable]]:
    """Group ids that differ in type or spelling only.

    Examples
    --------
    >>> near_identical(["Ward 1", "ward 2", "ward 1 ", 7, "07"])
    [['Ward 1', 'ward 1 '], [7, '07']]
    """
    groups: dict[str, list[Hashable]] = {}
    for bag in ids:
        groups.setdefault(_fold(bag), []).append(bag)
    return [group for group in groups.values() if len(group) > 1]


def differences(left: Hashable, right: Hashable) -> list[str]:
    """Name what two ids of `find_near_miss` differ in.

    Examples
    --------
    >>> differences("007", 7)
    ['type', 'zeros before or after the number']
    """
    needed = [name for name in _STEPS if _fold(left, name) != _fold(right, name)]
    return ["type"] * (type(left) is not type(right)) + needed or ["spelling"]


def _fold(bag: Hashable, left_out: str = "") -> str:
    text = bag.decode(errors="replace") if isinstance(bag, bytes) else str(bag)
    for name, step in _STEPS.items():
        text = text if name == left_out else step(text)
    return text
