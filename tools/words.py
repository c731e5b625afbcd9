"""Counts the written words of docs/, and finds numbers that we measured, whose place is docs/results/.

python -m tools.words [FOLDER OR PAGE ...]
"""

import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RESULTS = DOCS / "results"
SIGNED = r"[-+−]?\d*\.\d+"
MEASURED = re.compile(
    rf"\[{SIGNED}(?:, ?|; ?| to |–){SIGNED}\]"  # an interval
    r"|\bn = \d[\d,]*"
    rf"|{SIGNED} ± \d"
    r"|\b(?:AUROC|AUPRC|MCC|F1|accuracy|Pearson|Spearman)\b[^|.;:]{0,25}\b[01]\.\d+"
    r"|(?<![\d.])0\.[5-9]\d\d(?!\d)"  # a score
    rf"|{SIGNED} (?:bits|s|seconds|min|minutes|h|hours)\b"
    r"|\d[\d.,]* (?:ms|µs)\b"
    r"|\btook [\d.,]+ (?:s|seconds|min|minutes|h|hours)\b"
    r"|\d[\d.,]* (?:s|seconds|min|minutes|h|hours) of (?:processor time|CPU|one core)"
)
"""Whole seconds and sizes alone may be limits, so they pass."""


def written(text: str) -> list[str]:
    """Return the lines of a page, those of code and outputs empty."""
    lines, fence = [], ""
    for line in text.splitlines():
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence, line = "", ""
        lines.append("" if fence else line)
    return lines


def count(page: Path) -> int:
    """Return the words of a page: of text and tables, without code, outputs and targets of links."""
    return words_of("\n".join(written(page.read_text(encoding="utf-8"))))


def words_of(text: str) -> int:
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return sum(re.search(r"\w", word) is not None for word in text.split())


def pages(*folders: Path) -> list[Path]:
    """Return the pages of folders, or of docs/."""
    paths = {each for folder in folders or [DOCS] for each in (folder, *folder.rglob("*.md"))}
    return sorted(path for path in paths if path.suffix == ".md")


def outside_results(listed: list[Path]) -> list[Path]:
    return [page for page in listed if RESULTS not in page.parents]


def measured(page: Path) -> Iterator[tuple[int, str]]:
    """Yield line and number; a paragraph or table that says `published` has those of others."""
    lines = [*written(page.read_text(encoding="utf-8")), ""]
    first = 0
    for end in (number for number, line in enumerate(lines) if not line.strip()):
        block = lines[first:end]
        if not re.search("published", "\n".join(block), re.IGNORECASE):
            for number, line in enumerate(block, first + 1):
                for match in MEASURED.finditer(re.sub(r"`[^`]*`", "``", line)):
                    yield number, match[0]
        first = end + 1


def columns(page: Path) -> Iterator[tuple[int, int]]:
    """Yield the line of each table and its number of columns."""
    for number, line in enumerate(written(page.read_text(encoding="utf-8")), 1):
        if re.fullmatch(r"\s*\|(?:\s*:?-+:?\s*\|)+", line):
            yield number, line.count("|") - 1


def cells(page: Path) -> Iterator[tuple[int, int]]:
    """Yield the line of each row of a table and the words of its longest cell."""
    for number, line in enumerate(written(page.read_text(encoding="utf-8")), 1):
        if line.startswith("|"):
            yield number, max(map(words_of, re.split(r"(?<!\\)\|", line)))


def main() -> None:
    """Print measured numbers and wide tables, then the words of each page, total and median."""
    listed = pages(*(Path(word).resolve() for word in sys.argv[1:]))
    for page in listed:
        name = page.relative_to(ROOT)
        if RESULTS not in page.parents:
            for number, text in measured(page):
                print(f"{name}:{number}: {text}")
        for number, width in columns(page):
            if width > 7:
                print(f"{name}:{number}: a table of {width} columns")
    counts = {page: count(page) for page in listed}
    for page, words in counts.items():
        print(f"{words:7,} {page.relative_to(ROOT)}")
    if outside := [counts[page] for page in outside_results(listed)]:
        median = statistics.median(outside)
        print(
            f"{sum(outside):7,} words in {len(outside)} pages outside results/, median {median:,.0f}"
        )


if __name__ == "__main__":
    main()
