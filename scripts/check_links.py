# SPDX-License-Identifier: BSD-3-Clause
"""Check the links inside the built documentation: every page, place and picture must be there.

Takes the folder of pages; links to other sites are not followed.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Folders of what is no page of ours: parts of the theme; and sources, which Sphinx links back to a
# name's own module also where the name is documented under the one that exports it.
LEFT_OUT = {"_static", "_modules"}


class Page(HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what matters of one element."""
        values = dict(attrs)
        for name in ("id", "name") if tag == "a" else ("id",):
            if place := values.get(name):
                self.places.add(place)
        if link := values.get("src" if tag in ("img", "script") else "href"):
            self.links.append(link)


def complaints(folder: Path) -> list[str]:
    """Return what is wrong with the links of all pages below a folder.

    Parameters
    ----------
    folder : Path
        Where the documentation was built.

    Returns
    -------
    list of str
        One sentence for each broken link.
    """
    folder = folder.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    found = []
    for path, page in sorted(pages.items()):
        if path.relative_to(folder).parts[0] in LEFT_OUT:
            continue
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            name = path.relative_to(folder)
            if not goal.exists():
                found.append(f"{name}: {link} is not there")
            elif goal in pages and unquote(parts.fragment) not in {"", *pages[goal].places}:
                found.append(f"{name}: {link} leads to no place on that page")
    return found


def main() -> int:
    """Print complaints; return 1 if there were any."""
    folder = Path(sys.argv[1])
    if not any(folder.rglob("*.html")):
        print(f"{folder} holds no pages")
        return 1
    troubles = complaints(folder)
    print("\n".join(troubles), end="\n" if troubles else "")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
