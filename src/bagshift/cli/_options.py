# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bagshift.workflows.noise import NoiseRequest
    from bagshift.workflows.requests import BagRequest


class OnUnmatched(StrEnum):
    """What to do with ids without partner."""

    RAISE = "raise"
    DROP = "drop"


Target = Annotated[
    Path, typer.Option("--target", metavar="FILE", help="Rows to classify; CSV or Parquet.")
]
Bag = Annotated[str, typer.Option("--bag", metavar="COLUMN", help="Bag id, in both files.")]
BagAsAtFit = Annotated[
    str | None,
    typer.Option("--bag", metavar="COLUMN", help="Bag id; by default as at the fit."),
]
Shares = Annotated[
    Path | None,
    typer.Option(
        "--shares",
        metavar="FILE",
        help="One row per bag. Without it, shares are a column of the target.",
    ),
]
SharesBag = Annotated[
    str | None,
    typer.Option("--shares-bag", metavar="COLUMN", help="Bag id in --shares, if named otherwise."),
]
ShareColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--share-column",
        metavar="COLUMN",
        help="Share of positives, 0 to 1; of more than two classes once for each, named so.",
    ),
]
CountColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--count-column",
        metavar="COLUMN",
        help="Or: number of positives; of more than two classes once for each, named so.",
    ),
]
Other = Annotated[
    str | None,
    typer.Option(
        "--other", metavar="CLASS", help="One more class, which has what the columns leave."
    ),
]
SizeColumn = Annotated[
    str | None,
    typer.Option(
        "--size-column", metavar="COLUMN", help="Bag size, if larger than the rows at hand."
    ),
]
Unmatched = Annotated[
    OnUnmatched,
    typer.Option(
        "--on-unmatched", help="Ids without partner, blank ids, missing shares: error, or drop."
    ),
]
Noise = Annotated[
    str | None,
    typer.Option(
        "--noise",
        metavar="LAW:NAME=VALUE",
        help="How shares or counts were changed: laplace:scale=2,unit=counts; "
        "gaussian:scale=0.03,unit=shares; geometric:epsilon=0.5; rounding:digits=2. "
        "With column=NAME for the number, each bag has its own.",
    ),
]
Source = Annotated[
    Path | None, typer.Option("--source", metavar="FILE", help="Labelled history, same columns.")
]
Label = Annotated[
    str | None, typer.Option("--label", metavar="COLUMN", help="Label, in --source.")
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive", metavar="LABEL", help="The label that shares are of (not for 0/1 labels)."
    ),
]
Negative = Annotated[
    str | None,
    typer.Option("--negative", metavar="LABEL", help="The other label, when there is no history."),
]
Id = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="Names each row; kept, never learned from."),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="A,B,...", help="Learn from these columns only."),
]
Ignore = Annotated[
    str | None, typer.Option("--ignore", metavar="A,B,...", help="Leave these columns out.")
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors and warnings.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def bag_request(
    target: Path,
    bag: str,
    shares: Path | None,
    shares_bag: str | None,
    share_column: str | None,
    count_column: str | None,
    size_column: str | None,
    on_unmatched: OnUnmatched,
    noise: str | None,
) -> BagRequest:
    """Put the options about bags together.

    Parameters
    ----------
    target, bag, shares, shares_bag, share_column, count_column, size_column, on_unmatched, noise
        The options of these names.

    Returns
    -------
    BagRequest

    Raises
    ------
    typer.BadParameter
        When options contradict each other or one is missing.
    """
    from bagshift.workflows.requests import BagRequest

    if share_column is None and count_column is None:
        raise typer.BadParameter("give --share-column or --count-column.")
    check_share_options(shares, shares_bag, share_column, count_column)
    return BagRequest(
        target=target,
        bag=bag,
        shares=shares,
        shares_bag=shares_bag,
        share_column=share_column,
        count_column=count_column,
        size_column=size_column,
        on_unmatched="drop" if on_unmatched is OnUnmatched.DROP else "raise",
        noise=None if noise is None else noise_request(noise),
    )


def with_classes(request: BagRequest, columns: list[str] | None, other: str | None) -> BagRequest:
    """Add what is given of more than two classes.

    Parameters
    ----------
    request : BagRequest
        Of the first column.
    columns : list of str or None
        All columns of shares or counts.
    other : str or None
        Option ``--other``.

    Returns
    -------
    BagRequest

    Raises
    ------
    typer.BadParameter
        When a column is named twice, there is noise, or one column has no class beside it.
    """
    from dataclasses import replace

    names = tuple(columns or ())
    if len(set(names)) < len(names) or other in names:
        raise typer.BadParameter("every column of shares or counts is of another class.")
    if len(names) + (other is not None) <= 2:
        if len(names) > 1 or other is not None:
            raise typer.BadParameter(
                "two classes take one --share-column or --count-column, that of --positive."
            )
        return request
    if request.noise is not None:
        raise typer.BadParameter("--noise is for two classes; leave it out.")
    return replace(request, class_columns=names, other=other)


def check_no_positive(bags: BagRequest, positive: str | None) -> None:
    """Refuse a positive class of more than two.

    Parameters
    ----------
    bags : BagRequest
    positive : str or None

    Raises
    ------
    typer.BadParameter
    """
    if bags.has_more_classes and positive is not None:
        raise typer.BadParameter(
            "--positive is for two classes; with a column for each class leave it out."
        )


def first_of(columns: list[str] | None) -> str | None:
    """Return the first column, if there is one.

    Parameters
    ----------
    columns : list of str or None

    Returns
    -------
    str or None
    """
    return columns[0] if columns else None


def only_one(columns: list[str] | None, command: str) -> str | None:
    """Return the only column of shares or counts.

    Parameters
    ----------
    columns : list of str or None
    command : str
        The command, as the beginning of a sentence.

    Returns
    -------
    str or None

    Raises
    ------
    typer.BadParameter
        When there are several, which speak of more than two classes.
    """
    if columns and len(columns) > 1:
        raise typer.BadParameter(
            f"{command} is for two classes: give one --share-column or --count-column, and run "
            "it for each class in turn."
        )
    return first_of(columns)


def check_share_options(
    shares: Path | None,
    shares_bag: str | None,
    share_column: str | None,
    count_column: str | None,
) -> None:
    """Refuse options about shares that contradict each other.

    Parameters
    ----------
    shares, shares_bag, share_column, count_column
        The options of these names.

    Raises
    ------
    typer.BadParameter
        When both columns are named, or a bag id of no file.
    """
    if share_column is not None and count_column is not None:
        raise typer.BadParameter("give --share-column or --count-column, not both.")
    if shares_bag is not None and shares is None:
        raise typer.BadParameter("--shares-bag goes with --shares.")


def noise_request(written: str) -> NoiseRequest:
    """Read option ``--noise``.

    Parameters
    ----------
    written : str
        As typed.

    Returns
    -------
    NoiseRequest

    Raises
    ------
    typer.BadParameter
        When it is no law.
    """
    from bagshift.workflows.noise import parse_noise

    try:
        return parse_noise(written)
    except ValueError as error:
        raise typer.BadParameter(f"--noise: {error}") from None


def bag_as_at_fit(bag: str | None, known: str | None) -> str:
    """Return the column of bag ids, by default that of the fit.

    Parameters
    ----------
    bag : str or None
        Option ``--bag``.
    known : str or None
        What the model says.

    Returns
    -------
    str

    Raises
    ------
    typer.BadParameter
        When there is neither.
    """
    column = bag or known
    if column is None:
        raise typer.BadParameter("give --bag, the column of bag ids.")
    return column


def check_memory(memory: str | None) -> None:
    """Refuse a limit of memory that is no size.

    Parameters
    ----------
    memory : str or None

    Raises
    ------
    typer.BadParameter
    """
    if memory is None:
        return
    from bagshift.exceptions import TableError
    from bagshift.scale.connection import memory_bytes

    try:
        memory_bytes(memory)
    except TableError as error:
        raise typer.BadParameter(f"--{error}") from None


def check_source_options(source: Path | None, label: str | None) -> None:
    """Refuse history without labels and labels without history.

    Parameters
    ----------
    source : Path or None
        Option ``--source``.
    label : str or None
        Option ``--label``.

    Raises
    ------
    typer.BadParameter
        When one is given without the other.
    """
    if source is not None and label is None:
        raise typer.BadParameter("--source needs --label, the column of its labels.")
    if label is not None and source is None:
        raise typer.BadParameter("--label goes with --source.")


def check_class_options(positive: str | None, negative: str | None) -> None:
    """Refuse a negative class without a positive one.

    Parameters
    ----------
    positive : str or None
        Option ``--positive``.
    negative : str or None
        Option ``--negative``.

    Raises
    ------
    typer.BadParameter
        When only the negative class is named, or both are the same.
    """
    if negative is not None and positive is None:
        raise typer.BadParameter("--negative goes with --positive.")
    if negative is not None and negative == positive:
        raise typer.BadParameter("--positive and --negative must differ.")


def names(written: str | None) -> tuple[str, ...]:
    """Split a list of column names at its commas.

    Parameters
    ----------
    written : str or None
        As typed.

    Returns
    -------
    tuple of str
    """
    return tuple(part.strip() for part in (written or "").split(",") if part.strip())
