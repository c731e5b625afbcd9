"""benchmarks/gpu.py: every part at tiny sizes on the CPU; cuts, failures and calls that go on."""

import json
import math
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch

from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.pretraining_task import PretrainingTask
from tests.benchmarks.blocked import run_without

TINY = ("--device", "cpu", "--sizes", "tiny")


def entries(folder: Path, letter: str) -> list[dict]:
    return json.loads((folder / f"part_{letter}.json").read_text())["rows"]


def test_every_part_without_the_command_line(script, tmp_path, capsys):
    done = run_without("gpu.py", *TINY, "--output", tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "gpu.md").read_text()
    gpu = script("gpu")
    for letter, (title, _) in gpu.PARTS.items():
        assert f"## ({letter}) {title}\n" in page
        for entry in entries(tmp_path, letter):
            assert "values" in entry or "transformers" in entry["failed"], entry
    for text in (
        "- device: ",
        "- torch: ",
        "- rows measured: ",
        "| training throughput, 4,096 tok",
    ):
        assert text in page
    assert "not run" not in page
    assert len(list(tmp_path.iterdir())) == 8  # that is how many files a lent machine gives back
    exactness = [entry["values"] for entry in entries(tmp_path, "a")]
    assert all(0 < values["worst excess"] <= 1 and values["count"] for values in exactness)
    assert all(entry["values"]["bitwise equal"] for entry in entries(tmp_path, "e"))
    assert entries(tmp_path, "g")[0]["values"]["sum is right"] is True

    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    capsys.readouterr()
    gpu.main([*TINY, "--output", str(tmp_path)])
    assert capsys.readouterr().out.startswith("# Measured on a CPU")  # no row ran
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


class Rows:
    """A part of three rows; the second one fails."""

    def __init__(self, rows: ModuleType) -> None:
        self.rows_of = rows
        self.calls: list[str] = []

    def rows(self, settings) -> list:
        def row(name: str, priority: int):
            return self.rows_of.Row({"name": name}, lambda: self.measure(name), priority=priority)

        return [row("late", 2), row("broken", 1), row("early", 1)]

    def measure(self, name: str) -> dict:
        self.calls.append(name)
        if name == "broken":
            raise RuntimeError("no kernel | here\nand a second line")
        return {"ms": 1.5}


@pytest.fixture
def parts(script, monkeypatch) -> dict[str, Rows]:
    """Two parts that are quick, in place of those of gpu.py."""
    gpu = script("gpu")
    quick = {letter: Rows(script("gpu_rows")) for letter in "ab"}
    for letter, part in quick.items():
        monkeypatch.setitem(sys.modules, f"quick_{letter}", part)
    monkeypatch.setattr(gpu, "PARTS", {letter: (letter, f"quick_{letter}") for letter in quick})
    return quick


@pytest.fixture
def call(script, tmp_path, capsys):
    """Call the script and return what it prints."""

    def run(*words: str) -> str:
        capsys.readouterr()
        script("gpu").main([*TINY, "--output", str(tmp_path), *words])
        return capsys.readouterr().out

    return run


def test_a_row_that_fails_is_reported_and_ends_nothing(parts, call):
    text = call()
    assert text.count("| broken | – | failed: RuntimeError: no kernel / here |") == 2
    assert text.count("| early | 1.5 |  |") == text.count("| late | 1.5 |  |") == 2
    assert [part.calls for part in parts.values()] == [["broken", "early", "late"]] * 2
    assert text.index("(a) name early") < text.index("(b) name early") < text.index("(a) name late")


def test_a_part_that_cannot_begin_is_reported(parts, call, monkeypatch):
    monkeypatch.setitem(sys.modules, "quick_a", None)
    text = call()
    assert "| a | failed: ModuleNotFoundError: import of quick_a halted" in text
    assert text.count("| early | 1.5 |  |") == 1


def test_named_parts_run_alone_and_again_if_complete(parts, call):
    text = call("--parts", "b")
    assert "## (a) a\n\nnot run: not asked for\n" in text
    assert parts["a"].calls == []
    call()
    assert len(parts["a"].calls) == len(parts["b"].calls) == 3
    call("--parts", "b")
    assert (len(parts["a"].calls), len(parts["b"].calls)) == (3, 6)


def test_failed_rows_alone_are_run_again(parts, call):
    call("--parts", "a")
    call("--parts", "a", "--retry")
    assert parts["a"].calls == ["broken", "early", "late", "broken"]


def test_a_cut_call_says_so_and_the_next_one_goes_on(parts, call, tmp_path):
    text = call("--minutes", "0")
    assert text.count("| not run: out of time |") == 6
    assert not list(tmp_path.glob("part_*"))
    assert "nothing measured yet" in text
    assert "not run" not in call()


