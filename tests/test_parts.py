"""Files from which a killed run continues: whatever happens to one, the result is that of an undisturbed run.

Or the command ends with one line that names the file. Each `Kind` runs the code that writes and reads its
files on work small enough to be done a hundred times.
"""

import dataclasses
import functools
import io
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from dna_bigbird.baselines.recipe_search import search
from dna_bigbird.bench.parts import ArrayParts
from dna_bigbird.bench.trainings import TaskTraining
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus import token_store_writer
from dna_bigbird.corpus.token_store_writer import write_token_store
from dna_bigbird.evaluation.long_attention.plan import read_result, run_jobs
from dna_bigbird.labelled.scores import LabelScores, write_scores
from dna_bigbird.prediction.partial_results import open_partial_results
from dna_bigbird.text import stored_sets
from dna_bigbird.text.data.store import text_store
from dna_bigbird.text.made.writing import write_made_text
from dna_bigbird.text.stored_sets import stored_set
from tests.pipeline.text.test_stored_sets import NQ, source_of
from tests.text_vocabulary import tiny_text_tokenizer
from tests.toy_corpus import make_corpus

CUTS = 8


class Stopped(KeyboardInterrupt):
    """Ends a run in the middle; its files stay."""


def stop_if(condition):
    if condition:
        raise Stopped


def searched(folder, run, stop):
    scores = {"a": [0.47, 0.52, 0.31], "b": [0.99, 0.11, 0.12]}[run]

    def train(number):
        stop_if(stop and number == 2)
        return scores[number], 10 * number

    recipes = [{"learning_rate": number} for number in range(3)]
    return search(recipes, train, lambda number: {"run": run, "recipe": number}, folder).rows


class OwnScores(TaskTraining):
    """Trainings whose scores are made up."""

    def _compute(self, source, seed, folder):
        value = {"gc": 0.47, "kmer": 0.52}[source] + (self.labelled.path.stem == "b")
        values = np.full((3, 1), value, np.float32)
        folder.mkdir(parents=True, exist_ok=True)
        scores = LabelScores(source, "", ["x"], np.arange(3), values, self._set_sha256)
        write_scores(folder / "forward.h5", scores)
        return {"has_strands": False, "is_directional": False, "description": f"{source} {value}"}


def benchmarked(folder, run, stop):
    path = folder.parent / f"{run}.h5"
    path.write_text(run)
    rows = SimpleNamespace(path=path, rows=lambda _: np.arange(3))
    training = OwnScores(SimpleNamespace(folder=folder), rows)
    kmer, _ = training.scored("kmer", 0)
    gc, _ = training.scored("gc", 0)
    stop_if(stop)
    return [(x.description, x.values.tolist()) for x in (kmer, gc)]


def scored_in_parts(folder, run, stop):
    def score(texts):
        stop_if(stop and texts[0] == 8)
        return {"scores": np.array([[text + (run == "b"), 0.47] for text in texts])}

    return ArrayParts(folder, {"run": run}).scored("x", range(12), score, at_once=4)["scores"]


def compared(folder, run, stop):
    def job(settings):
        stop_if(stop and settings["number"] == 2)
        return {"score": 0.47 + settings["number"] + (run == "b")}

    work = {f"job{number}": (job, {"run": run, "number": number}) for number in range(3)}
    run_jobs(work, folder, 1)
    return [read_result(folder, name, settings) for name, (_, settings) in work.items()]


def predicted(folder, run, stop):
    with open_partial_results(folder / "out.tsv", {"run": run}, resume=True) as stored:
        for number in range(stored.rows, 4):
            stop_if(stop and number == 3)
            stored.append({"score": np.array([0.47 + number + (run == "b")])})
        return np.concatenate([frame["score"] for frame in stored.frames()])


@functools.cache
def corpus(folder):
    folder.mkdir()
    return make_corpus(folder)


