# SPDX-License-Identifier: BSD-3-Clause
"""A table of all methods and of what each one uses, made when a page is built.

The body of the directive puts the classes in order, one family a line::

    ```{method-table}
    Bags alone: MeanMap LaplacianMeanMap
    ```

A public classifier that no line names is an error, and so is a name that is none. What a method
uses is read off its tags, see :mod:`method_answers`.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from method_answers import COLUMNS, columns_to_show, public_methods, read_families, rows_of
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def link_to(name: str, page: str) -> nodes.paragraph:
    """Return a link to the page of a class; a warning where the class has none."""
    link = addnodes.pending_xref(
        "",
        nodes.literal("", name),
        refdomain="py",
        reftype="class",
        reftarget=f"bagshift.{name}",
        refexplicit=True,
        refwarn=True,
        refdoc=page,
    )
    return nodes.paragraph("", "", link)


def row_of(*cells: nodes.paragraph | str, columns: int = 1) -> nodes.row:
    """Return a row of texts and paragraphs, of which each spans a number of columns."""
    row = nodes.row()
    for cell in cells:
        paragraph = nodes.paragraph("", cell) if isinstance(cell, str) else cell
        row += nodes.entry("", paragraph, **({"morecols": columns - 1} if columns > 1 else {}))
    return row


def table_of(families: dict[str, list[str]], page: str) -> list[nodes.Node]:
    """Return the table, and a paragraph on what all methods have in common.

    Parameters
    ----------
    families : dict of str to list of str
        Names of classes in the order wished.
    page : str
        Document that the table is for.

    Returns
    -------
    list of Node
    """
    methods = public_methods()
    rows = {name: rows_of(methods[name]) for names in families.values() for name in names}
    every = [answers for of_method in rows.values() for answers in of_method.values()]
    shown, sentences = columns_to_show(every)
    width = 1 + len(shown)
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in range(width)), cols=width)
    group += nodes.thead("", row_of("", *(COLUMNS[i].heading for i in shown)))
    body = nodes.tbody()
    for family, names in families.items():
        title = nodes.paragraph("", "", nodes.strong("", family))
        body += row_of(title, columns=width)
        for name in names:
            for setting, answers in rows[name].items():
                first = setting_text(setting) if setting else link_to(name, page)
                body += row_of(first, *(answers[i] for i in shown))
    group += body
    table = nodes.table("", group, classes=["method-table"])
    return [table, *([nodes.paragraph("", " ".join(sentences))] if sentences else [])]


def setting_text(setting: str) -> nodes.paragraph:
    """Return what stands before the answers of a method in a setting."""
    return nodes.paragraph("", "", nodes.literal("", setting), classes=["setting"])


class MethodTable(SphinxDirective):
    """The table of methods."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the nodes that stand in the place of the directive."""
        try:
            families = read_families(list(self.content), list(public_methods()))
        except ValueError as error:
            raise self.error(f"method-table: {error}") from error
        # The tags may have changed where the page has not.
        self.env.note_reread()
        return table_of(families, self.env.docname)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive under the name ``method-table``."""
    app.add_directive("method-table", MethodTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
