"""Rows from a store: those that the task makes of all examples at once, written once and by one process."""

import contextlib
import dataclasses
import gzip
import hashlib
import os
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from dna_bigbird.bundles import text_tasks
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.locks import kernel_lock
from dna_bigbird.prediction.partial_results_file import PartialResults
from dna_bigbird.text import stored_sets
from dna_bigbird.text.data.row_store import read_row_store
from dna_bigbird.text.data.rows import TextSet
from dna_bigbird.text.made.writing import write_made_text
from dna_bigbird.text.set_source import SetSource
from dna_bigbird.text.stored_sets import parts_path, stored_set
from dna_bigbird.text.tasks.task import task_for_set
from tests.text_vocabulary import tiny_text_tokenizer

SETS = [name for name, (_, each) in text_tasks.sets().items() if each.synthetic_files]
NQ = "natural-questions"
EXAMPLES = 16


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "text"
    write_made_text(folder, seed=0, examples=EXAMPLES)
    return folder


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(stored_sets, "EXAMPLES_PER_PART", 3)


def small_task(name, two_streams=False):
    task = task_for_set(name)
    small = {"max_tokens": 128, "max_source_tokens": 64, "stride": 32, "max_question_tokens": 16}
    small |= {"max_global_tokens": 40, "null_rate": 0.4}
    known = {field.name for field in dataclasses.fields(task.options)}
    task.options = dataclasses.replace(
        task.options, **{k: v for k, v in small.items() if k in known}
    )
    if hasattr(task.head, "end_id"):
        task.head = dataclasses.replace(task.head, start_id=2, end_id=1)
    task.two_streams = two_streams
    return task


def source_of(made, name, split="train", task=None, **settings):
    files = text_tasks.sets()[name][1].synthetic_files
    path = made / files[min(("train", "validation").index(split), len(files) - 1)]
    task = task or small_task(name)
    tokenizer = tiny_text_tokenizer()
    return SetSource(
        task, tokenizer, path, split, 512, **({"training": split == "train"} | settings)
    )


def in_memory(source) -> TextSet:
    """All rows at once, as the path without a store makes them."""
    task = source.task
    examples, counts = task.read(source.path, source.split)
    examples = list(examples)
    if source.training:
        task.labels = task.label_names(examples)
    rows = task.rows(examples, source.tokenizer, training=source.training)
    return TextSet(examples, rows.rows, {**counts, **rows.counts})


def assert_same_rows(actual, expected):
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        assert one.example == other.example
        mine, others = (
            {"ids": r.token_ids, "segments": r.segment_ids, **r.arrays} for r in (one, other)
        )
        assert list(mine) == list(others)
        for name, array in others.items():
            if array is None:
                assert mine[name] is None
                continue
            assert (mine[name].dtype, mine[name].shape) == (array.dtype, array.shape)
            np.testing.assert_array_equal(mine[name], array)


