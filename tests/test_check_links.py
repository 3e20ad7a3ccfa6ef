# SPDX-License-Identifier: BSD-3-Clause
"""The check of links inside the documentation."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "check_links.py"


def run(folder):
    command = [sys.executable, str(SCRIPT), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_broken_links_are_named(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#there">b</a><a href="#top">up</a>'
        '<a href="https://example.org/gone.html">out</a><img src="no.png">'
        '<a href="b.html#no">b</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there">B</p>')
    found = run(tmp_path)
    assert found.returncode == 1
    assert found.stdout.splitlines() == [
        "a.html: no.png is not there",
        "a.html: b.html#no leads to no place on that page",
    ]


def test_sound_links_and_no_pages(tmp_path):
    assert run(tmp_path).returncode == 1
    (tmp_path / "a.html").write_text('<p id="x y"><a href="a.html#x%20y">here</a></p>')
    assert run(tmp_path).returncode == 0
