"""`bench` on small labelled tasks: scores, both subsets, the same bytes elsewhere and after a stop."""

import json
import shutil
from hashlib import sha256
from pathlib import Path

import h5py
import numpy as np
import pytest
from sklearn.metrics import accuracy_score, roc_auc_score

from dna_bigbird.bench import trainings
from dna_bigbird.bench.trainings import TaskTraining
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.locks import kernel_lock
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.metrics.task_results import SUBSETS, TaskResult
from dna_bigbird.training.label_config import LabelTrainConfig
from tests.pipeline.bench.label_runs import (
    TASKS,
    run_bench,
    write_genome,
    write_suite,
    write_task,
)
from tests.pretrained_bundle import write_pretrained_bundle

BASELINES = ["kmer", "gc", "composition", "positional"]
SOURCES = ["model", "random_weights", "cnn", *BASELINES, "majority"]
PARTS = [f"{name}/seed0" for name in BASELINES] + [
    f"{name}/seed{seed}" for name in ("cnn", "model", "random_weights") for seed in (0, 1)
]
"""In the order in which they are computed."""


@pytest.fixture(scope="module", autouse=True)
def _short_cnn():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainings, "CNN_FEWEST", 6)
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Folder of the suite, genome, and model."""
    folder = tmp_path_factory.mktemp("suite")
    return *write_suite(folder), write_pretrained_bundle(folder / "model")


@pytest.fixture(scope="module")
def finished(files, tmp_path_factory):
    """Output of a whole run of both tasks, and what it returned."""
    output = tmp_path_factory.mktemp("whole") / "bench"
    return output, run_bench(*files, output, page=True)


@pytest.fixture
def resumed(files, finished, tmp_path):
    """Function (part of one task to leave out, …, options) -> bytes of its task.json and parts computed."""
    computed = []

    def run(*absent, **options):
        output = tmp_path / "again"
        shutil.rmtree(output, ignore_errors=True)
        shutil.copytree(finished[0], output)
        for name in absent:
            path = output / TASKS[0] / name
            path.unlink() if path.is_file() else shutil.rmtree(path)
        computed.clear()
        run_bench(*files, output, tasks=[TASKS[0]], **options)
        return (output / TASKS[0] / "task.json").read_bytes(), list(computed)

    original = TaskTraining._compute

    def compute(self, source, seed, folder):
        computed.append(f"{source}/seed{seed}")
        return original(self, source, seed, folder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TaskTraining, "_compute", compute)
        yield run


def task_json(output, task=TASKS[0]):
    return (output / task / "task.json").read_bytes()


def test_every_source_has_both_subsets(finished):
    output, result = finished
    for name in TASKS:
        task = TaskResult.from_json(json.loads(task_json(output, name)))
        assert [source.name for source in task.sources] == SOURCES
        for source in task.sources:
            assert list(source.scores) == list(SUBSETS)
            assert set(source.minus) == (set() if source.name == "model" else set(SUBSETS))
            has_strands = source.name in ("model", "random_weights")
            assert set(source.strands) == ({"flip_rate", "correlation"} if has_strands else set())
            seeds = 1 if source.name in (*BASELINES, "majority") else 2
            assert len(source.scores["published"]["accuracy"].by_seed) == seeds
            assert source.is_trained == (source.name != "majority")
    assert [x.task for x in result.results] == list(TASKS)
    for name in TASKS:
        assert name in result.summary()


def test_counts_are_those_of_the_files(files, finished):
    first, second = (json.loads(task_json(finished[0], name)) for name in TASKS)
    assert first["n"] == {"published": 18, "leak_free": 16}
    assert first["leaks"]["shares_bases"] == 2
    assert sum(first["leaks"].values()) == 2
    assert second["n"] == {"published": 18, "leak_free": 18}
    assert set(second["leaks"].values()) == {0}
    for task, read in ((first, 42), (second, 42)):
        counts = task["counts"]
        assert counts["rows_read"] == read
        assert counts["rows_train"] + counts["rows_validation"] == 24
        assert (counts["rows_validation"], counts["rows_test"]) == (3, 18)
        assert task["label_names"] == ["negative", "positive"]
        assert (
            task["settings"]["model_sha256"]
            == sha256((files[2] / "model.safetensors").read_bytes()).hexdigest()
        )
        assert (task["seeds"], task["settings"]["replicates"]) == ([0, 1], 20)


def stored(folder, source, seed, rows):
    """The scores of some rows in a part, mean of both strands."""
    paths = sorted((folder / source / f"seed{seed}").glob("*.h5"))
    assert [path.name for path in paths] in (["forward.h5"], ["forward.h5", "reverse.h5"])
    tables = []
    for path in paths:
        with h5py.File(path) as file:
            tables.append(file["scores"][:][np.isin(file["rows"][:], rows)])
    return np.mean(tables, axis=0)


@pytest.mark.parametrize("task", TASKS)
def test_scores_are_those_of_the_stored_predictions(finished, task):
    """Test rows 16 and 17 of the first task are those that share bases with training rows."""
    values = json.loads(task_json(finished[0], task))
    parts = finished[0] / task / "parts"
    labelled = LabelledSet(parts / "set.h5")
    rows = labelled.rows("test")
    is_positive = labelled.labels_of(rows)[:, 1]
    overlaps = [labelled.interval(int(row)).start < 2_400 for row in rows]
    keeps = {"published": np.ones(18, bool), "leak_free": ~np.array(overlaps) | (task != TASKS[0])}
    for source in values["sources"]:
        if source["name"] == "majority":
            assert source["scores"]["published"]["auroc"]["value"] == 0.5
            continue
        for subset, mask in keeps.items():
            scores = source["scores"][subset]
            for seed in range(len(scores["accuracy"]["by_seed"])):
                table = stored(parts, source["name"], seed, rows)[mask]
                truth = is_positive[mask]
                expected = accuracy_score(truth, table.argmax(axis=1))
                assert scores["accuracy"]["by_seed"][seed] == pytest.approx(expected, abs=1e-6)
                expected = roc_auc_score(truth, table[:, 1])
                assert scores["auroc"]["by_seed"][seed] == pytest.approx(expected, abs=1e-6)


def test_a_second_call_trains_nothing(files, finished, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("trained again")

    for name in ("finetune", "fit_network_baseline", "fit_kmer_baseline", "Predictor"):
        monkeypatch.setattr(trainings, name, refuse)
    output = finished[0]
    before = [task_json(output, name) for name in TASKS]
    run_bench(*files, output)
    assert [task_json(output, name) for name in TASKS] == before
    assert not list(output.rglob("checkpoints"))
    assert not list(output.rglob("bundle"))


def test_what_a_killed_run_left_behind_is_removed(files, finished, tmp_path):
    """Killed after a part was recorded as finished, before its folders were removed."""
    output = tmp_path / "bench"
    shutil.copytree(finished[0], output)
    part = output / TASKS[0] / "parts" / "model" / "seed0"
    for name in ("bundle", "checkpoints"):
        (part / name).mkdir()
        (part / name / "weights").write_bytes(b"large")
    run_bench(*files, output, tasks=[TASKS[0]])
    assert sorted(path.name for path in part.iterdir()) == ["done.json", "forward.h5", "reverse.h5"]


def test_another_version_of_the_package_computes_all_again(resumed, finished, monkeypatch):
    monkeypatch.setattr("dna_bigbird.bench.parts.__version__", "0.0.0")
    text, computed = resumed()
    assert computed == PARTS
    assert text == task_json(finished[0])


def test_another_config_of_the_model_is_computed_again(resumed, files, finished):
    """The weights are the same bytes; only the record of what was read differs."""
    path = files[2] / "config.json"
    before = path.read_bytes()
    config = json.loads(before)
    path.write_text(json.dumps(config | {"metadata": {"note": "other"}}))
    try:
        assert resumed()[1] == PARTS[6:]
    finally:
        path.write_bytes(before)


def test_the_same_bytes_in_another_folder(files, finished, tmp_path):
    """Also of data, genome and model; nothing but the names of the files counts."""
    moved = [tmp_path / "elsewhere" / path.name for path in files]
    for old, new in zip(files, moved, strict=True):
        shutil.copytree(old, new) if old.is_dir() else shutil.copy(old, new)
    run_bench(*moved, tmp_path / "x" / "bench", tasks=["*enhancers*"])
    assert task_json(tmp_path / "x" / "bench") == task_json(finished[0])
    assert not (tmp_path / "x" / "bench" / TASKS[1]).exists()


def test_stopped_in_every_part_it_ends_with_the_same_bytes(files, finished, tmp_path, monkeypatch):
    """Each call finishes one part and is stopped in the next, before or after its files are written."""
    original, calls = TaskTraining._compute, []

    def one_then_stop(self, source, seed, folder):
        calls.append(f"{source}/seed{seed}")
        if len(calls) == 1:
            return original(self, source, seed, folder)
        if stop_at_end:
            original(self, source, seed, folder)
        raise RuntimeError("stopped")

    monkeypatch.setattr(TaskTraining, "_compute", one_then_stop)
    for number in range(len(PARTS) - 1):
        stop_at_end = number in (0, 3, 5)
        calls.clear()
        with pytest.raises(RuntimeError, match="stopped"):
            run_bench(*files, tmp_path, tasks=[TASKS[0]])
        assert calls == PARTS[number : number + 2]
        assert not (tmp_path / TASKS[0] / "task.json").exists()
    calls.clear()
    run_bench(*files, tmp_path, tasks=[TASKS[0]])
    assert calls == PARTS[-1:]
    assert task_json(tmp_path) == task_json(finished[0])
    assert not list(tmp_path.rglob("checkpoints"))


def test_stopped_between_training_and_scores(files, finished, tmp_path, monkeypatch):
    output = tmp_path / "bench"
    shutil.copytree(finished[0], output)
    shutil.rmtree(output / TASKS[0] / "parts" / "model" / "seed1")
    with monkeypatch.context() as patch:
        patch.setattr(TaskTraining, "_write_strands", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            run_bench(*files, output, tasks=[TASKS[0]])
    run_bench(*files, output, tasks=[TASKS[0]])
    assert task_json(output) == task_json(finished[0])


@pytest.mark.parametrize("absent", ["done.json", ""], ids=["files", "nothing"])
def test_a_part_without_its_last_file_is_computed_again(resumed, finished, absent):
    name = f"parts/model/seed0/{absent}".rstrip("/")
    text, computed = resumed(name, "parts/set.h5", "task.json")
    assert computed == ["model/seed0"]
    assert text == task_json(finished[0])


def test_more_seeds_keep_the_finished_ones(resumed, finished):
    text, computed = resumed(seeds=3)
    assert computed == [f"{name}/seed2" for name in ("cnn", "model", "random_weights")]
    before, after = (
        {source["name"]: source["scores"] for source in json.loads(x)["sources"]}
        for x in (task_json(finished[0]), text)
    )
    for name in ("cnn", "model", "random_weights"):
        old, new = (x[name]["published"]["accuracy"]["by_seed"] for x in (before, after))
        assert (len(old), new[:2]) == (2, old)
    assert resumed(seeds=1)[1] == []


def test_validation_rows_choose_neither_strands_nor_a_correction(resumed, finished, monkeypatch):
    """Both strands are trained, without counts, and a correction in the bundle changes no score."""
    original, asked = trainings.finetune, []

    def with_correction(**settings):
        asked.append(settings)
        trained = original(**settings)
        path = Path(settings["output"]) / "config.json"
        config = json.loads(path.read_text()) | {"calibration": {"temperature": 0.2, "n": 500}}
        path.write_text(json.dumps(config))
        return trained

    monkeypatch.setattr(trainings, "finetune", with_correction)
    text, computed = resumed("parts/model/seed0", "task.json")
    assert computed == ["model/seed0"]
    assert text == task_json(finished[0])
    (settings,) = asked
    assert settings["training"].both_strands is True
    assert (settings["words"].max_k, settings["words"].by_position) == (0, False)


def test_changed_settings_are_computed_again(resumed):
    changed = LabelTrainConfig(
        max_steps=1, batch_size=4, validate_every=1, precision="32-true", measure_speed=False
    )
    text, computed = resumed(training=changed)
    assert computed == PARTS[6:]
    assert json.loads(text)["settings"]["training"]["max_steps"] == 1
    assert resumed(replicates=10)[1] == []


@pytest.mark.parametrize(
    ("method", "words"), [("probe", "a regression on its states"), ("lora", "LoRA, 2 steps")]
)
def test_other_methods_train_the_model_again(resumed, method, words):
    text, computed = resumed(method=method, seeds=1)
    assert computed == ["model/seed0", "random_weights/seed0"]
    sources = json.loads(text)["sources"]
    assert sources[0]["description"] == f"BigBird from pretrained weights, {words}"
    assert sources[1]["description"] == f"BigBird from random weights, {words}"


def test_of_labels_that_say_nothing_the_probe_is_as_good_as_the_majority(files, tmp_path):
    """Rows of random bases with the labels of every other place, in the same shares in both parts."""
    fasta = write_genome(tmp_path, 400, motif="")
    data = tmp_path / "data"
    write_task(data, TASKS[0], train=range(100), test=range(100, 400))
    (result,) = run_bench(
        data, fasta, files[2], tmp_path / "bench", method="probe", seeds=1, replicates=200
    ).results
    assert result.n == {"published": 300, "leak_free": 300}
    model, majority = (
        next(x for x in result.sources if x.name == name) for name in ("model", "majority")
    )
    score = model.scores["published"]["accuracy"]
    assert majority.scores["published"]["accuracy"].value == 0.5
    assert score.low <= 0.5 <= score.high
    assert score.high - score.low < 0.2
    difference = majority.minus["published"]
    assert difference.value == pytest.approx(score.value - 0.5, abs=1e-6)
    assert difference.low <= 0 <= difference.high


def test_of_labels_that_a_motif_shows_counts_of_words_beat_the_majority(files, tmp_path):
    """The same rows with a motif in every other place: the difference is clear."""
    fasta = write_genome(tmp_path, 400)
    data = tmp_path / "data"
    write_task(data, TASKS[0], train=range(100), test=range(100, 400))
    (result,) = run_bench(
        data, fasta, files[2], tmp_path / "bench", method="probe", seeds=1, replicates=200
    ).results
    by_name = {source.name: source.scores["published"]["accuracy"] for source in result.sources}
    assert by_name["kmer"].low > 0.8
    assert by_name["gc"].low > 0.6
    assert by_name["majority"].value == 0.5


def test_the_table_has_a_row_per_task_subset_and_source(finished):
    table = finished[1].to_dataframe()
    assert len(table) == len(TASKS) * len(SOURCES) * 2
    row = table[(table.task == TASKS[0]) & (table.subset == "leak_free") & (table.source == "gc")]
    values = json.loads(task_json(finished[0]))["sources"][SOURCES.index("gc")]
    assert row["value"].item() == values["scores"]["leak_free"]["accuracy"]["value"]
    assert row["n"].item() == 16


def test_a_part_that_was_being_replaced_is_computed_again(files, finished, tmp_path, monkeypatch):
    """Stopped after the scores of other settings were written, before they were recorded as finished."""
    output, part = tmp_path / "bench", Path(TASKS[0]) / "parts" / "model" / "seed0"
    shutil.copytree(finished[0], output)
    original = TaskTraining._compute

    def then_stop(self, source, seed, folder):
        original(self, source, seed, folder)
        raise RuntimeError("stopped")

    with monkeypatch.context() as patch:
        patch.setattr(TaskTraining, "_compute", then_stop)
        with pytest.raises(RuntimeError, match="stopped"):
            run_bench(*files, output, tasks=[TASKS[0]], method="probe")
    assert (output / part / "forward.h5").read_bytes() != (
        finished[0] / part / "forward.h5"
    ).read_bytes()
    run_bench(*files, output, tasks=[TASKS[0]])
    assert task_json(output) == task_json(finished[0])


@pytest.mark.parametrize("content", [None, b"", b"not scores"])
def test_an_absent_or_damaged_score_file_is_computed_again(files, finished, tmp_path, content):
    output = tmp_path / "bench"
    shutil.copytree(finished[0], output)
    scores = output / TASKS[0] / "parts" / "kmer" / "seed0" / "forward.h5"
    scores.unlink()
    if content is not None:
        scores.write_bytes(content)
    run_bench(*files, output, tasks=[TASKS[0]])
    assert task_json(output) == task_json(finished[0])


def test_two_runs_of_one_task(files, finished, tmp_path):
    output = tmp_path / "bench"
    shutil.copytree(finished[0], output)
    with (
        kernel_lock(output / TASKS[0] / "parts" / ".lock", "busy"),
        pytest.raises(InputError, match="another process runs this task now"),
    ):
        run_bench(*files, output, tasks=[TASKS[0]])


def test_the_page_has_the_tasks_of_earlier_calls(files, finished, tmp_path):
    output = tmp_path / "bench"
    shutil.copytree(finished[0], output)
    run_bench(*files, output, tasks=[TASKS[1]], page=True)
    text = (output / "page" / "table.tsv").read_text()
    assert all(f"\t{name}\t" in text for name in TASKS)
