# SPDX-License-Identifier: BSD-3-Clause
"""Formulas as MathML, written into the page when it is built.

Browsers draw MathML themselves, so pages need neither a script from the network nor TeX. The
translation from LaTeX is docutils' own; a formula it does not know is a warning, hence an error.
"""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)


# TeX takes one digit where docutils takes a whole number: without braces, \frac12 would
# become twelve over whatever follows.
ARGUMENT_DIGIT = re.compile(r"(\\[dt]?frac)\s*(\d)\s*(\d)?")


def spell_out(formula: str) -> str:
    """Return a formula without the shorthands of TeX that docutils reads differently.

    Parameters
    ----------
    formula : str
        LaTeX.

    Returns
    -------
    str
        LaTeX that means the same in TeX.
    """

    def braced(match: re.Match[str]) -> str:
        command, *digits = match.groups(default="")
        return command + "".join(f"{{{digit}}}" for digit in digits if digit)

    return ARGUMENT_DIGIT.sub(braced, formula).replace(r"\dots", r"\ldots")


def translate(node: nodes.Element, *, as_block: bool) -> str:
    """Return a formula node as MathML, or as its LaTeX text after a warning."""
    formula = spell_out(node.astext().strip())
    if as_block and "\\\\" in formula and "\\begin" not in formula:
        formula = rf"\begin{{aligned}}{formula}\end{{aligned}}"
    try:
        return tex2mathml(formula, as_block=as_block)
    except (MathError, SyntaxError, ValueError) as error:
        logger.warning("formula not understood: %s: %s", error, formula, location=node)
        return f"<code>{formula}</code>"


def visit_inline(self: HTML5Translator, node: nodes.Element) -> None:
    """Write a formula inside a line."""
    self.body.append(translate(node, as_block=False))
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.Element) -> None:
    """Write a formula that stands alone."""
    self.body.append(f'<div class="math-block">{translate(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(visit_inline, None),
        block_renderers=(visit_block, None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
