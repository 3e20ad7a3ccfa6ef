# SPDX-License-Identifier: BSD-3-Clause
"""What the guide to the count-likelihood machine shows works as it is printed there."""

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "count_likelihood.md"


def test_examples_of_the_guide() -> None:
    text = PAGE.read_text(encoding="utf-8")
    # In place, so that a failure names the line of the page; a fence would count as output.
    blocks = re.sub(r"^```.*$", "", text, flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(blocks, {}, PAGE.name, str(PAGE), 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    found = runner.run(test, out=report.append)
    assert found.failed == 0, "".join(report)
    assert found.attempted == text.count("\n>>> ") > 30
