# SPDX-License-Identifier: BSD-3-Clause
"""Pages say what they were given, in three forms, and nothing in them does harm."""

from __future__ import annotations

import base64
import csv
import io
import math
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from matplotlib.figure import Figure

from bagshift.exceptions import TableError
from bagshift.experiments.pages import (
    Estimate,
    Page,
    PagePicture,
    PageSection,
    PageTable,
    write_page,
)

EVIL = '<script>alert("x")</script> & *a|b*'
HEADER = ["method", "accuracy", "bags", "note"]
ROWS = [
    ["TGPLM", Estimate(0.91234, 0.9, 0.92), 8, "=SUM(A1)"],
    [EVIL, Estimate(math.nan), 32, "-0.5"],
    ["floor", -0.0001, None, "+1 point"],
]
# Elements without an end.
EMPTY = {"meta", "img", "br", "link", "hr"}


def a_page(**changes: object) -> Page:
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([0, 1], [0, 1])
    parts = {
        "name": "league",
        "title": f"A league {EVIL}",
        "introduction": ["- no list", "1. no list either", EVIL],
        "sections": [
            PageSection(
                f"First {EVIL}",
                ["Some words."],
                [PageTable("overview", f"All methods {EVIL}", HEADER, ROWS)],
                [PagePicture("ranks", f"Ranks {EVIL}", figure, f"Two ranks {EVIL}")],
            ),
            PageSection("Second", [":::{note}", "# no heading"]),
        ],
        "provenance": {"command": "bagshift league --draws 10 | less", "machine": EVIL},
    }
    return Page(**(parts | changes))


