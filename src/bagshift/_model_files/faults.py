# SPDX-License-Identifier: BSD-3-Clause
"""The reason why a model is not saved, or a file not read."""

from __future__ import annotations


class Fault(Exception):
    """A reason in words that go after "cannot be saved:" and "was refused:"."""


def first_line(error: BaseException) -> str:
    """Return the start of a message that another package wrote, without its full stop."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
