# SPDX-License-Identifier: BSD-3-Clause
"""A small election in files, and the command line run in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from bagshift.cli.app import app

N_BAGS, BAG_SIZE, N_HISTORY = 8, 6, 60
TOWNS = np.array(["hill", "lake", "wood"])


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """Everything printed, with single blanks: messages are wrapped to the terminal."""
        return " ".join((self.out + self.err).split())


def run_command(*arguments: object) -> Outcome:
    result = CliRunner().invoke(app, [str(a) for a in arguments], prog_name="bagshift")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "Traceback" not in result.output
    return Outcome(result.exit_code, result.stdout, result.stderr)


@dataclass(frozen=True)
class Election:
    """Files of a small problem, and changes to them."""

    folder: Path

    @property
    def people(self) -> Path:
        return self.folder / "people.csv"

    @property
    def results(self) -> Path:
        return self.folder / "results.csv"

    @property
    def history(self) -> Path:
        return self.folder / "history.parquet"

    @property
    def model(self) -> Path:
        return self.folder / "model.skops"

    def fit_options(self, **replaced: object) -> list[str]:
        """Options of a quick fit; an option set to None is left out."""
        options: dict[str, Any] = {
            "target": self.people,
            "bag": "precinct",
            "shares": self.results,
            "share_column": "yes_share",
            "source": self.history,
            "label": "voted",
            "positive": "yes",
            "id": "person",
        } | replaced
        return [
            word
            for name, value in options.items()
            if value is not None
            for word in (f"--{name.replace('_', '-')}", str(value))
        ]

    def fit(self, *more: object, **replaced: object) -> Outcome:
        return run_command(
            "fit", *self.fit_options(**replaced), "-o", self.model, "--search", "none", *more
        )

    def check(self, *more: object, **replaced: object) -> Outcome:
        return run_command("check", *self.fit_options(**replaced), *more)

    def change(self, path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        """Rewrite a file."""
        if path.suffix == ".csv":
            ids = {"precinct": pl.String}
            change(pl.read_csv(path, schema_overrides=ids)).write_csv(path)
        else:
            change(pl.read_parquet(path)).write_parquet(path)


def rows(random: np.random.Generator, yes: np.ndarray, shift: float) -> pl.DataFrame:
    n_rows = len(yes)
    start = np.datetime64("2024-01-01")
    return pl.DataFrame(
        {
            "age": (40 + 8 * random.normal(size=n_rows) + 14 * yes + shift).round(1),
            "income": (30 + 6 * random.normal(size=n_rows) + 8 * yes).round(2),
            "town": TOWNS[np.clip(random.integers(0, 3, n_rows) - yes, 0, 2)],
            "moved": start + random.integers(0, 700, n_rows).astype("timedelta64[D]"),
            "member": random.random(n_rows) < 0.3 + 0.4 * yes,
        }
    ).with_columns(
        income=pl.when(pl.int_range(pl.len()) % 11 == 3).then(None).otherwise("income"),
        town=pl.when(pl.int_range(pl.len()) % 13 == 5).then(None).otherwise("town"),
    )


@pytest.fixture
def election(tmp_path: Path) -> Election:
    """Eight precincts of six people, and sixty people of the last survey."""
    random = np.random.default_rng(7)
    chance = np.repeat(np.linspace(0.05, 0.95, N_BAGS), BAG_SIZE)
    yes = (random.random(N_BAGS * BAG_SIZE) < chance).astype(int)
    then = random.integers(0, 2, N_HISTORY)
    precincts = np.repeat([f"{number:03d}" for number in range(1, N_BAGS + 1)], BAG_SIZE)
    files = Election(tmp_path)
    rows(random, yes, 5.0).with_columns(
        person=pl.format("p{}", pl.int_range(pl.len())),
        precinct=pl.Series(precincts),
        truth=pl.Series(np.array(["no", "yes"])[yes]),
    ).write_csv(files.people)
    shares = yes.reshape(N_BAGS, BAG_SIZE).mean(axis=1)
    pl.DataFrame(
        {
            "precinct": precincts[::BAG_SIZE],
            "yes_share": shares,
            "yes_votes": yes.reshape(N_BAGS, BAG_SIZE).sum(axis=1),
            "voters": np.full(N_BAGS, 100),
        }
    ).write_csv(files.results)
    rows(random, then, 0.0).with_columns(
        voted=pl.Series(np.array(["no", "yes"])[then])
    ).write_parquet(files.history)
    return files


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow computer must not add lines to what is compared."""
    monkeypatch.setattr("bagshift.cli._files.PATIENCE", 600.0)


@pytest.fixture
def command() -> Callable[..., Outcome]:
    """Run the command line in this process."""
    return run_command
