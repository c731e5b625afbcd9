"""benchmarks/learning.py: equal time, restart, and the paired interval."""

import json
import math
import os

import numpy as np
import pytest
import yaml

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.train_config import TrainConfig

SIZES = {
    "hidden_size": 16, "num_layers": 1, "num_heads": 2, "ffn_size": 32, "max_tokens": 64,
    "block_size": 8, "num_random": 1, "dropout": 0.0,
}  # fmt: skip
BASE = {"model": SIZES, "pretraining": {"batch_size": 4, "precision": "32-true"}}
ARMS = """
recipes:
  ours: {model: {positions: rotary}, objective: {nsp_weight: 0}, training: {optimizer: muon}}
  paper: {objective: {nsp_weight: 1}, training: {optimizer: adamw}}
arms:
  ours: {seeds: 2}
  paper: {recipe: paper, rates: [0.001, 0.01]}
"""


@pytest.fixture
def learning(script, monkeypatch):
    """The script; trainings run in this process, and a step takes a second."""
    learning, run = script("learning"), script("learning_run")
    monkeypatch.setattr(run, "measured_step", lambda run: 1.0)
    calls = []

    def start(what, folder, core):
        calls.append((what, folder.name))
        {"measure": run.measure, "train": run.train}[what](folder)

    monkeypatch.setattr(learning, "start", start)
    # In the main thread, which alone may handle signals.
    monkeypatch.setattr(
        learning.Cores, "map", lambda self, call, values: [call(v, 0) for v in values]
    )
    learning.calls = calls
    return learning


@pytest.fixture
def plan(learning, toy_project, tmp_path):
    """Six seconds for each training: six steps, three validations."""
    (tmp_path / "corpus").mkdir()
    for name in ("train.h5", "validation.h5", "bpe.model"):
        (tmp_path / "corpus" / name).symlink_to(toy_project / name)
    corpus = learning.corpus_in(tmp_path / "corpus")
    return learning.Plan(tmp_path / "out", corpus, 0.1, 3, 8, 4, examples_seed=1)


def arms(script, tmp_path, text=ARMS, chosen=()):
    (tmp_path / "arms.yaml").write_text(text)
    arms_of = script("learning_arms")
    return arms_of.read_arms(tmp_path / "arms.yaml", arms_of.base_settings(BASE), chosen)


def test_arms_train_once_and_make_tables(learning, script, plan, tmp_path):
    both = arms(script, tmp_path)
    cores = learning.Cores(1)
    chosen = learning.run_arms(plan, both, cores)
    trained = [name for what, name in learning.calls if what == "train"]
    assert trained == ["ours-seed0", "ours-seed1", "paper_0.001-seed0", "paper_0.01-seed0"]
    lines = script("learning_tables").write_results(plan, both, chosen, None)
    facts = json.loads((plan.folder / "results.json").read_text())
    rows = {row["arm"]: row for row in facts["rows"]}
    assert [rows[arm]["steps"] for arm in ("ours", "paper")] == [6, 6]
    assert [row["step"] for row in facts["curves"] if row["arm"] == "paper"] == [2, 4, 6]
    rates = {row["learning_rate"]: row["bits_per_base_masked"] for row in facts["rates"]}
    assert rows["paper"]["bits_per_base_masked"] == min(rates.values())
    assert rows["paper"]["learning_rate"] == min(rates, key=rates.get)
    assert rows["ours"]["nsp_accuracy"] is None
    assert 0 <= rows["paper"]["nsp_accuracy"] <= 1
    assert rows["token_bigram_informed_masked"]["steps"] is None
    difference = rows["token_bigram_informed_masked"]["difference_to_ours"]
    bits = [rows[a]["bits_per_base_masked"] for a in ("token_bigram_informed_masked", "ours")]
    assert difference == pytest.approx(bits[0] - bits[1], abs=2e-6)
    assert any(line.startswith("| paper | 0.") for line in lines)
    assert (plan.folder / "curves.png").read_bytes().startswith(b"\x89PNG")
    learning.calls.clear()
    learning.run_arms(plan, both, cores)
    assert learning.calls == []


