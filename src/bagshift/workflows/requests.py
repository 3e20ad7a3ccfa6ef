# SPDX-License-Identifier: BSD-3-Clause
"""What a user asks for: which files, which columns play which part."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from bagshift.workflows.noise import NoiseRequest

Method = Literal["count-likelihood", "tgplm", "ic-svm", "svm"]
Search = Literal["none", "quick", "full", "paper"]
OnUnmatched = Literal["raise", "drop"]


@dataclass(frozen=True)
class BagRequest:
    """Where bags and their shares are found.

    Attributes
    ----------
    target : Path
        File of target rows.
    bag : str
        Its column of bag ids.
    shares : Path, optional
        File with one row per bag; without it the target file holds the share of each row's bag.
    shares_bag : str, optional
        Column of bag ids there, when it is not named as in the target file.
    share_column, count_column : str, optional
        Column of shares of positives, or of numbers of positives; exactly one of them.
    size_column : str, optional
        Column of bag sizes, when shares speak about more individuals than the rows at hand.
    on_unmatched : {"raise", "drop"}
        Whether ids without partner, blank ids and missing shares are errors or left out.
    noise : NoiseRequest, optional
        How shares or counts were changed before they were published.
    noise_at_fit : NoiseRequest, optional
        The law of the shares that a model was fitted on: named where these shares need one.
    class_columns : tuple of str
        Columns of shares or counts of more than two classes, named as these; the first one is
        also ``share_column`` or ``count_column``.
    other : str, optional
        The class that has what the columns leave.
    """

    target: Path
    bag: str
    shares: Path | None = None
    shares_bag: str | None = None
    share_column: str | None = None
    count_column: str | None = None
    size_column: str | None = None
    on_unmatched: OnUnmatched = "raise"
    noise: NoiseRequest | None = None
    noise_at_fit: NoiseRequest | None = None
    class_columns: tuple[str, ...] = ()
    other: str | None = None

    @property
    def has_more_classes(self) -> bool:
        """Whether there is a column for each of several classes."""
        return bool(self.class_columns)

    @property
    def value_columns(self) -> tuple[str, ...]:
        """Columns that hold shares or counts."""
        return self.class_columns or (self.value_column,)

    @property
    def value_column(self) -> str:
        """Column that holds shares or counts."""
        return self.share_column or self.count_column or ""

    @property
    def by_count(self) -> bool:
        """Whether that column holds counts."""
        return self.share_column is None

    @property
    def noise_column(self) -> str | None:
        """Column that says how much the number of each bag was changed, if there is one."""
        return self.noise.column if self.noise else None

    @property
    def bag_in_shares(self) -> str:
        """Column of bag ids in the file of shares."""
        return self.shares_bag or self.bag


@dataclass(frozen=True)
class FitRequest:
    """The files of a fit.

    Attributes
    ----------
    bags : BagRequest
        Target rows and their bags.
    source : Path, optional
        File of labelled history.
    label : str, optional
        Its column of labels.
    positive : str, optional
        The label that shares are shares of.
    negative : str, optional
        The other label; without history nothing else names it.
    id_column : str, optional
        Column that names individuals; carried along, never learned from.
    only : tuple of str
        Columns to learn from; empty means every usable one.
    ignore : tuple of str
        Columns to leave out.
    """

    bags: BagRequest
    source: Path | None = None
    label: str | None = None
    positive: str | None = None
    negative: str | None = None
    id_column: str | None = None
    only: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True)
class MachineRequest:
    """The machine to fit.

    Attributes
    ----------
    method : {"count-likelihood", "tgplm", "ic-svm", "svm"}
        Coupled machine by counts or by mean scores, bags alone, or history alone.
    search : {"none", "quick", "full", "paper"}
        How hard to look for settings by whole-bag cross-validation.
    parameters : dict
        Settings that are given, by the estimator's parameter names; not searched.
    seed : int, optional
        Of the random assignment of bags to folds.
    """

    method: Method = "count-likelihood"
    search: Search = "quick"
    parameters: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None