def sha256_of_rows(rows):
    """The checksum of a run's settings, written again."""
    digest = hashlib.sha256()
    for row in rows:
        for name, array in {
            "token_ids": row.token_ids,
            "segment_ids": row.segment_ids,
            **row.arrays,
        }.items():
            digest.update(f"{name} {row.example} {None if array is None else array.shape}".encode())
            digest.update(b"" if array is None else array.tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("name", SETS)
def test_a_store_has_the_rows_that_are_made_at_once(made, tmp_path, name):
    labels = []
    for split in ("train", "validation"):
        source = source_of(made, name, split)
        source.task.labels = labels
        rows = stored_set(tmp_path / f"{split}.h5", source)
        expected = in_memory(source_of(made, name, split, task=source.task))
        assert_same_rows(rows.rows, expected.rows)
        assert rows.counts == expected.counts
        assert rows.labels == source.task.labels
        assert len(rows.examples) == len(expected.examples)
        assert list(rows.rows.lengths) == [len(row.token_ids) for row in expected.rows]
        assert rows.rows_sha256 == sha256_of_rows(expected.rows)
        assert source.task.units(rows) == source.task.units(expected)
        labels = source.task.labels
    assert repr(list(rows.examples)) == repr(expected.examples)
    gold = hashlib.sha256("".join(map(repr, expected.examples)).encode()).hexdigest()
    assert rows.examples_sha256 == gold


def test_null_windows_are_drawn_by_the_number_in_the_whole_set(made, tmp_path):
    """Part by part as at once; 40 % of the windows without an answer stay."""
    rows = stored_set(tmp_path / "rows.h5", source_of(made, NQ))
    assert rows.counts["null windows left out"] > 0


@pytest.mark.parametrize("name", ["hotpotqa", NQ, "triviaqa", "wikihop"])
def test_rows_of_two_streams(made, tmp_path, name):
    source = source_of(made, name, task=small_task(name, two_streams=True))
    rows = stored_set(tmp_path / "rows.h5", source)
    assert "links" in rows.rows[0].arrays
    assert_same_rows(rows.rows, in_memory(source).rows)


def test_a_sample_of_the_examples(made, tmp_path):
    """The examples that a validation of so many has always drawn."""
    whole = in_memory(source_of(made, NQ, "validation"))
    rows = stored_set(tmp_path / "rows.h5", source_of(made, NQ, "validation", limit=2, seed=5))
    drawn = np.random.default_rng([5, 2]).choice(len(whole.examples), size=2, replace=False)
    assert repr(list(rows.examples)) == repr([whole.examples[i] for i in sorted(drawn)])
    assert set(rows.rows.example_numbers.tolist()) == {0, 1}


@pytest.mark.parametrize("name", SETS)
def test_every_file_that_is_read_is_part_of_the_identity(made, name):
    opened, task = set(), small_task(name)
    path = source_of(made, name, "validation").path
    record = lambda event, args: event == "open" and opened.add(str(args[0]))  # noqa: E731
    active = [True]
    sys.addaudithook(lambda event, args: active and record(event, args))
    list(task.read(path, "validation")[0])
    active.clear()
    read = {file for file in opened if file.startswith(str(made))}
    assert read
    inputs = [str(each) for each in task.inputs(path)]
    assert all(any(file == each or file.startswith(f"{each}/") for each in inputs) for file in read)


def dead_child(action) -> int:
    """Run something in a child process that ends without any clean-up; return its status."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            action()
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def die(*_, **__):
    os._exit(9)


KILLS = {
    "before the first part": (stored_sets.PartMaker, "__call__", 0),
    "between parts": (stored_sets.PartMaker, "__call__", 3),
    "within a part's bytes": (Path, "write_bytes", 3),
    "while parts are joined": (stored_sets, "added_up", 0),
}


@pytest.mark.parametrize("kill", KILLS)
def test_a_killed_process_leaves_no_half_store_and_the_next_goes_on(
    made, tmp_path, monkeypatch, kill
):
    whole = tmp_path / "whole.h5"
    stored_set(whole, source_of(made, NQ))
    path = tmp_path / "run" / "rows.h5"
    owner, name, calls = KILLS[kill]
    original, count = getattr(owner, name), [0]

    def killed(*args):
        count[0] += 1
        if count[0] > calls:
            if name == "write_bytes":
                original(args[0], args[1][: len(args[1]) // 2])
            die()
        return original(*args)

    def child():
        setattr(owner, name, killed)
        if name == "added_up":
            stored_sets.write_row_store = lambda path, parts, *_: [next(parts), die()]
        stored_set(path, source_of(made, NQ))

    assert dead_child(child) == 9
    assert not path.exists()
    assert parts_path(path).exists()
    made_parts = []
    make = stored_sets.PartMaker.__call__
    monkeypatch.setattr(
        stored_sets.PartMaker,
        "__call__",
        lambda self, chunk: made_parts.append(chunk) or make(self, chunk),
    )
    stored_set(path, source_of(made, NQ))
    parts = -(-EXAMPLES // 3)
    finished = {"between parts": 3, "within a part's bytes": 2, "while parts are joined": parts}
    assert len(made_parts) == parts - finished.get(kill, 0)
    assert path.read_bytes() == whole.read_bytes()
    assert sorted(file.name for file in path.parent.iterdir()) == ["rows.h5"]


def test_a_second_start_reads_no_example(made, tmp_path, monkeypatch):
    path = tmp_path / "rows.h5"
    first = stored_set(path, source_of(made, "patents"))
    source = source_of(made, "patents")
    monkeypatch.setattr(type(source.task), "read", die)
    monkeypatch.setattr(type(source.task), "rows", die)
    again = stored_set(path, source)
    assert again.labels == first.labels
    assert_same_rows(again.rows, first.rows)


def test_other_processes_wait_for_the_one_that_writes(made, tmp_path):
    path = tmp_path / "rows.h5"
    source = source_of(made, NQ)

    def other():
        type(source.task).rows = die
        os._exit(0 if len(stored_set(path, source_of(made, NQ)).rows) else 2)

    with kernel_lock(parts_path(path) / ".lock", busy="busy"):
        child = os.fork()
        if child == 0:
            other()
        stored_sets._write(PartialResults(path, parts_path(path)), source, source.identity(), 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def changed_file(source):
    source.path.write_bytes(source.path.read_bytes())
    os.utime(source.path, ns=(1, 1))
    return source


def other_options(source):
    options = dataclasses.replace(source.task.options, max_tokens=100)
    source.task.options = options
    return source


class OtherNames:
    """A vocabulary with another file."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __getattr__(self, name):
        return getattr(self.tokenizer, name)

    @property
    def files(self):
        return {**self.tokenizer.files, "special_tokens_map.json": b"{}"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (changed_file, "its data was"),
        (other_options, "its options.max_tokens was 128, now it is 100"),
        (lambda source: dataclasses.replace(source, tokenizer=OtherNames(source.tokenizer)), "its tokenizer was"),
        (lambda source: dataclasses.replace(source, training=False), "its training was"),
    ],
)  # fmt: skip
def test_rows_are_made_again_when_anything_changes(made, tmp_path, capsys, change, named):
    copy = tmp_path / "nq-train-00.jsonl.gz"
    copy.write_bytes(source_of(made, NQ).path.read_bytes())
    path = tmp_path / "rows.h5"
    source = dataclasses.replace(source_of(made, NQ), path=copy)
    stored_set(path, source)
    before = path.stat().st_ino
    stored_set(path, source)
    assert path.stat().st_ino == before
    assert capsys.readouterr().err.count("made again") == 0
    changed = change(source)
    stored_set(path, changed)
    assert f"rows.h5: its rows are made again: {named}" in capsys.readouterr().err
    assert path.stat().st_ino != before
    assert read_row_store(path)[1] == changed.identity()