def test_a_row_that_ends_the_process_is_tried_twice(parts, call, tmp_path):
    call("--parts", "a")
    path = tmp_path / "part_a.json"
    stored = json.loads(path.read_text())
    early = next(row for row in stored["rows"] if row["key"] == {"name": "early"})
    for started, calls in ((1, 1), (2, 0)):
        early.clear()
        early.update(key={"name": "early"}, started=started)
        path.write_text(json.dumps(stored))
        parts["a"].calls.clear()
        text = call()
        assert len(parts["a"].calls) == calls
    assert "| early | – | not run: the process ended 2 times in this row |" in text


def test_rows_of_another_machine_are_measured_again(parts, call, tmp_path):
    call("--parts", "a")
    path = tmp_path / "part_a.json"
    stored = json.loads(path.read_text())
    stored["versions"]["device"] = "another one"
    path.write_text(json.dumps(stored))
    call()
    assert len(parts["a"].calls) == 6


def test_no_row_begins_that_does_not_fit_into_the_time(script, tmp_path):
    rows = script("gpu_rows")
    part = rows.Part("a", tmp_path / "part_a.json", {}, {"versions": {}, "commit": "none"})
    part.rows = [
        rows.Row({"name": name}, dict, expected_s=seconds)
        for name, seconds in (("long", 60.0), ("short", 5.0))
    ]
    lines: list[str] = []
    rows.run_rows([part], deadline=30.0, report=lines.append, clock=lambda: 0.0)
    assert lines == ["(a) name long: not run: out of time", "(a) name short: done (0.0 s)"]


def test_cells(script):
    values = (1234567, 0.12345, 98765.4, True, None, "text")
    cells = [script("gpu_table").shown(value) for value in values]
    assert cells == ["1,234,567", "0.123", "98,765", "yes", "–", "text"]


def test_aims_are_compared_with_the_best_rows(script):
    def row(tokens, model, rate, **more):
        fixed = {"blocks of": 64, "compiled": False}
        return {"tokens": tokens, "model": model, "tokens/s": rate, **fixed, **more}

    training = [
        row(4096, "full", 100), row(4096, "full", 120, compiled=True), row(4096, "auto", 150),
        row(4096, "flex", 180), row(4096, "hf", 60), row(4096, "hf-strip", 90),
        row(16384, "auto", 290), row(16384, "full", 100), row(262144, "flex", 70),
    ]  # fmt: skip
    own = [
        {"backend": name, "compiled": False, "utilisation": x}
        for name, x in (("auto", 0.3), ("flex", 0.46))
    ]
    assert script("gpu_table").aims({"c": training, "d": own}) == [
        "| training throughput, 4,096 tokens, over full attention: 1.3× "
        "| 1.50× (flex, blocks of 64 over full, compiled) | yes |",
        "| training throughput, 16,384 tokens, over full attention: 3× "
        "| 2.90× (auto, blocks of 64 over full) | no |",
        "| training throughput, 65,536 tokens, over full attention: 9× | – | not measured |",
        "| a training step at 262,144 tokens | 70 tokens/s (flex, blocks of 64) | yes |",
        "| training throughput, 4,096 tokens, over hf: 3× "
        "| 3.00× (flex, blocks of 64 over hf, blocks of 64) | yes |",
        "| training throughput, 4,096 tokens, over hf-strip: 3× "
        "| 2.00× (flex, blocks of 64 over hf-strip, blocks of 64) | no |",
        "| utilisation of the measured peak in (d): 45% | 46.0% (flex) | yes |",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--parts", "az"), "--parts az: no part 'z'; of abcdefg"),
        (("--device", "cuda"), "PyTorch finds no GPU here; to try the script: --device cpu"),
    ],
)
def test_options_are_refused_with_a_reason(script, tmp_path, capsys, monkeypatch, words, message):
    monkeypatch.setattr(script("gpu").torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="2"):
        script("gpu").main(["--output", str(tmp_path), *words])
    assert message in capsys.readouterr().err


def test_the_full_sizes_have_every_row(script, monkeypatch):
    """Named as on a GPU with the backends of today; nothing is measured."""
    settings = script("gpu_settings").Settings("cuda", "full")
    gpu = script("gpu")
    keys = {letter: [row.key for row in gpu.rows_of(letter, settings)] for letter in gpu.PARTS}
    lengths = {4096, 16384, 65536, 262144}
    for letter in "bc":
        assert {key["tokens"] for key in keys[letter]} == lengths
        assert {key["blocks of"] for key in keys[letter]} == {64, 128}
    assert {key["mode"] for key in keys["b"]} == {"forward", "forward+backward"}
    names = {key["name"] for key in keys["b"]}
    assert {"flex", "gather", "dense", "hf", "hf-strip"} <= names
    assert {"full", "triton", "flex", "gather", "hf", "hf-strip"} <= {
        key["model"] for key in keys["c"]
    }
    for rows in keys.values():
        assert len({json.dumps(key) for key in rows}) == len(rows)


