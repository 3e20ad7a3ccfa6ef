# SPDX-License-Identifier: BSD-3-Clause
"""From exceptions to one sentence on the error stream and an exit code.

0 is done, 1 is data that cannot be used (explained), 2 is a command that was not understood,
130 is an interrupt.
"""

from __future__ import annotations

import functools
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import ParamSpec

import typer

P = ParamSpec("P")
INTERRUPTED = 130
EXPERIMENT_PACKAGES = ("scikit_posthocs", "tabulate")
# Options in place of the arguments of the Python interface, in errors and warnings.
OPTIONS = (
    ("Bags.from_arrays(..., positive=)", "--positive"),
    ('on_unmatched="drop"', "--on-unmatched drop"),
    ("pass counts=", "give --count-column"),
    ("noise=Rounding(digits=) with", "--noise rounding:digits= with"),
    ("the law in noise=", "the law of --noise"),
    ("sizes=", "sizes with --size-column"),
    ("n_jobs=", "--jobs"),
)
# Warnings whose advice is for Python only, in words for the command line.
OWN_WORDS = {
    "SourceScaleWarning": "the columns of history and target are on different scales (other "
    "units?); compare the two files before you trust the result.",
    "ReversedScoresWarning": "the shares fit this model and its mirror image about equally well, "
    "so the two classes may be swapped; give labelled history with --source, or bags whose "
    "shares differ more.",
    "ConvergenceWarning": "the solver stopped before it was done, so the model is not the best "
    "one of its settings; lower --c-source and --c-target.",
}


def explained(command: Callable[P, None]) -> Callable[P, None]:
    """Let a command end with a sentence in place of a traceback, unless ``--debug`` asks for it.

    Parameters
    ----------
    command : callable
        A command with a parameter ``debug``.

    Returns
    -------
    callable
    """

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        debug = bool(kwargs.get("debug"))
        try:
            with _notes_for_warnings(debug):
                command(*args, **kwargs)
        except KeyboardInterrupt:
            say_error("Interrupted; nothing was written.")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if debug or _is_typers(error):
                raise
            say_error(_sentence(error))
            raise typer.Exit(1) from None

    return wrapped


def require_experiments() -> None:
    """Say now, and not after hours of work, which packages experiments need.

    Raises
    ------
    typer.Exit
        When one of them is not installed.
    """
    if any(find_spec(package) is None for package in EXPERIMENT_PACKAGES):
        say_error("Experiments need more packages: pip install 'bagshift[experiments]'")
        raise typer.Exit(1)


def say_error(sentence: str) -> None:
    """Print a line on the error stream.

    Parameters
    ----------
    sentence : str
        What to say; control characters of names in it are written out.
    """
    from bagshift.cli._screen import printable

    typer.echo(printable(sentence), err=True)


@contextmanager
def ended_like_interrupted() -> Iterator[None]:
    """Take the signal to end (SIGTERM) for an interrupt, within the block.

    Yields
    ------
    None
    """

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def in_options(text: str) -> str:
    """Name options in place of the arguments of the Python interface.

    Parameters
    ----------
    text : str
        A message of the library.

    Returns
    -------
    str
    """
    for argument, option in OPTIONS:
        text = text.replace(argument, option)
    return text


def _is_typers(error: Exception) -> bool:
    return type(error).__module__.partition(".")[0] in ("typer", "click")


def _sentence(error: Exception) -> str:
    from concurrent.futures.process import BrokenProcessPool

    from bagshift.cli import INSTALL_LINE
    from bagshift.exceptions import BagError, KernelMemoryError, ModelFileError, TableError

    in_own_words = BagError | TableError | ModelFileError | KernelMemoryError | BrokenProcessPool
    if isinstance(error, in_own_words):
        return f"Error: {in_options(str(error))}"
    if isinstance(error, ModuleNotFoundError):
        return INSTALL_LINE
    reason = " ".join(str(error).split()) or "no reason given"
    if isinstance(error, MemoryError):
        return f"Error: There is not enough memory ({reason}); take fewer rows."
    return (
        f"Error: {type(error).__name__}: {reason} (this should not happen; --debug shows where, "
        "and a report is welcome)"
    )


@contextmanager
def _notes_for_warnings(debug: bool) -> Iterator[None]:
    """Collect warnings and say those that concern a user, each once, as a line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default" if debug else "always")
        try:
            yield
        finally:
            for note in dict.fromkeys(filter(None, (_note(w, debug) for w in caught))):
                print(note, file=sys.stderr)


def _note(warning: warnings.WarningMessage, debug: bool) -> str | None:
    kinds = {kind.__name__ for kind in warning.category.__mro__}
    text = " ".join(str(warning.message).split())
    if debug:
        return f"Warning: {warning.category.__name__}: {text}"
    for kind, own_words in OWN_WORDS.items():
        if kind in kinds:
            return f"Warning: {own_words}"
    if kinds & {"PositiveClassWarning", "RoundedShareWarning"}:
        return f"Warning: {in_options(text)}"
    if "unknown categories" in text:
        return "Note: some categories were never seen at the fit; they count as none."
    return None
