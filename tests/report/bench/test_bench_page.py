"""The page and table of benchmark results: their numbers are those of task.json."""

import csv
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from dna_bigbird.bench.bench_page import bench_page
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.result_folders import RECORD
from dna_bigbird.metrics.task_results import Published, Score
from tests.report.bench.example_tasks import (
    SOURCES,
    example_task,
    with_difference,
    write_task,
)

HOSTILE = "<script>alert('&')</script> | \\ _x_ `y`\ttab"


class Tables(HTMLParser):
    """Rows of cells as a reader sees them, by the caption of their table and the heading of their group."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.sections: list[str] = [""]
        self.caption = self.group = ""
        self.text: list[str] | None = None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "section":
            self.sections.append(dict(attrs).get("id", ""))
        if tag == "tr":
            self.cells: list[str] = []
        if tag in ("th", "td", "caption"):
            self.text = []

    def handle_endtag(self, tag):
        if tag == "section":
            self.sections.pop()
        if tag in ("th", "td", "caption"):
            text = " ".join("".join(self.text).split())
            self.text = None
            if tag == "caption":
                self.caption, self.group = f"{self.sections[-1]}: {text}", ""
            else:
                self.cells.append(text)
        if tag == "tr":
            if len(self.cells) == 1:
                (self.group,) = self.cells
            self.rows.setdefault(f"{self.caption}: {self.group}", []).append(self.cells)

    def handle_data(self, data):
        if self.text is not None:
            self.text.append(data)

    def find(self, *parts: str) -> dict[str, list[str]]:
        """Return the rows of the one table or group whose heading has all parts, by their first cell."""
        (rows,) = [x for key, x in self.rows.items() if all(part in key for part in parts)]
        return {row[0]: row[1:] for row in rows}


def written(folder, *results, **more):
    for result in results:
        write_task(folder / "results", result)
    bench_page([folder / "results"], folder / "page", **more)
    return (folder / "page/index.html").read_text(encoding="utf-8")


def tsv(folder) -> list[dict]:
    with open(folder / "page/table.tsv", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def read_text(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def shown(score: dict) -> str:
    return "{value:.3f} [{low:.3f}, {high:.3f}]".format(**score)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Three tasks: one with few rows, one with a difference that touches 0; their folder and page."""
    folder = tmp_path_factory.mktemp("bench")
    few = example_task("few", n=310, leak_free=199, seed=1)
    unclear = with_difference(example_task("unclear", seed=2), "cnn", leak_free=(0.02, 0.0, 0.04))
    clear = with_difference(example_task("clear", seed=3), "cnn", leak_free=(0.02, 0.01, 0.03))
    page = written(folder, few, unclear, clear)
    return folder, page


def stored(folder) -> dict[str, dict]:
    values = [json.loads(path.read_text()) for path in sorted(folder.rglob("task.json"))]
    return {x["task"]: x for x in values}


def test_cells_of_the_page_are_those_of_task_json(three):
    folder, page = three
    tables = Tables(page)
    for number, (task, values) in enumerate(sorted(stored(folder).items()), start=1):
        for subset, heading in (
            ("published", "All test rows"),
            ("leak_free", "Leak-free test rows"),
        ):
            rows = tables.find(f"task-{number}: accuracy", f"{heading}")
            for source in values["sources"]:
                name = {"model": "model", "kmer": "k-mers", "gc": "GC content", "cnn": "small CNN",
                        "random_weights": "random weights", "majority": "majority class"}[source["name"]]  # fmt: skip
                score = source["scores"][subset]["accuracy"]
                cells = rows[name]
                assert cells[0] == shown(score), (task, subset, name)
                assert cells[1] == f"{score['sd']:.3f}"
                assert cells[2] == " ".join(f"{x:.3f}" for x in score["by_seed"])
                if name == "model":
                    assert cells[3:] == ["–", "–"]
                else:
                    assert cells[3] == shown(source["minus"][subset])
            heading_row = next(x for x in rows if x.startswith(heading))
            assert heading_row.endswith(f"(n = {values['n'][subset]:,})")


def test_every_number_of_the_page_is_in_task_json(three, read_page):
    folder, page = three
    known = {repr(x) for x in numbers_in(list(stored(folder).values()))}
    shown_numbers = read_page(page).numbers
    assert len(shown_numbers) > 300
    assert set(shown_numbers) <= known


