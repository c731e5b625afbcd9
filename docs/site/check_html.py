"""Check the pages of a site: they load nothing from other hosts, and links within it lead somewhere.

    python docs/site/check_html.py FOLDER

Prints the number of pages and links; exits with 1 and a line per mistake.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

LOADED = {
    "script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src",
    "link": "href", "object": "data", "embed": "src",
}  # fmt: skip
"""Attributes whose target a browser loads with the page. A `link` may also name a page: rel=next."""
NOT_LOADED = {"next", "prev", "index", "search", "canonical", "author"}
CSS_URL = re.compile(
    r"url\(\s*['\"]?((?:https?:)?//[^)'\"]+)|@import\s+['\"]((?:https?:)?//[^'\"]+)"
)
SCRIPT_URL = re.compile(r"(?:import|importScripts|fetch)\s*\(\s*['\"](https?://[^'\"]+)")


class Page(HTMLParser):
    """The anchors, links and loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif target := values.get(LOADED.get(tag, "")):
            is_page = tag == "link" and values.get("rel", "") in NOT_LOADED
            (self.links if is_page else self.loaded).append(target)
        self.loaded += [a or b for a, b in CSS_URL.findall(values.get("style", ""))]


def is_elsewhere(target: str) -> bool:
    return target.startswith(("http:", "https:", "//"))


def mistakes(folder: Path) -> tuple[list[str], int, int]:
    """Return mistakes, the number of pages and the number of links within the site."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    wrong, links = [], 0
    for path, page in pages.items():
        name = path.relative_to(folder)
        wrong += [f"{name}: loads {target}" for target in page.loaded if is_elsewhere(target)]
        for target in page.links + page.loaded:
            if is_elsewhere(target) or re.match(r"(mailto|data|javascript):", target):
                continue
            links += 1
            file, _, anchor = target.partition("#")
            file = unquote(file.partition("?")[0])
            aim = (path.parent / file).resolve() if file else path
            if not aim.exists():
                wrong.append(f"{name}: no file {target}")
            elif anchor and aim in pages and unquote(anchor) not in pages[aim].anchors:
                wrong.append(f"{name}: no anchor {target}")
    for pattern, suffix in ((CSS_URL, "css"), (SCRIPT_URL, "js")):
        for path in folder.rglob(f"*.{suffix}"):
            for match in pattern.finditer(path.read_text(encoding="utf-8")):
                wrong.append(f"{path.relative_to(folder)}: loads {match[match.lastindex or 0]}")
    return wrong, len(pages), links


if __name__ == "__main__":
    wrong, pages, links = mistakes(Path(sys.argv[1]).resolve())
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{pages} pages, {links} links within the site, {len(wrong)} mistakes")
    sys.exit(bool(wrong))