def test_a_killed_training_goes_on(learning, script, plan, tmp_path, monkeypatch):
    """The second validation fails; started again, the figures are those of a whole run."""
    run = script("learning_run")
    training = script("learning_arms").first_trainings(arms(script, tmp_path, chosen=["ours"]))[:1]
    cores = learning.Cores(1)
    scored, validations = run.scored, []

    def killed(*values):
        validations.append(values)
        if len(validations) == 2:
            raise RuntimeError("killed")
        return scored(*values)

    monkeypatch.setattr(run, "scored", killed)
    with pytest.raises(RuntimeError, match="killed"):
        learning.run_all(plan, training, cores)
    assert len(list((plan.at(training[0]) / "checkpoints").glob("step_*2.ckpt"))) == 1
    learning.run_all(plan, training, cores)
    learning.run_all(whole := learning.Plan(tmp_path / "whole", *_rest(plan)), training, cores)
    both = [json.loads((p.at(training[0]) / "result.json").read_text()) for p in (plan, whole)]
    for result in both:
        for row in result["rows"]:
            row.pop("processor_s")
    assert both[0]["rows"] == both[1]["rows"]
    assert [row["step"] for row in both[0]["rows"]] == [2, 4, 6]
    assert both[0]["metrics"] == both[1]["metrics"]
    assert both[0]["tokens"] == both[1]["tokens"] > 6 * 4 * 30


def _rest(plan):
    return [getattr(plan, name) for name in plan.__dataclass_fields__][1:]


def test_the_clock_counts_training_only(script):
    """Each call of the clock is a second later: start, batch, validation; state in between."""
    run = script("learning_run")
    ticks = iter(range(100))
    clock = run.ProcessorClock(lambda task: {"bits": 1.0}, lambda: float(next(ticks)))
    clock.on_train_start(None, None)  # 0
    clock.on_validation_start(None, None)  # 1: one second
    for _ in range(50):  # what validation takes
        next(ticks)

    class Trainer:
        global_step = 7

    clock.on_validation_end(Trainer, None)  # 52
    assert clock.rows == [{"step": 7, "tokens": 0, "processor_s": 1.0, "bits": 1.0}]
    state = clock.state_dict()  # 53: one second more
    assert state["seconds"] == 2.0
    again = run.ProcessorClock(None, lambda: 1000.0)
    again.load_state_dict(state)
    again.on_train_start(None, None)
    assert (again.seconds, again.rows) == (2.0, clock.rows)


def test_steps_fill_the_time(script):
    steps_within = script("learning_run").steps_within
    for seconds, per_step, validations in ((1200, 0.37, 20), (60, 0.011, 7), (3, 5.0, 2)):
        steps, every = steps_within(seconds, per_step, validations)
        assert steps % every == 0
        assert steps * per_step <= max(seconds, per_step)
        # At most the steps between two validations are missing.
        assert (steps + every) * per_step > seconds - per_step


