# SPDX-License-Identifier: BSD-3-Clause
"""Pictures as elements of a page, in its own ink, so that they follow light and dark."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from io import StringIO
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bagshift.plotting._style import BLUE, GREY, INK, LIGHT, ORANGE

__all__ = ["draw"]

# Variables of the page's style sheet that stand for colours of pictures.
_INKS = {
    "#000000": "var(--ink)",
    INK: "var(--ink)",
    GREY: "var(--quiet)",
    LIGHT: "var(--line)",
    BLUE: "var(--blue)",
    ORANGE: "var(--orange)",
}
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "bagshift",  # the same page for the same numbers
    "font.family": "sans-serif",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


def draw(plot: Callable[[Axes], object], size: tuple[float, float]) -> str:
    """Draw into new axes and return the picture as an element of a page.

    Parameters
    ----------
    plot : callable
        Draws into axes that it is given.
    size : tuple of float
        Width and height in inches.

    Returns
    -------
    str
    """
    with rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        plot(figure.subplots())
        stream = StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for colour, ink in _INKS.items():
        svg = svg.replace(colour, ink)
    # Text without a colour of its own is black.
    svg = svg.replace("<svg ", '<svg style="fill: var(--ink)" aria-hidden="true" ', 1)
    return _with_own_names(svg)


def _with_own_names(svg: str) -> str:
    """Give the names of parts of a picture a beginning that no other picture of a page has."""
    own = sha256(svg.encode()).hexdigest()[:8]
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>p{own}-", svg)
