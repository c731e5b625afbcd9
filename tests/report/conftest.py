"""One made-up run and its report, shared by the tests that only read them."""

import importlib.util
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest

from dna_bigbird.report.gallery import Gallery
from dna_bigbird.report.page import build_report

SPEC = importlib.util.spec_from_file_location(
    "example_run", Path(__file__).with_name("example_run.py")
)
example_run = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(example_run)


class Run(NamedTuple):
    """A results folder, the files next to it, and the report of it."""

    folder: Path
    results: Path
    page: str
    gallery: Gallery


class Page(HTMLParser):
    """Reads a page strictly: every tag that opens closes in order; keeps what tests ask for."""

    VOID = frozenset({"meta", "img", "br", "link", "input", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.numbers: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "data":
            self.numbers.append(dict(attrs)["value"])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> is out of order"

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def make_run(folder: Path, **changes: object) -> Run:
    results = example_run.write_example(folder, **changes)
    page, gallery = build_report(
        results, folder / "config.yaml", folder / "promoters.bed", folder / "peaks.tsv"
    )
    return Run(folder, results, page, gallery)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The example run; do not change its files."""
    return make_run(tmp_path_factory.mktemp("run"))


@pytest.fixture
def write_example() -> Callable[..., Path]:
    """The writer of an example run, for tests that change files."""
    return example_run.write_example


@pytest.fixture(scope="session")
def read_page() -> type[Page]:
    """The strict reader of a page."""
    return Page
