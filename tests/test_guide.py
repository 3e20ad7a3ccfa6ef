# SPDX-License-Identifier: BSD-3-Clause
"""What pages of the guide show works as it is printed there."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.mark.parametrize(
    ("name", "at_least"),
    [("count_likelihood.md", 31), ("choosing.md", 3), ("trust.md", 14), ("more_classes.md", 8)],
)
def test_examples_of_the_guide(name: str, at_least: int) -> None:
    page = DOCS / name
    text = page.read_text(encoding="utf-8")
    # In place, so that a failure names the line of the page; a fence would count as output.
    blocks = re.sub(r"^```.*$", "", text, flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(blocks, {}, page.name, str(page), 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    found = runner.run(test, out=report.append)
    assert found.failed == 0, "".join(report)
    assert found.attempted == text.count("\n>>> ") >= at_least
