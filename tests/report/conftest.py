"""One made-up run and its report, shared by the tests that only read them."""

import base64
import hashlib
import importlib.util
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest

from dna_bigbird.evaluation.rendering import FOLDER, Gallery
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
        self.scripts: list[str] = []
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
        if self.open[-1:] == ["script"]:
            self.scripts.append(data)
        elif self.open[-1:] != ["style"]:
            self.text.append(data)

    def check_stands_alone(self, others: tuple[str, ...] = ()) -> None:
        """Check that the page loads nothing, runs report.js alone, and has words for pictures and tables to sort.

        Args:
            others: Pages next to it to which it has links.
        """
        assert self.scripts == [(FOLDER / "report.js").read_text(encoding="utf-8")]
        digest = base64.b64encode(hashlib.sha256(self.scripts[0].encode()).digest()).decode()
        (policy,) = (x["content"] for _, x in self.tags if x.get("http-equiv"))
        assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}'; ")
        ids = [attributes["id"] for _, attributes in self.tags if "id" in attributes]
        assert len(ids) == len(set(ids))
        for tag, attributes in self.tags:
            assert tag not in {"iframe", "object", "embed", "base", "form"}
            assert not any(name.startswith("on") for name in attributes)
            assert "src" not in attributes or attributes["src"].startswith("data:image/")
            target = attributes.get("href", "data:,")
            assert target == "data:," or target[1:] in ids or target in others, target
            if tag == "img":
                assert len(attributes["alt"]) > 20
            if tag == "table":
                assert attributes["class"] == "sortable"

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
