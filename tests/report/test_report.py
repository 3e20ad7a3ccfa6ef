# SPDX-License-Identifier: BSD-3-Clause
"""What a report says, that it needs nothing else, and that it holds nothing of single rows."""

import base64
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from markupsafe import escape

from bagshift import (
    TGPLM,
    BagError,
    Bags,
    BagWarning,
    CountLikelihoodClassifier,
    CountLikelihoodCV,
    ProportionSVM,
)
from bagshift.inspection import estimate_accuracy, transfer_report
from bagshift.report import make_report
from bagshift.report.sections import Table
from report.conftest import FORMULA, SCRIPT

NAMES = [
    *("read", "shares", "bags", "domains", "history", "accuracy", "calibration", "privacy"),
    "citing",
]


class Elements(HTMLParser):
    """All elements with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def of(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def downloads(page):
    links = [link for link in Elements(page.html).of("a") if "download" in link]
    return {
        link["download"]: base64.b64decode(link["href"].split("base64,")[1]).decode()
        for link in links
    }


def text_of(section):
    facts = [word for fact in section.facts for word in fact]
    return " ".join([*section.paragraphs, *facts])


def test_sections_and_their_order(page):
    assert [section.name for section in page.sections] == NAMES
    found = Elements(page.html)
    assert [h["id"] for h in found.of("h2") if h["id"] != "warnings"] == NAMES
    assert len(found.of("h1")) == 1
    places = [link["href"] for link in found.of("a") if link["href"].startswith("#")]
    assert places == ["#content", *(f"#{name}" for name in NAMES)]
    ids = [attributes["id"] for _, attributes in found.found if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_numbers_are_those_of_the_reports(case, page):
    model, X, bags, source = case
    accuracy = estimate_accuracy(model, X, bags, source)
    transfer = transfer_report(model, X, bags, source)
    by_name = {section.name: section for section in page.sections}
    assert f"{accuracy.accuracy.estimate:.1%}" in text_of(by_name["accuracy"])
    assert transfer.verdict in text_of(by_name["history"])
    shares = by_name["shares"].tables[0].frame
    expected = bags.bag_means(model.predict_proba(X)[:, 1])
    at = {str(name): place for place, name in enumerate(bags.ids)}
    for row in shares.iter_rows(named=True):
        assert row["predicted share"] == pytest.approx(expected[at[row["bag"]]])
    assert shares["error"].abs().is_sorted(descending=True)


def test_shares_have_intervals_where_they_do_not_take_long(case, page):
    model, X, bags, _ = case
    chart = next(section for section in page.sections if section.name == "shares").charts[0]
    assert "95 % intervals by the bootstrap" in chart.caption
    assert (chart.data["from"] <= chart.data["to"]).all()
    found = make_report(model, X, bags, n_replicates=0)
    shares = next(section for section in found.sections if section.name == "shares")
    assert "from" not in shares.charts[0].data.columns
    assert "intervals" not in shares.charts[0].caption


def test_searches_are_not_repeated_for_intervals(case):
    from bagshift.report import report

    _, X, bags, source = case
    searched = CountLikelihoodCV(cv=2).fit(X, bags, source=source)
    assert report._intervals(searched, X, bags, source, 50, 0, None) is None


def test_page_needs_nothing_else(page):
    found = Elements(page.html)
    for _, attributes in found.found:
        for name in ("src", "href", "xlink:href"):
            link = attributes.get(name) or "#"
            assert link.startswith(("#", "data:text/csv")), link
    assert not found.of("script")
    assert not found.of("link")
    assert "url(http" not in page.html


def test_ugly_names_are_text(page):
    assert SCRIPT not in page.html
    assert str(escape(SCRIPT)) in page.html
    cells = [text for name, text in downloads(page).items() if name in ("shares.csv",)]
    assert f"'{FORMULA}," in cells[0]
    assert f"\n{FORMULA}," not in cells[0]


def test_every_picture_says_what_it_shows(page):
    pictures = [div for div in Elements(page.html).of("div") if div.get("role") == "img"]
    n_charts = sum(len(section.charts) for section in page.sections)
    assert len(pictures) == n_charts == 5
    assert all(len(picture["aria-label"]) > 20 for picture in pictures)
    assert page.html.count("<svg ") == n_charts
    assert all(text.count("\n") > 1 for text in downloads(page).values())


def test_pictures_follow_the_ink_of_the_page(page):
    for section in page.sections:
        for chart in section.charts:
            assert "var(--ink)" in chart.svg
            assert not re.search(r"#(000000|262626|2166ac)", chart.svg)


def test_no_single_row_is_in_the_page(case, page):
    model, X, _, _ = case
    scores = model.decision_function(X)
    held = page.html + "".join(downloads(page).values())
    assert not [score for score in scores if f"{score:.5f}" in held]
    rows = next(section for section in page.sections if section.name == "domains").charts[0].data
    assert rows["rows"].min() >= 3


def test_bags_of_one_row_are_single_rows(case):
    model, X, bags, _ = case
    first = np.arange(len(bags)) < 2
    names = np.where(first, [f"alone {row}" for row in range(len(bags))], "")
    names[~first] = [f"bag {place // 10}" for place in range((~first).sum())]
    shares = {name: 1.0 if name == "alone 0" else 0.0 for name in names[first]}
    shares |= dict.fromkeys(set(names[~first]), 0.5)
    mixed = Bags.from_arrays(names, shares)
    found = make_report(model, X, mixed, n_replicates=4)
    section = next(section for section in found.sections if section.name == "shares")
    assert "2 bags of one row" in text_of(section)
    assert section.charts[0].data.height == len(shares) - 2
    assert not any("alone" in text for text in downloads(found).values())
    assert "alone" not in "".join(section.tables[0].frame["bag"])


def test_nothing_but_single_rows_is_not_drawn(case):
    model, X, _, _ = case
    labels = model.predict(X)
    alone = Bags.from_arrays(np.arange(len(X)), dict(enumerate(labels.astype(float))))
    found = make_report(model, X, alone, n_replicates=0)
    section = next(section for section in found.sections if section.name == "shares")
    assert not section.charts
    assert not section.tables
    assert "112 bags of one row" in text_of(section)
    assert "shares.csv" not in downloads(found)


def test_cells_do_not_begin_at_the_outermost_rows(case, page):
    model, X, _, _ = case
    data = next(section for section in page.sections if section.name == "domains").charts[0].data
    target = data.filter(pl.col("domain") == "target")
    scores = model.decision_function(X)
    assert not np.isclose(target["horizontal"].to_numpy()[:, None], scores).any()


def test_columns_are_named_as_they_are(case):
    _, X, bags, _ = case
    frame = pd.DataFrame(X[:, 20:22], columns=["$_$ <b>", "$x^2$"])
    model = CountLikelihoodClassifier(kernel="linear").fit(frame, bags)
    found = make_report(model, frame, bags, n_replicates=0)
    assert "$_$ &lt;b&gt;" in found.html
    assert "$x^2$" in found.html


def test_rows_are_there_when_they_are_asked_for(case):
    model, X, bags, _ = case
    rows = Table("Predictions", pl.DataFrame({"row": [1, 2], "label": ["a", "b"]}), "rows")
    found = make_report(model, X, bags, rows=rows, n_replicates=0)
    assert found.sections[-2].name == "rows"
    assert "holds data of single rows" in found.html


def test_same_seed_same_page(case, page):
    model, X, bags, source = case
    again = make_report(model, X, bags, source=source, title=f"Report {SCRIPT}", n_replicates=4)
    assert again.html == page.html


def test_saved_and_shown_in_a_notebook(page, tmp_path):
    page.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page.html
    assert list(tmp_path.iterdir()) == [tmp_path / "report.html"]
    frame = Elements(page._repr_html_()).of("iframe")[0]
    assert frame["srcdoc"] == page.html


def test_warnings_of_all_parts_stand_first(page):
    assert any("not differential privacy" in warning for warning in page.warnings)
    assert page.html.index("Before you use it") < page.html.index('id="read"')
    assert len(set(page.warnings)) == len(page.warnings)
    assert all(warning[0].isupper() and warning[-1] in ".!?" for warning in page.warnings)


@pytest.mark.parametrize("machine", [TGPLM(), ProportionSVM()])
def test_other_machines(case, machine):
    _, X, bags, source = case
    coupled = isinstance(machine, TGPLM)
    given = {"source": source} if coupled else {}
    found = make_report(machine.fit(X, bags, **given), X, bags, n_replicates=0, **given)
    names = [section.name for section in found.sections]
    assert ("history" in names) == coupled
    assert "accuracy" in names


def test_many_bags_are_judged_on_a_part_of_them(monkeypatch, case):
    from bagshift.report import report

    model, X, bags, _ = case
    monkeypatch.setattr(report, "MOST_ROWS_REFITTED", 60)
    found = make_report(model, X, bags, n_replicates=0)
    accuracy = next(section for section in found.sections if section.name == "accuracy")
    assert "fitted again on parts of 7 bags, drawn from the 14" in text_of(accuracy)


def test_too_few_bags_to_judge_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    bags = Bags.from_arrays(["a"] * 12, {"a": 0.5})
    source = X, (X[:, 0] > 0).astype(int)
    with pytest.warns(BagWarning, match="one bag only"):
        machine = CountLikelihoodClassifier(kernel="linear").fit(X, bags, source=source)
    found = make_report(machine, X, bags, source=source)
    accuracy = next(section for section in found.sections if section.name == "accuracy")
    assert "could not be estimated: there is one bag only" in accuracy.paragraphs[0]
    assert "could not be estimated" in found.warnings[0]
    with pytest.raises(BagError, match="nothing to report on"):
        make_report(machine, X, Bags.unlabelled(12))