def tokenized(folder, run, stop):
    toy = corpus(folder.parents[1] / "corpus")

    def documents():
        for number, document in enumerate(toy.documents[:32] if run == "a" else toy.documents[9:]):
            stop_if(stop and number == 24)
            yield document

    path = folder / "tokens.h5"
    write_token_store(path, documents(), toy.genome, toy.tokenizer, restart_key=run)
    return path.read_bytes()


@functools.cache
def made_text(folder):
    write_made_text(folder, seed=0, examples=8)
    return folder


def text_source(folder, run):
    source = source_of(made_text(folder.parents[1] / "text"), NQ)
    if run == "b":
        source.task.options = dataclasses.replace(source.task.options, max_tokens=100)
    return source


def rows_made(folder, run, stop):
    make, calls = stored_sets.PartMaker.__call__, []

    def counted(self, chunk):
        calls.append(chunk)
        stop_if(stop and len(calls) == 3)
        return make(self, chunk)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_sets.PartMaker, "__call__", counted)
        stored_set(folder / "rows.h5", text_source(folder, run), threads=1)
    return (folder / "rows.h5").read_bytes()


def rows_read(folder, run, stop):
    rows = stored_set(folder / "rows.h5", text_source(folder, run), threads=1)
    stop_if(stop)
    return [[np.asarray(row.token_ids).tolist(), row.example] for row in rows.rows], rows.counts


def text_tokenized(folder, run, stop):
    text = folder.parent / f"{run}.txt"
    text.write_text("the river and the mountain\n\nthe king\n" * (2 if run == "a" else 5))
    store = text_store(text, tiny_text_tokenizer(), folder / "text.h5")
    stop_if(stop)
    return store.tokens(0, store.num_tokens).tolist(), store.counts.tolist()


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of part files."""

    run: Callable[[Path, str, bool], object]
    """From a folder, the name of the run ("a" or "b") and whether it stops in the middle, to the result."""
    units: str
    """Pattern of the files or folders that are one part each."""


KINDS = {
    "trials of a search": Kind(searched, "trial*"),
    "trainings of a benchmark": Kind(benchmarked, "*/seed*"),
    "scores of a benchmark": Kind(scored_in_parts, "x-*.npz"),
    "jobs of compare-attention": Kind(compared, "jobs/*"),
    "finished rows": Kind(predicted, ".out.tsv.rows.partial/*.npz"),
    "token parts": Kind(tokenized, ".tokens.h5.parts/*.npz"),
    "text row parts": Kind(rows_made, ".rows.h5.parts/*.npz"),
    "store of text rows": Kind(rows_read, "rows.h5"),
    "store of text tokens": Kind(text_tokenized, "text.h5"),
}


@pytest.fixture(scope="module", autouse=True)
def small_parts():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_store_writer, "DOCUMENTS_PER_PART", 8)
        patch.setattr(stored_sets, "EXAMPLES_PER_PART", 3)
        yield


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Function (kind) -> its undisturbed result, and the folders of runs "a" and "b" that stopped."""
    top = tmp_path_factory.mktemp("runs")

    @functools.cache
    def stopped(name):
        folders = {run: top / name.replace(" ", "-") / run for run in "ab"}
        for run, folder in folders.items():
            folder.mkdir(parents=True)
            with pytest.raises(KeyboardInterrupt):
                KINDS[name].run(folder, run, True)
        whole = folders["a"].with_name("whole")
        whole.mkdir()
        return KINDS[name].run(whole, "a", False), folders

    return stopped


@pytest.fixture
def continued(runs, request):
    """Function (kind, change of its first part) that continues run "a" and compares the result."""
    again = []

    def check(name, change):
        expected, folders = runs(name)
        folder = folders["a"].with_name(f"again{len(again)}-{request.node.name[:20]}")
        again.append(folder)
        shutil.copytree(folders["a"], folder)
        change(sorted(folder.glob(KINDS[name].units)), sorted(folders["b"].glob(KINDS[name].units)))
        try:
            result = KINDS[name].run(folder, "a", False)
        except InputError as error:
            assert str(folder) in str(error)  # noqa: PT017 - either is right
        else:
            np.testing.assert_equal(result, expected)

    yield check
    for folder in again:
        shutil.rmtree(folder)