def numbers_in(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from numbers_in(each)
    elif isinstance(value, int | float):
        yield value


def test_rows_of_the_table_are_those_of_task_json(three):
    folder, _ = three
    rows = tsv(folder)
    values = stored(folder)
    assert len(rows) == 3 * (2 * len(SOURCES) + 2)
    for row in rows:
        if row["subset"] == "published elsewhere":
            continue
        result = values[row["task"]]
        (source,) = [x for x in result["sources"] if x["name"] == row["source"]]
        score = source["scores"][row["subset"]]["accuracy"]
        assert [float(row[f"score{x}"]) for x in ("", "_low", "_high")] == [
            score[x] for x in ("value", "low", "high")
        ]
        assert [float(x) for x in row["by_seed"].split(",")] == score["by_seed"]
        assert float(row["sd"]) == score["sd"]
        assert int(row["n"]) == result["n"][row["subset"]]
        if source["minus"]:
            minus = source["minus"][row["subset"]]
            ends = [float(row[f"model_minus{x}"]) for x in ("", "_low", "_high")]
            assert ends == [minus[x] for x in ("value", "low", "high")]
        else:
            assert row["claim"] == row["model_minus"] == ""


def test_claims_follow_the_rule(three):
    folder, page = three
    claims = {
        (row["task"], row["subset"]): row["claim"] for row in tsv(folder) if row["source"] == "cnn"
    }
    assert claims["few", "leak_free"] == "too_few_rows"
    assert claims["few", "published"] != "too_few_rows"
    assert claims["unclear", "leak_free"] == "not_clear"
    assert claims["clear", "leak_free"] == "better"
    summary = Tables(page).find("summary: One row per task")
    assert summary["few"][-1] == "no claim: 199 rows"
    assert summary["unclear"][-1].startswith("not clearly different from small CNN;")
    assert summary["clear"][-1].startswith("better than small CNN;")
    words = read_text(page)
    assert words.count("No claim is made, because 199 leak-free test rows are fewer than 200.") == 1
    assert "difference +0.020 [+0.000, +0.040], which includes 0." in words
    assert "difference +0.020 [+0.010, +0.030], which excludes 0." in words
    assert (
        "is better in 1, not clearly different in 1 and without a claim (few rows) in 1 of 3 tasks"
        in words
    )


def test_the_summary_has_a_row_per_task(three):
    folder, page = three
    summary = Tables(page).find("summary: One row per task")
    for task, values in stored(folder).items():
        sources = {x["name"]: x["scores"] for x in values["sources"]}
        metric, n, model, weights, baseline, leak_free, _ = summary[task]
        assert (metric, n) == ("accuracy", f"{values['n']['published']:,}")
        assert model == shown(sources["model"]["published"]["accuracy"])
        assert weights == shown(sources["random_weights"]["published"]["accuracy"])
        assert baseline == "small CNN " + shown(sources["cnn"]["published"]["accuracy"])
        free = shown(sources["model"]["leak_free"]["accuracy"])
        assert leak_free == f"{free} n = {values['n']['leak_free']:,}"


def test_the_page_stands_alone(three, read_page):
    folder, page = three
    read = read_page(page)
    read.check_stands_alone()
    images = [attributes for tag, attributes in read.tags if tag == "img"]
    assert len(images) == 4
    assert all(len(x["alt"]) > 40 for x in images)
    names = {path.name for path in (folder / "page").iterdir()}
    assert names == {
            RECORD,
        "index.html", "table.md", "table.tsv", "bench_summary.png", "genomic-benchmarks_01_clear.png",
        "genomic-benchmarks_02_few.png", "genomic-benchmarks_03_unclear.png",
    }  # fmt: skip
    assert (folder / "page/bench_summary.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_says_what_was_dropped_and_what_is_wrong_with_the_suite(three):
    words = read_text(three[1])
    assert "Leak-free rows are 199 of 310 test rows; 111 (35.8 %) were dropped." in words
    assert "99 share bases of the genome with a training or validation row;" in words
    assert "12 share at least half of their 12-mers" in words
    assert "31 were read without labels in pretraining; they stay." in words
    assert "0 were read with labels" not in words
    assert "Known faults. Test intervals overlap training intervals" in words
    assert "Semi-synthetic" not in words


def test_published_scores_are_marked_and_never_compared(three):
    folder, page = three
    rows = [row for row in tsv(folder) if row["subset"] == "published elsewhere"]
    assert {row["source"] for row in rows} == {"CNN of the authors", "HyenaDNA"}
    for row in rows:
        assert row["claim"] == row["model_minus"] == row["n"] == row["score_low"] == ""
        assert row["described"]
    cells = Tables(page).find("task-1", "Published scores: not run here, not compared")
    assert cells["HyenaDNA"] == ["0.966", "Nguyen et al. 2023, Table 4.2"]
    for line in re.findall(r"<li>.*?</li>", page, flags=re.DOTALL):
        assert "HyenaDNA" not in line
    text = (folder / "page/table.md").read_text()
    assert "| HyenaDNA | – | 0.966 | – | – | – | – | Nguyen et al. 2023, Table 4.2 |" in text


def test_markdown_has_the_summary_and_every_source(three):
    folder, _ = three
    text = (folder / "page/table.md").read_text()
    model = stored(folder)["few"]["sources"][0]["scores"]["leak_free"]["accuracy"]
    assert f"| {shown(model)} | 199 | no claim: 199 rows |" in text
    assert text.count("**Leak-free test rows**") == 3
    widths = {line.count("|") for line in text.split("## ")[1].splitlines() if line.startswith("|")}
    assert len(widths) == 1


def test_strands_are_per_cent_and_correlation(three):
    rows = Tables(three[1]).find("task-2: Strands of all test rows")
    assert rows["model"] == ["4.3%", "0.971"]
    assert "majority class" not in rows


def test_findings_are_one_line_per_task(tmp_path):
    write_task(tmp_path / "results", example_task("a", n=84, leak_free=80))
    comparison = bench_page([tmp_path / "results"], tmp_path / "page")
    (line,) = comparison.findings
    assert comparison.summary() == line
    assert line.startswith("genomic-benchmarks a: accuracy 0.8")
    assert line.endswith("on 80 leak-free ones; no claim: 80 rows.")
    assert len(comparison.rows) == 14


def test_one_seed_has_no_deviation_and_says_so(tmp_path):
    page = written(tmp_path, example_task("a", seeds=1))
    rows = Tables(page).find("task-1: accuracy", "All test rows")
    assert rows["model"][1] == "–"
    assert re.fullmatch(r"\d\.\d{3}", rows["model"][2])
    assert "Only one seed was trained: the intervals do not cover" in read_text(page)
    assert tsv(tmp_path)[0]["sd"] == ""


def test_several_seeds_do_not_say_so(three):
    assert "Only one seed" not in three[1]


def test_missing_values_are_dashes_or_not_defined(tmp_path):
    result = example_task("a", n=500, leak_free=0, published=[], notes=[], settings={}, leaks={})
    sources = []
    for source in result.sources:
        scores = {"published": {"accuracy": Score(0.5, by_seed=(0.5, None))}, "leak_free": {}}
        sources.append(replace(source, scores=scores, minus={}, strands={"flip_rate": None}))
    page = written(tmp_path, replace(result, sources=sources))
    tables = Tables(page)
    assert tables.find("task-1: accuracy", "All test rows")["k-mers"] == ["0.500", "–", "0.500 –", "–", "no claim: no interval"]  # fmt: skip
    free = tables.find("task-1: accuracy", "Leak-free")
    assert free["k-mers"] == ["not defined", "–", "–", "–", "no claim"]
    assert tables.find("Strands")["model"] == ["not defined", "not defined"]
    assert tables.find("summary")["a"][5] == "not defined n = 0"
    row = tsv(tmp_path)[0]
    assert (row["score"], row["score_low"], row["by_seed"]) == ("0.5", "", "0.5,")


def test_a_result_with_the_model_alone_claims_nothing(tmp_path):
    result = example_task("a", n=400)
    result = replace(result, sources=result.sources[:1], n={"published": 400}, published=[])
    model = replace(result.model, scores={"published": result.model.scores["published"]})
    page = written(tmp_path, replace(result, sources=[model]))
    assert Tables(page).find("summary")["a"][3:] == ["–", "–", "–", "–"]
    words = read_text(page)
    assert "No baseline was run, so nothing is claimed." in words
    assert "The leak-free rows were not counted." in words
    assert "Compared with" not in words


def test_28_tasks(tmp_path):
    names = [f"group/task_{i:02}" for i in range(28)]
    results = [
        example_task(name, "gue", metric="mcc" if i else "macro_f1", seed=i, n=400 + i)
        for i, name in enumerate(names)
    ]
    page = written(tmp_path, *results)
    summary = Tables(page).find("summary")
    assert [x for x in summary if x.startswith("group")] == names
    assert summary["group/task_27"][:2] == ["MCC", "427"]
    assert summary["group/task_00"][0] == "macro F1"
    assert len(list((tmp_path / "page").glob("gue_*.png"))) == 28
    assert len(page) < 4_000_000


def test_tasks_of_several_suites_are_under_their_suite(tmp_path):
    results = [example_task("x", "other"), example_task("y"), example_task("z", "other")]
    for number, result in enumerate(results):
        write_task(tmp_path / f"results{number}", result)
    paths = [tmp_path / f"results{number}" for number in range(3)]
    bench_page(paths, tmp_path / "page")
    page = (tmp_path / "page/index.html").read_text()
    headings = re.findall(r"<h([23])>(.*?)</h", page)
    assert headings == [
        ("2", "Summary"), ("2", "other"), ("3", "x"), ("3", "z"), ("2", "Genomic Benchmarks"), ("3", "y"),
        ("2", "How to read this page"),
    ]  # fmt: skip
    anchors = dict(re.findall(r'<a href="#(task-\d)">(\w)</a>', page))
    assert anchors == {"task-1": "x", "task-2": "y", "task-3": "z"}
    for anchor, name in anchors.items():
        assert f'id="{anchor}"><h3>{name}</h3>' in page


def test_names_are_escaped(tmp_path, read_page):
    result = example_task(
        HOSTILE.replace("/", ""),
        notes=[HOSTILE],
        about=HOSTILE,
        published=[Published(HOSTILE, 0.5, HOSTILE)],
        settings={HOSTILE: HOSTILE},
        counts={HOSTILE: 3},
        groups={HOSTILE: {"published": Score(0.5)}},
    )
    sources = [*result.sources, replace(result.sources[3], name=HOSTILE, description=HOSTILE)]
    page = written(tmp_path, replace(result, sources=sources))
    assert page.count("<script") == 1
    assert "&amp;amp;" not in page
    assert "<script>alert('&')</script>" in read_page(page).words
    lines = (tmp_path / "page/table.tsv").read_text().splitlines()
    assert len(lines) == 1 + 2 * 7 + 1
    assert {line.count("\t") for line in lines} == {lines[0].count("\t")}
    markdown = (tmp_path / "page/table.md").read_text()
    assert "<script" not in markdown.replace("\\<", "")
    for path in (tmp_path / "page").iterdir():
        assert re.fullmatch(r"[A-Za-z0-9._-]+", path.name)


@pytest.mark.parametrize(
    ("assemblies", "banner", "count"),
    [
        (("demo_hg19", "demo_hg19"), "Semi-synthetic demo. The truth", 3),
        (("demo", "GRCh38"), "Semi-synthetic demo (1 of 2 tasks). The truth", 2),
    ],
)
def test_demo_data_are_marked(tmp_path, assemblies, banner, count):
    results = [example_task(f"t{i}", assembly=name) for i, name in enumerate(assemblies)]
    page = written(tmp_path, *results)
    assert banner in read_text(page)
    assert page.count('class="banner"') == count
    assert (
        "The truth is planted in a real or generated background"
        in (tmp_path / "page/table.md").read_text()
    )


def test_settings_that_differ_are_named(tmp_path):
    probe = {"method": "probe", "model": "demo encoder"}
    results = [example_task("a"), example_task("b", settings=probe, seeds=2)]
    words = read_text(written(tmp_path, *results))
    assert "Not equal for all tasks: method (full; probe)." in words
    assert "Not equal for all tasks: seeds (0 1; 0 1 2)." in words
    assert "Not equal for all tasks: model" not in words


def test_groups_and_other_scores_can_be_looked_up(tmp_path):
    groups = {"CTCF": {"published": Score(0.7, 0.6, 0.8), "leak_free": Score(0.65)}}
    result = example_task("a", groups=groups)
    tables = Tables(written(tmp_path, result))
    assert tables.find("by group")["CTCF"] == ["0.700 [0.600, 0.800]", "0.650"]
    other = tables.find("Other scores", "Leak-free")
    assert other["GC content"] == [f"{result.sources[4].scores['leak_free']['mcc'].value:.3f}"]


def test_equal_results_give_equal_files_and_replace_the_page(tmp_path):
    written(tmp_path, example_task("a"))
    before = {path.name: path.read_bytes() for path in (tmp_path / "page").iterdir()}
    bench_page([tmp_path / "results"], tmp_path / "page")
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "page").iterdir()}


def test_a_folder_with_something_else_is_refused(tmp_path):
    (tmp_path / "page").mkdir()
    (tmp_path / "page/notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"page: the folder holds notes\.txt"):
        written(tmp_path, example_task("a"))
    assert [path.name for path in (tmp_path / "page").iterdir()] == ["notes.txt"]


def test_without_results_nothing_is_written(tmp_path):
    with pytest.raises(InputError, match="names no folder"):
        bench_page([], tmp_path / "page")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty: no task\.json below it"):
        bench_page([tmp_path / "empty"], tmp_path / "page")
    assert not (tmp_path / "page").exists()
