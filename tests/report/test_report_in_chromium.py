"""Report pages in a real browser without a network: sorting, values at the pointer, narrow and dark screens."""

import itertools
import json
import re
import shutil
import subprocess

import pytest

from dna_bigbird.bench.bench_page import bench_page
from dna_bigbird.cli.main import main
from dna_bigbird.evaluation.rendering import FOLDER
from dna_bigbird.text.text_tables import tables
from tests.report import chromium, example_heads
from tests.report.bench.example_tasks import example_task, write_task

needs_chromium = pytest.mark.skipif(
    chromium.PROGRAM is None, reason="there is no Chromium (apt-get install chromium)"
)
LABELS = 'Array.from(document.querySelectorAll("table")).find((x) => x.caption.innerText.startsWith("Every label"))'
SORTED = f"Array.from({LABELS}.tHead.rows[0].cells, (x) => x.ariaSort)"
PLOT = 'document.querySelector(".plot[data-marks*=step]")'


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_the_script_is_valid():
    subprocess.run(["node", "--check", FOLDER / "report.js"], check=True)


@pytest.fixture(scope="module")
def page(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(run.page, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tab(page, tmp_path_factory):
    with chromium.Tab(tmp_path_factory.mktemp("profile")) as tab:
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        tab.call("Emulation.setEmulatedMedia", features=[still])
        tab.open(page.as_uri())
        tab.value("document.querySelectorAll('details').forEach((x) => { x.open = true; })")
        yield tab


def column(tab, number: int) -> list[str]:
    """The texts of a column of the table of labels, headings of groups as they are."""
    return tab.value(
        f"Array.from({LABELS}.tBodies[0].rows, (row) => (row.cells[{number}] ?? row.cells[0]).innerText)"
    )


def in_column(tab, number: int) -> list[str]:
    """The texts of a column of the table of labels; headings of groups start with #."""
    row = f"row.cells[{number}]?.innerText ?? '#' + row.cells[0].innerText"
    return tab.value(f"Array.from({LABELS}.tBodies[0].rows, (row) => {row})")


@needs_chromium
def test_a_click_on_a_header_sorts_within_groups(tab):
    before = in_column(tab, 2)
    headings = [i for i, text in enumerate(before) if text.startswith("#")]
    groups = [before[i:j] for i, j in itertools.pairwise([*headings, len(before)])]
    assert [group[0] for group in groups] == ["#TF", "#DNase", "#HM"]
    assert any("not defined" in text for text in groups[0])
    button = f"{LABELS}.tHead.rows[0].cells[2].querySelector('button')"
    for direction, reverse in (("ascending", False), ("descending", True)):
        tab.value(f"{button}.click()")
        assert tab.value(SORTED) == [None, None, direction, None, None, None]
        expected = []
        for heading, *values in groups:
            known = sorted((x for x in values if "not" not in x), key=float, reverse=reverse)
            expected += [heading, *known, *(x for x in values if "not" in x)]
        assert in_column(tab, 2) == expected
    tab.value(f"{button}.click()")
    assert in_column(tab, 2) == before
    assert tab.value(SORTED) == [None] * 6


@needs_chromium
def test_the_keyboard_sorts_names(tab):
    tab.value(f"{LABELS}.tHead.rows[0].cells[0].querySelector('button').focus()")
    press(tab, "Enter", text="\r")
    names = in_column(tab, 0)
    assert names[1:4] == ["CEBPB", "CTCF", "E2F1"]
    assert tab.value(SORTED)[0] == "ascending"


def press(tab, key: str, **more: str) -> None:
    for event in ("keyDown", "keyUp"):
        tab.call("Input.dispatchKeyEvent", type=event, key=key, code=key, **more)


@needs_chromium
def test_the_pointer_shows_the_value_of_the_nearest_point(tab):
    """A point of the loss over the steps, away from others; the picture is not at its natural size."""
    x, y, *values = tab.value(f"{PLOT}.dataset.marks").split("\n")[2].split("\t")
    tab.value(f"{PLOT}.scrollIntoView({{block: 'center'}})")
    left, top, width, height = tab.value(
        f"(({{left, top, width, height}}) => [left, top, width, height])({PLOT}.getBoundingClientRect())"
    )
    across, down = left + int(x) / 1000 * width, top + int(y) / 1000 * height
    tip = f"{PLOT}.querySelector('.tip')"
    assert tab.value(f"{tip}.hidden")
    tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=across + 0.3, y=down + 0.3)
    assert tab.value(f"{tip}.innerText") == "train: step {}: {}".format(*values)
    dot = f"{PLOT}.querySelector('.dot').getBoundingClientRect()"
    middle = tab.value(
        f"(({{left, top, width, height}}) => [left + width / 2, top + height / 2])({dot})"
    )
    assert middle == pytest.approx([across, down], abs=1.5)
    tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    assert tab.value(f"{tip}.hidden")


@needs_chromium
def test_arrow_keys_step_through_the_values(tab):
    tip, lines = f"{PLOT}.querySelector('.tip')", tab.value(f"{PLOT}.dataset.marks").split("\n")
    tab.value(f"{PLOT}.parentElement.focus()")
    for key, line in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("ArrowLeft", -1)):
        press(tab, key)
        assert tab.value(f"{tip}.innerText").endswith(lines[line].split("\t")[-1])
    press(tab, "Escape")
    assert tab.value(f"{tip}.hidden")