def files_of(unit):
    return [unit] if unit.is_file() else sorted(x for x in unit.rglob("*") if x.is_file())


def edit(path):
    """Change a value so that the file is still one of its format."""
    content = path.read_bytes()
    if path.suffix == ".h5":
        with h5py.File(path, "r+") as file:
            values = next(file[x] for x in ("scores", "row_tokens", "token_ids") if x in file)
            values[0] = values[0] + 1
    elif path.suffix == ".npz":
        with np.load(path) as stored:
            arrays = dict(stored)
        for name in arrays.keys() & {"score", "scores", "token_ids", "row_tokens"}:
            arrays[name] += 1
        stream = io.BytesIO()
        np.savez(stream, **arrays)
        end_of_archive = content.rindex(b"PK\5\6") + 22
        path.write_bytes(stream.getvalue() + content[end_of_archive:])
    elif path.suffix == ".json":
        assert b"0.47" in content
        path.write_bytes(content.replace(b"0.47", b"9.99"))
    else:
        path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    assert path.read_bytes() != content


@pytest.mark.parametrize("name", KINDS)
def test_a_run_that_was_stopped_ends_as_an_undisturbed_one(continued, name):
    continued(name, lambda own, other: None)


@pytest.mark.parametrize("name", KINDS)
def test_an_edited_value_is_not_believed(continued, runs, name):
    first = sorted(runs(name)[1]["a"].glob(KINDS[name].units))[0]
    for number in range(len(files_of(first))):
        continued(name, lambda own, _, number=number: edit(files_of(own[0])[number]))


@pytest.mark.parametrize("flips", [12, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", KINDS)
def test_a_flipped_bit_is_not_believed(continued, name, flips):
    rng = random.Random(name)

    def flip(own, _):
        path = rng.choice(files_of(own[0]))
        content = bytearray(path.read_bytes())
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)

    for _ in range(flips):
        continued(name, flip)


@pytest.mark.parametrize("name", KINDS)
def test_a_truncated_file_is_not_believed(continued, name):
    rng = random.Random(name)

    def cut(own, _):
        path = rng.choice(files_of(own[0]))
        content = path.read_bytes()
        path.write_bytes(content[: rng.choice([0, len(content) - 1, rng.randrange(len(content))])])

    for _ in range(CUTS):
        continued(name, cut)


def put(unit, target):
    shutil.rmtree(target) if target.is_dir() else target.unlink()
    shutil.copytree(unit, target) if unit.is_dir() else shutil.copy(unit, target)


@pytest.mark.parametrize("name", KINDS)
def test_a_part_of_another_run_is_not_believed(continued, runs, name):
    units = sorted(runs(name)[1]["a"].glob(KINDS[name].units))
    for number in range(len(files_of(units[0]))):
        continued(
            name, lambda own, other, i=number: put(files_of(other[0])[i], files_of(own[0])[i])
        )
    continued(name, lambda own, other: put(other[0], own[0]))
    if len(units) > 1:
        continued(name, lambda own, _: put(own[1], own[0]))


@pytest.mark.parametrize("content", ["x", '{"score": "x", "step": 0}', "[]", '{"score": 9.99}'])
def test_a_trial_without_a_checksum_is_run_again_with_a_note(tmp_path, capsys, content):
    """As an earlier version wrote it, or an editor."""
    expected = searched(tmp_path, "a", False)
    path = tmp_path / "trial000/result.json"
    path.write_text(content)
    assert searched(tmp_path, "a", False) == expected
    assert f"note: {path}: " in capsys.readouterr().err


def test_lost_rows_are_said(tmp_path, capsys):
    with pytest.raises(KeyboardInterrupt):
        predicted(tmp_path, "a", True)
    path = tmp_path / ".out.tsv.rows.partial/000000001.npz"
    path.write_bytes(b"x" + path.read_bytes()[1:])
    predicted(tmp_path, "a", False)
    assert "out.tsv: the last 2 parts" in capsys.readouterr().err
