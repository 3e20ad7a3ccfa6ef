# SPDX-License-Identifier: BSD-3-Clause
"""What commands print: facts in two columns, small tables, a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

FACT_WIDTH, WIDEST_FACT = 18, 32


class Screen:
    """Prints for a reader, or nothing when quiet.

    Parameters
    ----------
    quiet : bool
        Print nothing.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._console = Console(quiet=quiet, markup=False, highlight=False, emoji=False)
        self.quiet = quiet

    def say(self, text: str = "") -> None:
        """Print a paragraph, wrapped to the terminal."""
        self._console.print(printable(text))

    def command(self, line: str) -> None:
        """Print a line to be copied: it is not wrapped."""
        self._console.print(printable(line), style="bold", soft_wrap=True)

    def item(self, kind: str, text: str) -> None:
        """Print one entry of a list, its kind in front."""
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=8, no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(Text(f"{kind}:", style="bold"), Text(printable(text)))
        self._print_trimmed(grid)

    def heading(self, text: str) -> None:
        """Print the title of what follows."""
        self._console.print(Text(printable(text), style="bold"))

    def facts(self, facts: Sequence[tuple[str, str]]) -> None:
        """Print names and values in two columns."""
        grid = Table.grid(padding=(0, 2))
        width = max([FACT_WIDTH, *(len(printable(name)) + 2 for name, _ in facts)])
        grid.add_column(width=min(width, WIDEST_FACT), no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in facts:
            grid.add_row(Text(f"  {printable(name)}"), Text(printable(value)))
        self._print_trimmed(grid)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table whose first column is text and whose others are numbers."""
        table = Table(box=None, padding=(0, 2), header_style="bold")
        for position, name in enumerate(header):
            table.add_column(
                name, justify="right" if position else "left", no_wrap=True, overflow="ellipsis"
            )
        for row in rows:
            table.add_row(*(Text(printable(cell)) for cell in row))
        self._print_trimmed(table)

    def _print_trimmed(self, table: Table) -> None:
        """Print a table without the blanks that fill its lines to the width of the terminal."""
        lines = Text()
        for line in self._console.render_lines(table, pad=False):
            written = Text.assemble(*((part.text, part.style or "") for part in line))
            written.rstrip()
            lines.append_text(written).append("\n")
        self._console.print(lines, end="", soft_wrap=True)

    @contextmanager
    def progress(self, task: str, unit: str = "") -> Iterator[Callable[[int, int], None]]:
        """Give a callback (done, total) that draws a bar on the error stream.

        With a unit, such as "rows", it also says how many of them there are in a second.
        """
        console = Console(stderr=True)
        speed = [_SpeedColumn(unit)] if unit else []
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
            *speed,
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=self.quiet or not console.is_terminal,
        )
        with bar:
            # Nothing is shown before the number of steps is known.
            number = bar.add_task(task, total=None, visible=False)
            yield lambda done, total: bar.update(number, completed=done, total=total, visible=True)


class _SpeedColumn(ProgressColumn):
    """How many units there are in a second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        number = f"{speed / 1e6:.1f} million" if speed >= 1e6 else f"{speed:,.0f}"
        return Text(f"{number} {self._unit}/s")


def printable(text: str) -> str:
    """Write control characters of ids and labels out, so that they cannot steer the terminal.

    Parameters
    ----------
    text : str
        Anything.

    Returns
    -------
    str
    """
    return "".join(
        char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text
    )
