# SPDX-License-Identifier: BSD-3-Clause
"""What was found of a claim, in-sample and on fresh rows, and the verdict of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal[
    "reproduced",
    "only under its protocol",
    "only on fresh rows",
    "not reproduced: undecided",
    "not reproduced: contradicted",
    "not run",
    "in-sample; fresh rows not run",
    "holds",
    "holds in-sample only",
    "undecided",
    "contradicted",
]
# "yes" and "no" when the numbers decide it, "open" when they do not, "nothing" without numbers.
State = Literal["yes", "no", "open", "nothing"]
RULES = (
    "A difference counts when its 95 % interval over paired draws (Student's t) does not hold "
    "zero; about equal is within two points. Intervals are of one claim each: of twenty that say "
    "nothing, one is expected to count. Undecided: the numbers do not tell. Contradicted: they "
    "say the opposite, or that it is not so. A claim is reproduced when it holds both in-sample "
    "with the paper's choice and on fresh rows.",
)


@dataclass(frozen=True)
class Finding:
    """Whether a claim holds on some rows, with the numbers.

    Attributes
    ----------
    state : {"yes", "no", "open", "nothing"}
        "no" where they contradict it, "open" where the numbers do not decide it, "nothing"
        where there are none.
    numbers : str
        In points of accuracy.
    """

    state: State
    numbers: str


NOTHING = Finding("nothing", "")


@dataclass(frozen=True)
class Claim:
    """An observation of the paper and what was found.

    Attributes
    ----------
    statement : str
        What the paper says.
    data : str
        On which data it was looked at.
    in_sample : Finding
        By the paper's protocol, on the bagged rows.
    fresh : Finding
        On fresh rows.
    is_ours : bool
        Whether the paper does not say so, and it is told beside its claims.
    """

    statement: str
    data: str
    in_sample: Finding
    fresh: Finding
    is_ours: bool = field(default=False, kw_only=True)

    @property
    def verdict(self) -> Verdict:
        """The two findings in a phrase."""
        match self.in_sample.state, self.fresh.state:
            case "nothing", _:
                return "not run"
            case "yes", "yes":
                return "holds" if self.is_ours else "reproduced"
            case "yes", "nothing":
                return "in-sample; fresh rows not run"
            case "yes", _:
                return "holds in-sample only" if self.is_ours else "only under its protocol"
            case _, "yes":
                return "only on fresh rows"
            case ("no", _) | (_, "no"):
                return "contradicted" if self.is_ours else "not reproduced: contradicted"
        return "undecided" if self.is_ours else "not reproduced: undecided"
