# SPDX-License-Identifier: BSD-3-Clause
"""What each method of the library uses, read off its tags; for the table of methods.

Settings that make a method use something else are found by trying the values that its parameters
allow, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

import bagshift
from bagshift.estimators._base import BagClassifier, BagTags, get_bag_tags

NEEDS, USES, NO = "needs", "uses", "–"


@dataclass(frozen=True)
class Column:
    """One question that the table answers.

    Attributes
    ----------
    heading : str
        What stands above it.
    answer : callable
        From a machine and its tags to the text of a cell.
    alike : str
        What to say in place of the column where every method has the same answer; empty for
        a column that stays in any case.
    """

    heading: str
    answer: Callable[[Any, BagTags], str]
    alike: str = ""


def _level(*, needs: bool = False, uses: bool) -> str:
    return NEEDS if needs else USES if uses else NO


COLUMNS = (
    Column(
        "labelled source",
        lambda _, tags: _level(needs=tags.needs_source, uses=tags.uses_source),
    ),
    Column("shares of bags", lambda _, tags: _level(uses=tags.uses_bags)),
    Column("rows in no bag", lambda _, tags: _level(uses=tags.uses_unlabelled_rows)),
    Column(
        "known target labels",
        lambda _, tags: _level(needs=tags.needs_target_labels, uses=tags.uses_target_labels),
    ),
    Column("probabilities", lambda machine, _: "yes" if hasattr(machine, "predict_proba") else NO),
    Column(
        "new rows",
        lambda _, tags: NO if tags.transductive else "yes",
        "Each of them also predicts rows that it was not fitted to.",
    ),
)


def public_methods() -> dict[str, type[BagClassifier]]:
    """Return every public classifier of the library by its name."""
    public = {name: getattr(bagshift, name) for name in bagshift.__all__}
    return {
        name: value
        for name, value in public.items()
        if isinstance(value, type) and issubclass(value, BagClassifier)
    }


def settings_of(method: type[BagClassifier]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each other value of a parameter that has named ones, as text and as a setting.

    Of a parameter that is None or a number, one number stands for all.
    """
    defaults = method().get_params(deep=False)
    for name, allowed in method._parameter_constraints.items():
        # Parameters that are checked elsewhere have a word in place of the list.
        for constraint in allowed if isinstance(allowed, list) else ():
            values: list[Any] = []
            if isinstance(constraint, StrOptions):
                values = sorted(constraint.options)
            elif isinstance(constraint, str) and constraint == "boolean":
                values = [False, True]
            elif constraint is None:
                values = [None]
            elif isinstance(constraint, Interval) and defaults[name] is None and 0.5 in constraint:
                yield f"{name}=...", {name: 0.5}
            for value in values:
                if value is not defaults[name] and value != defaults[name]:
                    quoted = f'"{value}"' if isinstance(value, str) else repr(value)
                    yield f"{name}={quoted}", {name: value}


def answers_of(machine: BagClassifier) -> list[str]:
    """Return what one machine answers, column by column."""
    tags = get_bag_tags(machine)
    return [column.answer(machine, tags) for column in COLUMNS]


def settings_that_matter(method: type[BagClassifier]) -> dict[str, dict[str, Any]]:
    """Return the settings of a method, by their text, that change any of its answers."""
    usual = answers_of(method())
    return {
        text: setting
        for text, setting in settings_of(method)
        if answers_of(method(**setting)) != usual
    }


def rows_of(method: type[BagClassifier]) -> dict[str, list[str]]:
    """Return the answers of a method with its defaults, as "", and in settings that matter."""
    others = settings_that_matter(method).items()
    return {
        "": answers_of(method()),
        **{text: answers_of(method(**setting)) for text, setting in others},
    }


def read_families(lines: Sequence[str], known: Sequence[str]) -> dict[str, list[str]]:
    """Return the names of classes by family, from the body of the directive.

    Parameters
    ----------
    lines : sequence of str
        ``Family: Name Name``; blank lines are passed over.
    known : sequence of str
        The classes that have to be there, each once.

    Returns
    -------
    dict of str to list of str

    Raises
    ------
    ValueError
        When a line has no family, or names are missing, unknown or there twice.
    """
    families: dict[str, list[str]] = {}
    for line in filter(str.strip, lines):
        family, colon, names = line.partition(":")
        if not colon or not names.strip() or family.strip() in families:
            raise ValueError(f"'{line}' is not 'Family: Name Name', with each family once.")
        families[family.strip()] = names.split()
    given = [name for names in families.values() for name in names]
    complaints = {
        "not in the table": sorted(set(known) - set(given)),
        "no public classifiers": sorted(set(given) - set(known)),
        "there twice": sorted({name for name in given if given.count(name) > 1}),
    }
    wrong = [f"{problem}: {', '.join(names)}" for problem, names in complaints.items() if names]
    if wrong:
        raise ValueError("; ".join(wrong))
    return families


def columns_to_show(rows: Sequence[Sequence[str]]) -> tuple[list[int], list[str]]:
    """Return the numbers of the columns that differ, and sentences in place of the others."""
    alike = [
        bool(column.alike) and all(row[i] == "yes" for row in rows)
        for i, column in enumerate(COLUMNS)
    ]
    shown = [i for i, same in enumerate(alike) if not same]
    return shown, [COLUMNS[i].alike for i, same in enumerate(alike) if same]
