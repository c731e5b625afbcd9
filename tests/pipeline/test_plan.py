"""What a run would make: rows from the files, seconds from the measured speed, nothing written."""

import dataclasses
import re
from pathlib import Path

import pytest

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.training.label_config import BINS, GENERAL, SEQUENCES
from dna_bigbird.workflow import plan_steps
from dna_bigbird.workflow.config.run_config import read_config
from dna_bigbird.workflow.plan import plan
from dna_bigbird.workflow.plan_amounts import Amounts, count_amounts

CONFIG = """\
name: mine
assembly: toy
inputs: {genome: [g.fa], peaks: peaks.tsv, promoters: sites.bed}
splits: {validation: ["chr7:1-1,000"], test: ["chr7:1,001-2,000"]}
model: {hidden_size: 16, num_layers: 1, num_heads: 2, ffn_size: 16, max_tokens: 64, block_size: 16}
pretraining: {max_steps: 100, batch_size: 4}
promoter: {upstream: 50, downstream: 50, negatives: "permuted,genomic", training: {max_steps: 200}}
chromatin: {window: 200, background: 1}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.fa").write_text(">chr7\n" + "A" * 10_000 + "\n")
    (tmp_path / "g.fa.fai").write_text("chr7\t10000\t6\t10000\t10001\n")
    (tmp_path / "sites.bed").write_text(
        "".join(f"chr7\t{i}\t{i + 1}\ta\t0\t+\n" for i in range(30))
    )
    # Bins 0, 1 and 2 in the first file, 2 and 5 in the second: four bins.
    (tmp_path / "a.bed").write_text("chr7\t10\t20\nchr7\t390\t410\n")
    (tmp_path / "b.bed").write_text("chr7\t400\t600\nchr7\t1000\t1001\n")
    rows = "label\tgroup\tcell\tpath\nA\tTF\tK\ta.bed\nB\tTF\tK\tb.bed\n"
    (tmp_path / "peaks.tsv").write_text(rows)
    (tmp_path / "c.yaml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def one_second(monkeypatch):
    """Every model trains one sequence per second."""
    monkeypatch.setattr(plan_steps, "seconds_per_sequence", lambda work: 1.0)


def test_rows_and_seconds_follow_from_files_and_settings(folder, one_second):
    before = sorted(folder.iterdir())
    steps = {step.name: step for step in plan([Path("c.yaml")]).steps}
    assert sorted(folder.iterdir()) == before
    assert steps["genome"].what == "10,000 bp"
    assert steps["promoter set"].what == "at most 90 rows"
    assert steps["chromatin set"].what == "at most 8 rows"
    assert steps["pretrain"].what == "100 steps, 400 sequences of 64 tokens"
    # 400 sequences, and 256 examples of one validation at a third of the cost.
    assert steps["pretrain"].seconds == pytest.approx(6 + 400 + 256 / 3)
    # 200 steps of 32; validation every 100 steps on a tenth of 90 rows.
    assert steps["finetune promoter"].seconds == pytest.approx(6 + 6400 + 2 * 9 / 3)
    # Both strands of the held-out rows: 9 and 9.
    assert steps["evaluate promoter"].seconds == pytest.approx(6 + 2 * 18 / 3)
    assert steps["pretrain"].how == "measured"


def test_predictions_are_planned(folder, one_second):
    with (folder / "c.yaml").open("a") as file:
        file.write("predictions:\n  regions: ['chr7:1-600']\n")
        file.write("  browser: {model: chromatin, regions: ['chr7:1-800'], labels: [A]}\n")
    steps = {step.name: step for step in plan([Path("c.yaml")]).steps}
    assert steps["predict chromatin"].seconds == pytest.approx(6 + 2 * 3 / 3)
    # Six windows on both strands, one of them on either side: predicted, then attributed, forward and backward.
    assert steps["browser"].what == "about 6 windows"
    assert steps["browser"].seconds == pytest.approx(6 + 2 * 6 / 3 + 6 + 2 * 6)


TRACKS = """\
name: mine
assembly: toy
pretrained: bundled
inputs: {genome: [g.fa], tracks: {A: a.bedGraph, B: b.bedGraph}}
splits: {validation: ["chr7:1-1,000"], test: ["chr7:1,001-2,000"]}
tracks:
  {window: 80, crop: 15, bin: 10, tokenizer: bases, model: {hidden_size: 16, num_heads: 2}, training: {max_steps: 40, validate_every: 20}%s}
