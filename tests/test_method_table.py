# SPDX-License-Identifier: BSD-3-Clause
"""The table of methods in the documentation: a row for each of them, with what its tags say."""

import re
from pathlib import Path

import pytest
from method_answers import (
    COLUMNS,
    NEEDS,
    NO,
    USES,
    columns_to_show,
    public_methods,
    read_families,
    rows_of,
    settings_that_matter,
)

import bagshift
from bagshift import TSVM, CountLikelihoodCV, TrueLabelSVM

DOCS = Path(__file__).resolve().parents[1] / "docs"
GUIDE = (DOCS / "choosing.md").read_text(encoding="utf-8")
TABLE = re.search(r"```\{method-table\}\n(.*?)```", GUIDE, re.DOTALL)[1].splitlines()
HEADINGS = [column.heading for column in COLUMNS]


def answers(method, setting=""):
    return dict(zip(HEADINGS, rows_of(method)[setting], strict=True))


def test_public_methods_are_the_classifiers_that_learn():
    names = set(public_methods())
    assert {"TGPLM", "CountLikelihoodCV", "TrueLabelSVM"} < names < set(bagshift.__all__)
    assert not {"SigmoidCalibrator", "Bags", "BagKFold"} & names


def test_the_guide_has_a_row_for_every_method():
    families = read_families(TABLE, list(public_methods()))
    assert len(families) == 4


@pytest.mark.parametrize("name", public_methods())
def test_the_guide_says_when_to_take_a_method(name):
    before, _, after = GUIDE.partition("```{method-table}")
    advice = after.partition("## Which of them are reconstructions")[0]
    assert f"{{class}}`~bagshift.{name}`" in advice, "say in docs/choosing.md when to take it"
    assert f"   {name}\n" in (DOCS / "api.md").read_text(encoding="utf-8")
    assert before.startswith("# Which method?")


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["One: A B"], "not in the table: C"),
        (["One: A B", "Two: C D"], "no public classifiers: D"),
        (["One: A B", "", "Two: B C"], "there twice: B"),
        (["A B C"], "is not 'Family: Name Name'"),
        (["One:"], "is not 'Family: Name Name'"),
        (["One: A", "One: B C"], "with each family once"),
    ],
)
def test_families_that_do_not_fit_are_refused(lines, says):
    with pytest.raises(ValueError, match=says):
        read_families(lines, ["A", "B", "C"])


def test_families_keep_their_order():
    given = ["Two: C", "", "One : B A"]
    assert read_families(given, ["A", "B", "C"]) == {"Two": ["C"], "One": ["B", "A"]}


def test_answers_are_what_tags_say():
    assert list(answers(CountLikelihoodCV).values()) == [USES, USES, NO, USES, "yes", "yes"]
    assert list(answers(TrueLabelSVM).values()) == [NO, NO, NO, NEEDS, NO, "yes"]


def test_settings_with_another_answer_are_found():
    assert settings_that_matter(TSVM) == {'fraction="target"': {"fraction": "target"}}
    usual, other = answers(TSVM), answers(TSVM, 'fraction="target"')
    assert usual["labelled source"] == other["labelled source"] == NEEDS
    assert (usual["shares of bags"], other["shares of bags"]) == (NO, USES)
    found = {text for method in public_methods().values() for text in settings_that_matter(method)}
    # One of each kind: words, yes or no, and a number in place of None.
    assert {'start="source"', "probability=True", "target_prior=..."} <= found


def test_a_column_in_which_all_are_alike_becomes_a_sentence():
    same = ["yes"] * len(COLUMNS)
    last = len(COLUMNS) - 1
    shown, sentences = columns_to_show([same, same])
    assert last not in shown
    assert sentences == [COLUMNS[last].alike]
    shown, sentences = columns_to_show([same, [*same[:last], NO]])
    assert shown == list(range(len(COLUMNS)))
    assert sentences == []


def test_nodes_of_the_table():
    pytest.importorskip("sphinx", reason="the documentation is built with Sphinx")
    from docutils import nodes
    from method_table import table_of
    from sphinx.addnodes import pending_xref

    table, note = table_of({"First": ["TSVM"], "Last": ["TGPLM", "TrueLabelSVM"]}, "choosing")
    links = list(table.findall(pending_xref))
    targets = [link["reftarget"] for link in links]
    assert targets == ["bagshift.TSVM", "bagshift.TGPLM", "bagshift.TrueLabelSVM"]
    assert all(link["refwarn"] for link in links), "a class without a page is an error"
    rows = [[entry.astext() for entry in row] for row in table.findall(nodes.row)]
    width = len(HEADINGS)  # the name and all columns but the last
    assert rows[0] == ["", *HEADINGS[:-1]]
    assert [len(row) for row in rows] == [width, 1, width, width, 1, width, width]
    assert [rows[1], rows[4]] == [["First"], ["Last"]]
    assert rows[2][:3] == ["TSVM", NEEDS, NO]
    assert rows[3][:3] == ['fraction="target"', NEEDS, USES]
    assert note.astext() == COLUMNS[-1].alike
