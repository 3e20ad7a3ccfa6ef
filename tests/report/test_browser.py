# SPDX-License-Identifier: BSD-3-Clause
"""The report in a browser: Chromium of the system, driven by Playwright.

Pictures of what was seen go to the folder that BAGSHIFT_SCREENSHOTS names. The accessibility check
needs the script of axe-core (npm), which BAGSHIFT_AXE names.
"""

import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from bagshift import Bags, CountLikelihoodClassifier
from bagshift.report import make_report

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
LOOKS = {
    "wide": {"viewport": {"width": 1100, "height": 900}},
    "phone": {"viewport": {"width": 400, "height": 800}},
    "dark": {"viewport": {"width": 1100, "height": 900}, "color_scheme": "dark"},
}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def address(page, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    page.save(path)
    return path.as_uri()


@pytest.mark.parametrize("look", LOOKS)
def test_opens_without_complaint_or_request(browser, address, page, look):
    context = browser.new_context(**LOOKS[look])
    tab = context.new_page()
    complaints, requests = [], []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(address)
    assert complaints == []
    assert requests == [address]
    assert tab.title() == page.title  # a script in an id would have changed it
    pictures = tab.locator("figure svg")
    assert pictures.count() == sum(len(section.charts) for section in page.sections)
    for place in range(pictures.count()):
        box = pictures.nth(place).bounding_box()
        assert box["width"] > 150
        assert box["height"] > 100
    width = tab.evaluate("document.documentElement.scrollWidth")
    assert width <= LOOKS[look]["viewport"]["width"]
    if folder := os.environ.get("BAGSHIFT_SCREENSHOTS"):
        tab.screenshot(path=Path(folder) / f"report-{look}.png", full_page=True)
    context.close()


def test_prints(browser, address, tmp_path):
    tab = browser.new_page()
    tab.goto(address)
    tab.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    tab.emulate_media(media="print")
    assert not tab.locator("nav").is_visible()
    tab.close()


def test_keyboard_goes_through_the_page(browser, address):
    tab = browser.new_page()
    tab.goto(address)
    tab.keyboard.press("Tab")
    skip = tab.locator("a.skip")
    assert skip.evaluate("element => element === document.activeElement")
    assert skip.bounding_box()["x"] >= 0
    tab.keyboard.press("Enter")
    assert tab.url.endswith("#content")
    tab.keyboard.press("Tab")
    style = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert style == "solid"
    tab.close()


def test_downloads_hold_the_numbers(browser, address):
    tab = browser.new_page()
    tab.goto(address)
    with tab.expect_download() as started:
        tab.locator("a[download='shares.csv']").click()
    text = Path(started.value.path()).read_text(encoding="utf-8")
    assert text.startswith("bag,rows,given share,predicted share,error,from,to\n")
    tab.close()


@pytest.mark.skipif("BAGSHIFT_AXE" not in os.environ, reason="BAGSHIFT_AXE names no axe.min.js")
@pytest.mark.parametrize("look", LOOKS)
def test_accessible(browser, address, look):
    context = browser.new_context(bypass_csp=True, **LOOKS[look])
    tab = context.new_page()
    tab.goto(address)
    tab.add_script_tag(path=os.environ["BAGSHIFT_AXE"])
    found = tab.evaluate("axe.run()")["violations"]
    assert [(rule["impact"], rule["id"]) for rule in found] == []
    context.close()


def test_long_ids_leave_room_for_their_numbers(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2))
    names = np.repeat(np.array(["x" * 300, "b", "c", "d"], dtype=object), 6)
    bags = Bags.from_arrays(names, dict.fromkeys(names, 0.5))
    model = CountLikelihoodClassifier(kernel="linear")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = make_report(model.fit(X, bags), X, bags, n_replicates=0)
    found.save(tmp_path / "long.html")
    tab = browser.new_page(viewport={"width": 400, "height": 800})
    tab.goto((tmp_path / "long.html").as_uri())
    heads = tab.locator("section[aria-labelledby=shares] tbody th")
    assert max(heads.nth(place).bounding_box()["width"] for place in range(4)) < 200
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    tab.close()