def test_parts_of_other_settings_are_not_used(made, tmp_path):
    path, whole = tmp_path / "rows.h5", tmp_path / "whole.h5"
    first = source_of(made, NQ)
    with kernel_lock(parts_path(path) / ".lock", busy=None):
        stored = PartialResults(path, parts_path(path))
        stored.start(first.identity())
        stored.append(stored_sets.PartMaker(first.task, first.tokenizer, training=True, keep_examples=False)(
            (0, list(first.read()[0])[:3])
        )._asdict())  # fmt: skip
    stored_set(path, other_options(source_of(made, NQ)))
    stored_set(whole, other_options(source_of(made, NQ)))
    assert path.read_bytes() == whole.read_bytes()


def test_damage(made, tmp_path, capsys):
    path = tmp_path / "rows.h5"
    stored_set(path, source_of(made, NQ))
    content = path.read_bytes()
    with h5py.File(path) as file:
        offsets = file["row_offsets"][:]
        record = file["rows"][: offsets[1]].tobytes()
    place = content.index(record) + len(record) // 2
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    with pytest.raises(InputError, match=r"rows\.h5: damaged: .*; delete it; the same command"):
        stored_set(path, source_of(made, NQ)).rows[0]
    place = content.index(offsets.tobytes()) + 8
    path.write_bytes(content[:place] + b"\7" + content[place + 1 :])
    capsys.readouterr()
    stored_set(path, source_of(made, NQ))
    assert path.read_bytes() == content
    assert "its rows are made again: damaged: the sha256 of row_offsets" in capsys.readouterr().err


def test_wrong_input_leaves_nothing(made, tmp_path):
    wrong = tmp_path / "nq-train-00.jsonl"
    lines = gzip.decompress(source_of(made, NQ).path.read_bytes()).splitlines()
    wrong.write_bytes(b"\n".join([*lines[:8], b'{"example_id": 3}']))
    source = dataclasses.replace(source_of(made, NQ), path=wrong)
    with pytest.raises(InputError, match=r"nq-train-00.jsonl:9 \(3\): no 'document_text'"):
        stored_set(tmp_path / "run" / "rows.h5", source)
    source = dataclasses.replace(source_of(made, NQ), max_tokens=100)
    with pytest.raises(InputError, match=r"a row of 1\d\d tokens; the model reads at most 100"):
        stored_set(tmp_path / "run" / "rows.h5", source)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_several_processes_write_the_same_bytes(made, tmp_path, monkeypatch):
    alone, several = tmp_path / "alone.h5", tmp_path / "several.h5"
    stored_set(alone, source_of(made, NQ))
    monkeypatch.setattr(stored_sets, "PARTS_ALONE", 1)
    stored_set(several, source_of(made, NQ), threads=2)
    assert alone.read_bytes() == several.read_bytes()


def test_a_set_without_examples_or_rows_is_refused(made, tmp_path):
    empty = tmp_path / "nq-train-00.jsonl"
    empty.write_text("\n")
    source = dataclasses.replace(source_of(made, NQ), path=empty)
    with pytest.raises(InputError, match=r"nq-train-00.jsonl: no example of the train split"):
        stored_set(tmp_path / "rows.h5", source)
    task = small_task(NQ)
    task.options = dataclasses.replace(task.options, null_rate=0.0)
    page = gzip.decompress(source_of(made, NQ).path.read_bytes()).splitlines()[6]
    empty.write_bytes(page)
    source = dataclasses.replace(source_of(made, NQ, task=task), path=empty)
    with pytest.raises(
        InputError, match=r"nothing to read in 1 examples \(null windows left out 2\)"
    ):
        stored_set(tmp_path / "rows.h5", source)
    assert [file.name for file in tmp_path.iterdir()] == [empty.name]