@pytest.fixture(scope="module")
def pages(page, tmp_path_factory):
    """A page of each template but that of one model, which is made of the same parts."""
    folder = tmp_path_factory.mktemp("pages")
    write_task(folder / "results", example_task("clear"))
    bench_page([folder / "results"], folder / "bench")
    options = example_heads.write_table6(folder / "heads", folder / "genome.fa")
    main(["compare-heads", "--table", "table6", *options, "--output", str(folder / "table6")])
    scores = {"rouge1": 40, "rouge2": 20, "rougeLsum": 30, "n": 12, "split": "test", "seed": 0}
    (folder / "text" / "xsum").mkdir(parents=True)
    (folder / "text" / "xsum" / "metrics.json").write_text(json.dumps(scores))
    tables(folder / "text", folder / "text.html")
    return [page, folder / "bench/index.html", folder / "table6/index.html", folder / "text.html"]


@needs_chromium
def test_cells_that_begin_with_a_number_are_sorted_by_it(pages, tmp_path):
    """Published ROUGE scores, such as 29.47 / 6.95 / 26.30; 9.5 is below 10.47."""
    cells = "Array.from(document.querySelectorAll('#table4 tbody tr:not(.group)'), (x) => x.cells[2].innerText)"
    with chromium.Tab(tmp_path) as tab:
        tab.open(pages[3].as_uri())
        before = [float(text.split(" ")[0]) for text in tab.value(cells) if text != "–"]
        tab.value("document.querySelectorAll('#table4 th button')[2].click()")
        after = [float(text.split(" ")[0]) for text in tab.value(cells) if text != "–"]
    assert before != sorted(before) == after


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_and_dark_screens(pages, tmp_path, scheme):
    """Nothing is asked for, no error is shown, the page is not wider than the screen, text is readable."""
    with chromium.Tab(tmp_path, width=400) as tab:
        media = {"name": "prefers-color-scheme", "value": scheme}
        tab.call("Emulation.setEmulatedMedia", features=[media])
        for path in pages:
            tab.events.clear()
            tab.open(path.as_uri())
            assert tab.value("document.documentElement.scrollWidth") <= 400
            style = "getComputedStyle(document.body)"
            paper, ink = (
                lightness(tab.value(f"{style}.{x}")) for x in ("backgroundColor", "color")
            )
            assert (ink - paper if scheme == "dark" else paper - ink) > 150
            picture = "getComputedStyle(document.querySelector('figure .scroll')).backgroundColor"
            assert lightness(tab.value(picture)) == 255
            assert [x for x in tab.requests() if not x.startswith("data:image/")] == [path.as_uri()]
            assert tab.errors() == []


@needs_chromium
def test_a_wide_screen_shows_whole_tables(page, tmp_path):
    """Those that are not folded."""
    with chromium.Tab(tmp_path, width=1280) as tab:
        tab.open(page.as_uri())
        tables = "Array.from(document.querySelectorAll('section > .scroll, .tables > .scroll'))"
        shown = f"{tables}.filter((x) => x.checkVisibility())"
        assert tab.value(f"{shown}.length") > 3
        cut = f"{shown}.filter((x) => x.scrollWidth > x.clientWidth).map((x) => x.innerText)"
        assert tab.value(cut) == []


def lightness(colour: str) -> float:
    """Mean of red, green and blue, from 0 to 255."""
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3
