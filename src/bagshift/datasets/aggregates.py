# SPDX-License-Identifier: BSD-3-Clause
"""Tables of aggregated units, such as precincts: shares of groups beside shares of an outcome.

Nobody is in such a table as a row of its own, so nothing can be classified; they are what
ecological inference starts from. One of the three layouts has the truth within the groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.exceptions import TableError, name_some

Floats = NDArray[np.float64]
_ID_COLUMNS = ("GEOID20", "precinct")


@dataclass(frozen=True, eq=False, kw_only=True)
class Aggregates:
    """Units, how many people each has, and shares of groups and outcomes among them.

    Attributes
    ----------
    name : str
        Name of the table.
    unit_ids : ndarray of shape (n_units,)
        Id of every unit; a running number where the table has none.
    sizes : ndarray of shape (n_units,)
        How many people the group shares speak about.
    group_names : tuple of str
        The groups. They may overlap, as Asian and East Asian do.
    group_shares : ndarray of shape (n_units, n_groups)
        Share of each group among the people of a unit.
    outcome_names : tuple of str
        The outcomes, such as votes for a candidate.
    outcome_sizes : ndarray of shape (n_units, n_outcomes)
        How many people each outcome share speaks about, such as the votes cast in that contest.
    outcome_shares : ndarray of shape (n_units, n_outcomes)
        Share of each outcome; NaN in a unit where it speaks about nobody.
    rates : ndarray of shape (n_units, n_groups), or None
        True share of the only outcome within each group; NaN in a unit without that group.
    """

    name: str
    unit_ids: NDArray[Any]
    sizes: Floats
    group_names: tuple[str, ...]
    group_shares: Floats
    outcome_names: tuple[str, ...]
    outcome_sizes: Floats
    outcome_shares: Floats
    rates: Floats | None = None


def read_aggregates(path: str | Path) -> Aggregates:
    """Read a table of aggregated units.

    Three layouts are known, by their columns:

    * counties with the fraction of Black people ``X``, the fraction registered to vote ``Y``, the
      number of people ``N``, and the true rates of registration ``W1`` and ``W2`` of Black and of
      other people (King 1997, registration in 1968);
    * precincts with counts of votes ``R_…``, ``D_…``, ``other_…`` and ``total_…`` for each contest
      and of people of voting age by race (South Carolina, as eiCompare has them);
    * precincts with shares of votes ``pct_for_…``, the number of votes ``total2`` and ``total5``
      of both contests, and shares of groups among those who voted (Santa Clara, as PyEI has them).

    Parameters
    ----------
    path : str or Path
        A CSV or Parquet file.

    Returns
    -------
    Aggregates

    Raises
    ------
    TableError
        When the file cannot be read, has another layout, or holds shares outside of 0 to 1 or
        negative numbers of people.
    """
    # Files need polars, which an installation without extras does not have.
    from bagshift.tables import read_table

    path = Path(path)
    frame = read_table(path, text_columns=_ID_COLUMNS)
    for columns, read in _LAYOUTS.items():
        if set(columns) <= set(frame.columns):
            units = read(path, frame)
            _check_ranges(path, units)
            return units
    layouts = "; or ".join(name_some(columns, 6) for columns in _LAYOUTS)
    raise TableError(
        f"{path} is no table of aggregates that is known here, which would have the columns "
        f"{layouts}."
    )


def _check_ranges(path: Path, units: Aggregates) -> None:
    rates = np.empty(0) if units.rates is None else units.rates
    shares = np.concatenate([p.ravel() for p in (units.group_shares, units.outcome_shares, rates)])
    sizes = np.concatenate([units.sizes, units.outcome_sizes.ravel()])
    if wrong := sorted(set(shares[(shares < 0) | (shares > 1)].tolist())):
        raise TableError(f"{path} has shares that do not lie in 0 to 1: {name_some(wrong)}.")
    if wrong := sorted(set(sizes[(sizes < 0) | np.isinf(sizes)].tolist())):
        raise TableError(f"{path} has numbers of people that are none: {name_some(wrong)}.")


def _read_registration(path: Path, frame: Any) -> Aggregates:
    black, sizes = _numbers(path, frame, "X"), _numbers(path, frame, "N")
    shares = np.column_stack([black, 1.0 - black])
    return Aggregates(
        name=path.stem,
        unit_ids=np.arange(frame.height),
        sizes=sizes,
        group_names=("Black", "other"),
        group_shares=shares,
        outcome_names=("registered",),
        outcome_sizes=sizes[:, None],
        outcome_shares=_table(path, frame, ["Y"]),
        rates=np.where(shares > 0, _table(path, frame, ["W1", "W2"]), np.nan),
    )


def _read_counted_votes(path: Path, frame: Any) -> Aggregates:
    contests = [column.removeprefix("total_") for column in frame.columns if _is_total(column)]
    sizes, groups = _numbers(path, frame, "total_vap"), ("hisp", "white", "black", "race_other")
    outcomes, totals = _outcomes_by_contest(frame.columns, contests)
    return Aggregates(
        name=path.stem,
        unit_ids=frame["GEOID20"].to_numpy(),
        sizes=sizes,
        group_names=("Hispanic", "White", "Black", "other"),
        group_shares=_ratios(_table(path, frame, groups), sizes[:, None]),
        outcome_names=tuple(outcomes),
        outcome_sizes=_table(path, frame, totals),
        outcome_shares=_ratios(_table(path, frame, outcomes), _table(path, frame, totals)),
    )


def _is_total(column: str) -> bool:
    return column.startswith("total_") and column != "total_vap"


def _outcomes_by_contest(columns: list[str], contests: list[str]) -> tuple[list[str], list[str]]:
    """Return columns of votes, and for each the column of all votes, which follows its contest."""
    outcomes: list[str] = []
    totals: list[str] = []
    waiting: list[str] = []
    for column in columns:
        if column.startswith(("R_", "D_", "other_")):
            waiting.append(column)
        elif column.removeprefix("total_") in contests:
            outcomes += waiting
            totals += [column] * len(waiting)
            waiting = []
    return outcomes, totals


def _read_voted_shares(path: Path, frame: Any) -> Aggregates:
    outcomes = [column for column in frame.columns if column.startswith("pct_for_")]
    totals = [f"total{column[-1]}" for column in outcomes]
    groups = ("asian", "ind", "e_asian", "non_asian")
    return Aggregates(
        name=path.stem,
        unit_ids=frame["precinct"].to_numpy(),
        sizes=_numbers(path, frame, "total_turnout"),
        group_names=("Asian", "Indian", "East Asian", "not Asian"),
        group_shares=_table(path, frame, [f"pct_{group}_vote" for group in groups]),
        outcome_names=tuple(column.removeprefix("pct_for_") for column in outcomes),
        outcome_sizes=_table(path, frame, totals),
        outcome_shares=_table(path, frame, outcomes),
    )


_LAYOUTS: dict[tuple[str, ...], Callable[[Path, Any], Aggregates]] = {
    ("X", "Y", "N", "W1", "W2"): _read_registration,
    ("GEOID20", "total_vap", "hisp", "white", "black", "race_other"): _read_counted_votes,
    ("precinct", "total_turnout", "total2", "total5", "pct_asian_vote"): _read_voted_shares,
}


def _numbers(path: Path, frame: Any, column: str) -> Floats:
    return np.asarray(_table(path, frame, [column])[:, 0])


def _table(path: Path, frame: Any, columns: Sequence[str]) -> Floats:
    """Return columns as numbers, when they are there and hold some."""
    from bagshift.tables import require_columns

    if not columns:
        raise TableError(f"{path} has no columns of outcomes.")
    require_columns(frame, columns, path)
    if texts := [name for name in columns if not frame[name].dtype.is_numeric()]:
        raise TableError(f"{path}: columns that must be numbers are not: {name_some(texts)}.")
    return np.column_stack([frame[name].cast(float).to_numpy() for name in columns])


def _ratios(parts: Floats, wholes: Floats) -> Floats:
    return np.asarray(np.divide(parts, wholes, out=np.full(parts.shape, np.nan), where=wholes > 0))
