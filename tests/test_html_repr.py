"""What a notebook shows of results and of errors."""

import html.parser
import inspect
import typing
from pathlib import Path

import numpy as np
import pytest

import dna_bigbird
from dna_bigbird.bundles.metrics import Metrics
from dna_bigbird.core import dataframes
from dna_bigbird.core.errors import (
    TRACEBACK,
    InputError,
    Interrupted,
    MissingExtraError,
    OutputError,
)
from dna_bigbird.core.results import FIRST_COLUMNS, FIRST_ROWS, TrainedModel, html_facts
from dna_bigbird.evaluation.evaluate import Evaluation
from dna_bigbird.prediction.results import (
    Embeddings,
    Mutagenesis,
    Predictions,
    VariantScores,
    ZeroShotScores,
)

VOID = {"br", "hr", "img"}


class Table(html.parser.HTMLParser):
    """Reads the rows of a table; checks that every tag is closed, and has no attribute."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.title = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert attrs == [], "an attribute could load something"
        assert tag not in {*VOID, "script", "style", "link"}
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        elif "p" in self.open:
            self.title += data


def predictions(n: int, labels: list[str], **more) -> Predictions:
    values = np.arange(n * len(labels), dtype=np.float32).reshape(n, len(labels)) / 7
    return Predictions(
        np.array([f"chr<{i}>" for i in range(n)]), np.arange(n), np.arange(n) + 100, values, labels,
        **more,
    )  # fmt: skip


def alleles(n: int) -> dict:
    columns = {name: [f"{name}{i}" for i in range(n)] for name in ("chrom", "id", "ref", "alt")}
    return columns | {"pos": np.arange(n), "records": n, "alleles": n, "skipped": {}, "notes": []}


def variant_scores(n: int) -> VariantScores:
    values = np.random.default_rng(0).normal(size=(4, n, 2)).astype(np.float32)
    names = ("diff", "log_odds", "ref_probability", "alt_probability")
    return VariantScores(
        **alleles(n), label_names=["a", "b"], **dict(zip(names, values, strict=True))
    )


def token_vectors() -> Embeddings:
    """Two windows without a token, then some with 0 to 3."""
    counts = [0, 0, 2, 3, 0, 3, 1]
    offset = np.cumsum([0, *counts])
    return Embeddings(
        np.array([f"s{i}" for i in range(7)]), np.arange(7), np.arange(7) + 9,
        np.arange(offset[-1] * 3, dtype=np.float32).reshape(-1, 3), offset,
        np.arange(offset[-1]), np.arange(offset[-1]) + 1, name=np.array(list("abcdefg")),
    )  # fmt: skip


def substitutions(reference: str) -> Mutagenesis:
    values = np.random.default_rng(1).normal(size=(2, len(reference), 4, 2))
    return Mutagenesis("chr1", 10, reference, ["a", "b"], *values)


METRICS = Metrics.from_json({"n": 5, "auroc": 0.875, "auroc_low": 0.5, "auroc_high": 1.0})
RESULTS = {
    "predictions": predictions(40, ["CTCF", "DNase"], name=np.array(["site"] * 40)),
    "few predictions": predictions(2, ["CTCF"]),
    "many labels": predictions(6, [f"label {i}" for i in range(919)]),
    "vectors": Embeddings(*(np.array([1, 2, 3]) for _ in range(3)), np.ones((3, 32), np.float32)),
    "tokens": token_vectors(),
    "variants": variant_scores(9),
    "zero-shot": ZeroShotScores(**alleles(7), name="distance", score=np.ones(7, np.float32)),
    "substitutions": substitutions("ACGTN"),
    "unknown bases": substitutions("NNACG"),
    "evaluation": Evaluation(Path("scored"), Path("report"), METRICS, 1),
    "metrics": METRICS,
}


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_the_first_rows_of_the_data_frame_and_its_size(result):
    pytest.importorskip("pandas")
    frame, table = result.to_dataframe(), Table(result._repr_html_())
    rows, columns = frame.shape
    plural = "" if rows == 1 else "s"
    assert table.title == f"{type(result).__name__}: {rows:,} row{plural} × {columns:,} columns"
    head = frame.head(FIRST_ROWS)
    names = list(frame.columns)
    texts = [
        [f"{v:.4g}" if isinstance(v, float) else str(v) for v in row]
        for row in head.values.tolist()
    ]
    if columns > FIRST_COLUMNS:
        names = [*names[: FIRST_COLUMNS - 1], "…"]
        texts = [[*row[: FIRST_COLUMNS - 1], "…"] for row in texts]
    if rows > len(head):
        texts.append(["…"] * len(names))
    assert table.rows == [names, *texts]


def test_a_large_result_makes_no_large_data_frame(monkeypatch):
    pytest.importorskip("pandas")
    sizes = []
    pandas_of = dataframes._pandas

    class Watched:
        def __getattr__(self, name):
            return getattr(pandas_of(), name)

        def DataFrame(self, values, **options):  # noqa: N802
            frame = pandas_of().DataFrame(values, **options)
            sizes.append(len(frame))
            return frame

    monkeypatch.setattr(dataframes, "_pandas", Watched)
    for result in (predictions(1000, ["a"]), variant_scores(1000), substitutions("ACGT" * 200)):
        result._repr_html_()
    assert max(sizes) <= FIRST_ROWS * 4 * 2


def test_texts_are_escaped():
    shown = predictions(1, ["<script>alert(1)</script>"])._repr_html_()
    assert "<script>" not in shown
    assert "<td>chr&lt;0&gt;</td>" in shown
    shown = html_facts(METRICS, {"<b>": "&"}, "<i>\n" * 20)
    assert shown.count("&lt;i&gt;") == 12
    assert "<th>&lt;b&gt;</th><td>&amp;</td>" in shown


def test_without_pandas_the_fields(monkeypatch):
    def missing():
        raise MissingExtraError("pandas is not installed")

    monkeypatch.setattr(dataframes, "_pandas", missing)
    table = Table(predictions(3, ["CTCF"])._repr_html_())
    assert table.title == "Predictions"
    assert ["probabilities", "<float32 3 x 1>"] in table.rows


def test_a_trained_model_has_its_summary_and_fields():
    trained = TrainedModel(Path("a<b"), 10, 20, {"auroc": 0.75, "n": 8}, score="auroc")
    shown = trained._repr_html_()
    assert (
        "<pre>a&lt;b: step 10 of 20 is best on validation: AUROC 0.75 (n = 8 examples).</pre>"
        in shown
    )
    assert ["step", "10"] in Table(shown.replace("pre>", "p>")).rows


def test_a_loaded_model():
    table = Table(dna_bigbird.load()._repr_html_().replace("pre>", "p>"))
    assert ["labels", "['promoter']"] in table.rows
    assert "windows of 300 bp" in table.title


@pytest.mark.parametrize("name", [*dna_bigbird.__all__])
def test_every_result_has_one(name):
    function = getattr(dna_bigbird, name)
    if name in ("load_bundle", "completion") or not inspect.isfunction(function):
        return
    hint = typing.get_type_hints(inspect.unwrap(function))["return"]
    for result in typing.get_args(hint) or (hint,):
        assert hasattr(result, "_repr_html_"), (
            f"{result.__name__}: derive it from core.results.Result"
        )


@pytest.mark.parametrize(
    "error",
    [InputError("no such file"), OutputError("disk full"), Interrupted("stopped; continue with")],
)
def test_errors_are_one_line_in_a_notebook(error, monkeypatch):
    monkeypatch.delenv(TRACEBACK, raising=False)
    assert error._render_traceback_() == [f"{type(error).__name__}: {error}"]
    monkeypatch.setenv(TRACEBACK, "1")
    with pytest.raises(type(error)) as caught:
        raise error
    assert "test_html_repr.py" in "".join(caught.value._render_traceback_())


def test_a_notebook_shows_tables_and_one_line(tmp_path, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.delenv(TRACEBACK, raising=False)
    cells = [
        "from dna_bigbird import load\nmodel = load()\nmodel",
        "model.predict(sequences=['ACGT' * 75])",
        "model.predict('no_such_file.fa')",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(x) for x in cells])
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", allow_errors=True, resources=resources
    ).execute()
    shown = [
        [each for each in cell.outputs if each.output_type != "stream"] for cell in notebook.cells
    ]
    assert "<b>LoadedModel</b>" in shown[0][0].data["text/html"]
    assert "<b>Predictions</b>: 1 row × 4 columns" in shown[1][0].data["text/html"]
    (error,) = shown[2]
    assert error.ename == "InputError"
    (line,) = error.traceback
    assert line == "InputError: no_such_file.fa: no such file"