class Parsed(HTMLParser):
    """Tags with their attributes, text, and whether everything was closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data.strip())

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    written = write_page(a_page(), folder)
    assert [path.name for path in written] == [
        "league.html",
        "league-overview.csv",
        "league-ranks.png",
        "league.md",
    ]
    assert sorted(folder.iterdir()) == sorted(written), "no draft is left"
    return folder


@pytest.fixture(scope="module")
def html(folder: Path) -> Parsed:
    parsed = Parsed((folder / "league.html").read_text(encoding="utf-8"))
    assert parsed.open == []
    return parsed


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_html_is_escaped_and_runs_nothing(html: Parsed) -> None:
    assert not html.of("script")
    assert html.text.count(EVIL) == 3  # paragraph, first column, provenance
    assert f"A league {EVIL}" in html.text
    assert not [key for _, attributes in html.tags for key in attributes if key.startswith("on")]


def test_html_needs_nothing_beside_it(html: Parsed, folder: Path) -> None:
    for _, attributes in html.tags:
        for key in ("src", "href"):
            assert (attributes.get(key) or "#").startswith(("data:", "#"))
    (picture,) = html.of("img")
    data = base64.b64decode((picture["src"] or "").partition("base64,")[2])
    assert data == (folder / "league-ranks.png").read_bytes()
    (link,) = [a for a in html.of("a") if "download" in a]
    assert link["download"] == "league-overview.csv"
    data = base64.b64decode((link["href"] or "").partition("base64,")[2])
    assert data == (folder / "league-overview.csv").read_bytes()


def test_html_can_be_listened_to(html: Parsed) -> None:
    (picture,) = html.of("img")
    assert picture["alt"] == f"Two ranks {EVIL}"
    scopes = [attributes.get("scope") for attributes in html.of("th")]
    assert scopes == ["col"] * 4 + ["row"] * 3 + ["row"] * 2
    names = {a["id"] for _, a in html.tags if "id" in a}
    assert {(a["href"] or "")[1:] for a in html.of("a") if "download" not in a} <= names
    assert {a["aria-labelledby"] for _, a in html.tags if "aria-labelledby" in a} <= names
    assert len(html.of("h1")) == 1


def test_values_as_shown(html: Parsed) -> None:
    for text in ("0.912 [0.900, 0.920]", "8", "=SUM(A1)", "–", "0.000"):
        assert text in html.text
    assert "-0.000" not in html.text


def test_decimals_by_column(tmp_path: Path) -> None:
    table = PageTable("a", "A", ["name", "x", "y"], [["one", 0.123, 4.567]], [0, 2, 1])
    html = write_page(a_page(sections=section(table)), tmp_path)[0]
    assert {"0.12", "4.6"} <= set(Parsed(html.read_text(encoding="utf-8")).text)
    assert "0.12 |" in (tmp_path / "league.md").read_text(encoding="utf-8")


def test_long_tables_are_folded(tmp_path: Path) -> None:
    long = PageTable("long", "Many", ["name", "number"], [[f"{i}", i] for i in range(200)])
    page = a_page(sections=[PageSection("One", tables=[long])])
    parsed = Parsed(write_page(page, tmp_path)[0].read_text(encoding="utf-8"))
    assert len(parsed.of("details")) == 1
    assert "Show 200 rows" in parsed.text


def test_csv_has_all_decimals_and_no_formula(folder: Path) -> None:
    header, *rows = rows_of((folder / "league-overview.csv").read_text(encoding="utf-8"))
    assert header == ["method", "accuracy", "accuracy, low", "accuracy, high", "bags", "note"]
    assert rows == [
        ["TGPLM", "0.91234", "0.9", "0.92", "8", "'=SUM(A1)"],
        [EVIL, "", "", "", "32", "-0.5"],
        ["floor", "-0.0001", "", "", "", "'+1 point"],
    ]


def test_markdown_reads_back_as_what_was_said(folder: Path) -> None:
    text = (folder / "league.md").read_text(encoding="utf-8")
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    kinds = [token.type for token in tokens]
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h1"] + 3 * ["h2"]
    assert not {"bullet_list_open", "ordered_list_open", "html_block", "fence"} & set(kinds)
    inline = [token for token in tokens if token.type == "inline"]
    assert not [c for token in inline for c in token.children or [] if c.type == "html_inline"]
    said = ["".join(c.content for c in token.children or []) for token in inline]
    for words in (f"A league {EVIL}", "- no list", "1. no list either", EVIL, "# no heading"):
        assert words in said
    assert ":::{note}" in said
    assert "bagshift league --draws 10 | less" in said
    first = said.index("TGPLM")
    assert said[first : first + 5] == ["TGPLM", "0.912 [0.900, 0.920]", "8", "=SUM(A1)", EVIL]
    assert "![Two ranks" in text
    assert "](league-ranks.png)" in text
    assert "](league-overview.csv)" in text


def test_nothing_changes_when_written_again(folder: Path, tmp_path: Path) -> None:
    for path in write_page(a_page(), tmp_path):
        assert path.read_bytes() == (folder / path.name).read_bytes()


def test_empty_page(tmp_path: Path) -> None:
    page = Page("empty", "Nothing yet", [], [])
    assert [path.name for path in write_page(page, tmp_path)] == ["empty.html", "empty.md"]
    table = PageTable("none", "No rows", ["name", "number"], [])
    write_page(Page("bare", "No rows", [], [PageSection("One", tables=[table])]), tmp_path)
    assert (tmp_path / "bare-none.csv").read_text() == "name,number\n"


def test_all_is_made_before_anything_is_written(tmp_path: Path) -> None:
    class Broken(Figure):
        def savefig(self, *args: object, **kwargs: object) -> None:
            raise RuntimeError("no picture")

    table = PageTable("overview", "All", HEADER, ROWS)
    picture = PagePicture("ranks", "Ranks", Broken(), "Nothing")
    page = a_page(sections=[PageSection("One", tables=[table], pictures=[picture])])
    with pytest.raises(RuntimeError, match="no picture"):
        write_page(page, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "../up", "a b", ".hidden", "a/b"])
def test_names_that_are_no_file_names(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot name a file"):
        write_page(a_page(name=name), tmp_path)


def section(*tables: PageTable) -> list[PageSection]:
    return [PageSection("One", tables=tables)]


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        (section(*2 * [PageTable("a", "A", ["x"], [])]), "named 'a'"),
        (section(PageTable("a", "A", ["x", "x"], [])), "two columns of one name"),
        (
            section(PageTable("a", "A", ["x", "x, low"], [[Estimate(0.5), 1]])),
            "two columns of one name; one with estimates has two more",
        ),
        (section(PageTable("a", "A", ["x"], [["1", 2]])), "does not fit its header"),
        (section(PageTable("a", "A", ["x"], [], [1, 2])), "decimals of the table"),
    ],
)
def test_tables_that_contradict_themselves(
    sections: list[PageSection], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        write_page(a_page(sections=sections), tmp_path)


def test_what_is_no_text_is_written_as_text(tmp_path: Path) -> None:
    table = PageTable("a", 5, [8, None], [["x", 1]])  # type: ignore[arg-type, list-item]
    page = a_page(
        introduction=[1.5],
        sections=[PageSection(2024, [None], [table])],  # type: ignore[arg-type, list-item]
        provenance={"draws": 10, "folder": tmp_path},
    )
    html = write_page(page, str(tmp_path))[0].read_text(encoding="utf-8")
    markdown = (tmp_path / "league.md").read_text(encoding="utf-8")
    for text in (html, markdown):
        assert all(word in text for word in ("1.5", "2024", "None", "10"))
    assert (tmp_path / "league-a.csv").read_text(encoding="utf-8") == "8,None\nx,1\n"


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="there is no folder"):
        write_page(a_page(), tmp_path / "missing")