@pytest.mark.parametrize("main", ["triton", "flex"])
def test_what_the_aims_need_is_in_the_first_call(script, monkeypatch, main):
    settings = script("gpu_settings").Settings("cuda", "full")
    names = tuple(dict.fromkeys([main, "flex", "gather"]))
    monkeypatch.setattr(type(settings), "backends", names)
    gpu = script("gpu")
    rows = {letter: gpu.rows_of(letter, settings) for letter in gpu.PARTS}
    first = [row for part in rows.values() for row in part if row.priority == 1]
    assert sum(row.expected_s for row in first) < 9 * 60
    training = {(row.key["tokens"], row.key["model"]) for row in rows["c"] if row.priority == 1}
    assert {(tokens, "full") for tokens in (4096, 16384, 65536)} | {(4096, "hf")} < training
    assert {(tokens, main) for tokens in (4096, 16384, 65536, 262144)} < training
    assert main in {row.key["backend"] for row in rows["d"] if row.priority < 4}


def test_a_batch_that_does_not_fit_is_made_smaller(script, monkeypatch):
    steps = script("gpu_steps")
    tried = []

    def measure(fit):
        tried.append(fit.batch)
        if fit.batch > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return {"batch": fit.batch}

    fits = [steps.Fit(batch, False) for batch in (8, 4, 2, 1)]
    assert steps.first_that_fits(fits, measure) == {"batch": 2}
    assert tried == [8, 4, 2]
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate"):
        steps.first_that_fits(fits[:2], measure)

    # By estimate 32 sequences of the base model take 98 GB with gather and 56 GB with flex.
    card = SimpleNamespace(total_memory=80e9)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: card)
    settings = script("gpu_settings").Settings("cuda", "full")
    fits = [steps.Fit(batch, False) for batch in (32, 16, 8)]
    config = settings.encoder()
    assert [fit.batch for fit in steps.sizes_to_try(settings, config, fits, "gather")] == [16, 8]
    assert [fit.batch for fit in steps.sizes_to_try(settings, config, fits, "auto")] == [32, 16, 8]
    card.total_memory = 1e9
    assert [fit.batch for fit in steps.sizes_to_try(settings, config, fits, "flex")] == [8]


def test_fresh_weights_are_those_of_an_untrained_model(script):
    steps = script("gpu_steps")
    config = script("gpu_settings").Settings("cpu", "tiny").encoder()
    model = steps.fresh(lambda: PretrainingModel(config), "cpu")
    usual = PretrainingModel(config)
    assert not list(usual.buffers())  # they would be lost
    for (name, x), expected in zip(
        model.named_parameters(), usual.state_dict().values(), strict=False
    ):
        assert x.shape == expected.shape
        spread = 0.02 if x.ndim > 1 else 0.0
        assert x.std().item() == pytest.approx(spread, rel=0.2, abs=1e-6), name
        assert x.mean().item() == pytest.approx(expected.mean().item(), abs=0.01), name
    batch = steps.random_batch(config, [200, 256], 0)
    task = PretrainingTask(model, TrainConfig(), [1.0] * config.vocab_size)
    loss, _ = task.loss_and_sums(batch)
    assert loss.item() == pytest.approx(math.log(config.vocab_size) + math.log(2), abs=0.3)


def test_two_runs_that_differ_are_seen(script, monkeypatch):
    determinism = script("gpu_determinism")
    settings = script("gpu_settings").Settings("cpu", "tiny")
    runs = iter(
        [
            {"a": torch.zeros(3), "b": torch.ones(2)},
            {"a": torch.tensor([0, 0.5, 0]), "b": torch.ones(2)},
        ]
    )
    monkeypatch.setattr(determinism, "trained", lambda *_: next(runs))
    values = determinism.measure(settings, "gather")
    assert (values["bitwise equal"], values["weights that differ"]) == (False, "1 of 2")
    assert values["largest difference"] == 0.5


def test_an_inexact_backend_is_seen(script, monkeypatch):
    from dna_bigbird.attention.patterns import bigbird_itc
    from tests.attention import cases, cuda_problems

    exactness = script("gpu_exactness")
    usual = cases.results

    def lossy(case, backend, dtype, device="cpu"):
        return usual(
            cases.without_one_block(case, seed=1) if backend == "gather" else case,
            backend,
            dtype,
            device,
        )

    def problems():
        return [cuda_problems.case(bigbird_itc(12, 8, 3, 2), missing=3, dim=16)]

    assert exactness.measure(problems, "gather", "cpu")["within the tolerance"] == "yes"
    monkeypatch.setattr(cases, "results", lossy)
    values = exactness.measure(problems, "gather", "cpu")
    assert values["within the tolerance"] == "NO"
    assert values["worst excess"] > 1