def test_the_paired_interval_is_a_bootstrap_of_differences(script):
    """Against loops: examples drawn with replacement, differences of summed costs over bases."""
    tables = script("learning_tables")
    rng = np.random.default_rng(3)
    count, seed = 40, 5
    bp = rng.integers(50, 150, count).astype(float)
    shared = rng.normal(2.0, 0.4, count) * bp
    scores = object.__new__(tables.Scores)
    scores.plan = type("Plan", (), {"examples_seed": seed})
    scores.base_pairs, scores.baselines = bp, {}
    scores.nats = {("ours", s): shared + rng.normal(0, 1, count) for s in range(2)}
    scores.nats |= {("paper", 1): shared + 0.1 * bp + rng.normal(0, 1, count)}
    drawn = []
    for times in np.random.default_rng([seed, count]).multinomial(count, [1 / count] * count, 1000):
        extra = sum(
            t * (p - o)
            for t, p, o in zip(times, scores.nats["paper", 1], scores.nats["ours", 1], strict=True)
        )
        drawn.append(extra / math.log(2) / sum(t * b for t, b in zip(times, bp, strict=True)))
    drawn.sort()
    row = scores.difference("paper")  # seed 1, the only one of both
    names = [f"difference_to_ours{end}" for end in ("", "_low", "_high")]
    extra = (scores.nats["paper", 1] - scores.nats["ours", 1]).sum() / math.log(2) / bp.sum()
    assert [row[name] for name in names] == pytest.approx([extra, drawn[25], drawn[974]], abs=1e-3)
    assert row[names[1]] < 0.1 / math.log(2) < row[names[2]]
    # Unpaired, the same examples would leave it open.
    assert row[names[2]] - row[names[1]] < 0.1 < 4 * (shared / bp).std() / math.sqrt(count)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arms: {a: {blue: 1}}\nrecipes: {ours: {}}", "arm a: blue: expected one of recipe, seeds"),
        ("arms: {a: {recipe: b}}\nrecipes: {ours: {}}", "arm a: no recipe 'b'; has ours"),
        (
            "arms: {a: {model: {max_tokens: 9}}}\nrecipes: {ours: {}}",
            "arm a: model.max_tokens differs from the config's",
        ),
    ],
)
def test_mistakes_in_arms_are_named(script, tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        arms(script, tmp_path, text)


def test_unknown_arms_and_variants_are_named(script, tmp_path):
    with pytest.raises(InputError, match="no arm 'our'; expected one of ours, paper"):
        arms(script, tmp_path, chosen=["our"])
    with pytest.raises(InputError, match="--variant x: expected one of none"):
        script("learning_arms").base_settings(BASE, "x")


@pytest.mark.parametrize(
    ("config", "variant"),
    [("tests/real/fast.yaml", "bigbird_512"), ("config/config.yaml", None)],
)
def test_every_arm_of_the_file_has_valid_settings(script, config, variant):
    arms_of, learning = script("learning_arms"), script("learning")
    text = (learning.HERE.parent / config).read_text()
    base = arms_of.base_settings(yaml.safe_load(text), variant)
    read = arms_of.read_arms(learning.ARMS, base)
    assert read[0].name == arms_of.OURS
    for arm in read:
        EncoderConfig(**arm.settings["model"])
        MaskingConfig(**arm.settings["masking"])
        steps = {"max_steps": 1000, "validate_every": 50}
        TrainConfig(**arm.settings["training"] | steps)
    assert len({json.dumps(arm.settings, sort_keys=True) for arm in read}) == len(read)


def test_a_process_has_its_core_one_thread_and_the_id_of_its_parent(script, tmp_path, monkeypatch):
    learning = script("learning")
    monkeypatch.setattr(learning, "HERE", tmp_path)
    (tmp_path / "learning_run.py").write_text(
        "import os, sys, time\n"
        "if sys.argv[1] == 'fail': sys.exit('no such thing')\n"
        "while len(os.sched_getaffinity(0)) > 1: time.sleep(0.01)\n"
        "parent = int(sys.argv[3]) == os.getppid()\n"
        "print(os.sched_getaffinity(0), os.environ['OMP_NUM_THREADS'], parent)\n"
    )
    core = sorted(os.sched_getaffinity(0))[-1]
    assert learning.Cores(3).map(lambda value, core: value, [1, 2, 3]) == [1, 2, 3]
    learning.Cores(1, [core]).map(lambda _, core: learning.start("ok", tmp_path, core), [0])
    assert (tmp_path / "log.txt").read_text() == f"{{{core}}} 1 True\n"
    with pytest.raises(InputError, match="fail ended with status 1: no such thing"):
        learning.start("fail", tmp_path, None)