"""


@pytest.mark.parametrize(("words", "fitted"), [("", 90), (", words: {max_k: 0}", 0)])
def test_a_model_of_tracks_is_planned(folder, monkeypatch, words, fitted):
    works = []
    monkeypatch.setattr(plan_steps, "seconds_per_sequence", lambda x: works.append(x) or 1.0)
    for name in "ab":
        (folder / f"{name}.bedGraph").write_text("chr7\t0\t10\t2\n")
    (folder / "c.yaml").write_text(TRACKS % words)
    steps = {step.name: step for step in plan([Path("c.yaml")]).steps}
    # 10,000 bases in middles of 50; a tenth in either split.
    assert steps["tracks set"].what == "at most 200 rows"
    assert {"baseline kmer", "baseline gc", "baseline composition"} < set(steps)
    # 40 steps of 8, as the recipe of tracks has them; two validations on 20 rows.
    assert steps["finetune tracks"].what == "40 steps, 320 sequences of 82 tokens"
    assert steps["finetune tracks"].seconds == pytest.approx(6 + 320 + 2 * 20 / 3 + fitted)
    assert steps["evaluate tracks"].seconds == pytest.approx(6 + 2 * 40 / 3)
    assert steps["predict tracks"].what == "about 20 windows"
    assert {(x.labels, x.tokens, x.encoder.vocab_size, x.encoder.hidden_size) for x in works} == {
        (2, 82, 10, 16)
    }
    assert steps["finetune tracks"].memory_mb > plan_steps.PROCESS_MB


@pytest.mark.parametrize("setting", ["bases", "{algorithm: bases}"])
def test_single_bases_have_one_token_per_base(folder, one_second, setting):
    with (folder / "c.yaml").open("a") as file:
        file.write(f"tokenizer: {setting}\ndocuments: {{passes: 1}}\nregions: []\n")
    steps = {step.name: step for step in plan([Path("c.yaml")]).steps}
    assert steps["tokenizer"].what == "10 pieces"
    assert steps["tokenize"].what == "about 8,000 tokens", "10,000 bases less 2,000 held out"


@pytest.mark.parametrize(("algorithm", "strands"), [("bpe", 1), ("symmetric_bpe", 2)])
def test_one_of_the_teachers_reads_each_example_too(folder, one_second, algorithm, strands):
    with (folder / "c.yaml").open("a") as file:
        file.write(f"tokenizer: {{algorithm: {algorithm}, vocab_size: 100}}\n")
        file.write("objective: {nsp_weight: 0, teachers: [others, bundled]}\n")
        file.write("experiments: {variants: {others: {seeds: 3}}}\n")
    steps = {step.name: step for step in plan([Path("c.yaml")]).steps}
    assert steps["pretrain"].seconds == pytest.approx(6 + 400 + 256 / 3 + 400 * strands / 3)


def test_the_table_has_a_total_and_says_what_is_measured(folder, one_second):
    planned = plan([Path("c.yaml")])
    text = planned.summary()
    assert re.search(r"^total +one step after the other +[\d,.]+$", text, re.MULTILINE)
    assert planned.seconds == pytest.approx(sum(step.seconds for step in planned.steps))
    assert "measured: a few training steps" in text


def test_a_large_model_is_for_gpus_and_is_not_measured_whole(monkeypatch):
    from dna_bigbird.evaluation import plan_speed
    from dna_bigbird.models.config import EncoderConfig

    measured = []
    monkeypatch.setattr(plan_speed, "_measure", lambda work: measured.append(work) or 1.0)
    work = plan_speed.Work(EncoderConfig(), 4096, 32, 0)
    # The paper's model: about 6e20 operations for 1,000,000 steps of 256 (config/grch37.yaml).
    assert plan_speed.total_operations(work, 256e6) == pytest.approx(6.3e20, rel=0.02)
    seconds = plan_speed.seconds_per_sequence(work)
    (cut,) = measured
    assert (cut.batch_size, cut.encoder.num_layers) == (1, 1)
    whole = dataclasses.replace(work, batch_size=1)
    ratio = plan_speed.total_operations(whole, 1) / plan_speed.total_operations(cut, 1)
    assert seconds == pytest.approx(ratio)


def test_a_run_from_a_bundle_is_planned_without_pretraining(folder, one_second):
    text = CONFIG.replace("pretraining: {max_steps: 100, batch_size: 4}\n", "pretrained: bundled\n")
    text = re.sub(r"^model: .*\n", "", text, flags=re.MULTILINE)
    (folder / "c.yaml").write_text(text)
    names = [step.name for step in plan([Path("c.yaml")]).steps]
    assert "finetune chromatin" in names
    assert not {"documents", "tokenizer", "tokenize", "pretrain", "evaluate-lm"} & set(names)


def test_amounts_that_only_the_run_will_tell_are_none(folder):
    values = {
        "assembly": "toy",
        "inputs": {"genome": ["grch37_genome"], "deepsea": "deepsea_train_bundle"},
        "splits": {"validation": ["chr7"], "test": ["chr8"]},
    }
    amounts = count_amounts(values)
    assert (amounts.genome_bp, amounts.bins, amounts.sites, amounts.labels) == (
        None,
        None,
        None,
        919,
    )
    assert amounts.share("test") == 0.1
    assert count_amounts(values | {"assembly": "hg19"}).held_out_bp["validation"] == 159_138_663


def test_mistakes_end_with_the_line(folder):
    (folder / "c.yaml").write_text("name: x\nname: y\n")
    with pytest.raises(InputError, match=r"^c\.yaml:2: name is also in line 1; keep one of them$"):
        plan([Path("c.yaml")])
    (folder / "text.yaml").write_text("name: x\ntext: {made: {}, tasks: {rte: {}}}\n")
    with pytest.raises(InputError, match=r"^plan: the config has no genome"):
        plan([Path("text.yaml")])


@pytest.mark.parametrize("peaks", ["[a.bed, b.bed]", "{X: a.bed, Y: b.bed}"])
def test_peak_files_in_place_of_a_sheet(folder, peaks):
    (folder / "c.yaml").write_text(CONFIG.replace("peaks: peaks.tsv", f"peaks: {peaks}"))
    amounts = count_amounts(read_config([Path("c.yaml")]))
    assert (amounts.labels, amounts.bins) == (2, 4)


def test_the_recipe_of_bins_on_single_bases_is_planned():
    """As `finetune` chooses it (tests/tasks/test_label_config.py)."""
    encoder = load_bundle("bundled-encoder").config.encoder
    amounts = Amounts(10**6, {"validation": 10**5, "test": 10**5}, 10, 10, 12, None)
    head = plan_steps.Head.of("chromatin", {"window": 1000}, amounts, encoder, 1.0)
    assert head.recipe is BINS
    assert plan_steps.Head.of("promoter", {}, amounts, encoder, 1.0).recipe is SEQUENCES
    assert plan_steps.Head.of("promoter", {}, amounts, encoder, 4.0).recipe is GENERAL
