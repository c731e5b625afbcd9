"""Heads that read bins, through the commands: one bin or all at once, scores, restart, refusals."""

import csv
import functools
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from dna_bigbird import embed, load_bundle, predict
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.labelled.chromatin.bin_groups import BinGroups
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import read_scores
from dna_bigbird.prediction import predictor
from dna_bigbird.prediction.predictor import Predictor
from dna_bigbird.training import label_training
from tests.tasks.test_fit import KillAt
from tests.toy_project import FINETUNE, STEPS, bytes_of, refused, run

ENCODER = (
    "--model.attention etc --model.etc.radius 6 --model.hidden_size 16 --model.num_heads 2 "
    "--model.ffn_size 32 --model.max_tokens 512"
)
FRESH = (
    f"finetune --genome toy.fa --data bins.h5 --tokenizer bases --seed 1 {ENCODER} {STEPS} "
    "--training.max_steps 12 --training.validate_every 6"
)
BIN = f"{FRESH} --head.pooling bin"
ALL = f"{BIN} --head.bins_at_once true"


@pytest.fixture(scope="module")
def bins_project(toy_project):
    """Bins of 50 bp in windows of 450, of two labels; a model of one bin and one of all at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(toy_project)
        sites = range(500, 59_600, 400)
        for name, first in {"site": -50, "after": 150}.items():
            Path(f"{name}.bed").write_text(
                "".join(f"chr1\t{s + first}\t{s + first + 100}\n" for s in sites)
            )
        run(
            "chromatin-set --genome toy.fa --peaks site.bed after.bed --output bins.h5 --assembly demo-toy "
            "--window 450 --bin 50 --background 1 --seed 1 "
            "--split.validation [chr1:40001-50000] --split.test [chr1:50001-60000]"
        )
        run(f"{BIN} --output bins/one --checkpoints ck/bins/one")
        run(f"{ALL} --output bins/all --checkpoints ck/bins/all")
        for path in (Path("bins/one/config.json"), Path("bins/all/config.json")):
            config = json.loads(path.read_text())
            config.pop("calibration", None)  # what is computed by hand here is not corrected
            path.write_text(json.dumps(config))
    return toy_project


@pytest.fixture(autouse=True)
def in_project(bins_project, monkeypatch):
    monkeypatch.chdir(bins_project)


def by_hand(bundle, bases):
    """Mean over strands of the probabilities of the centre bin, read from the global stream."""
    probabilities = []
    for text in (bases, reverse_complement(bases)):
        ids = torch.tensor([[2, *bundle.tokenizer.encode(text), 3]])
        padding = torch.zeros_like(ids, dtype=torch.bool)
        tokens, centre = bundle.model.bins(ids, padding)
        belongs = tokens.layout.belongs[0, 1:-1, int(centre)].nonzero().flatten()
        assert (int(belongs[0]), int(belongs[-1])) == (200, 249)
        _, states = bundle.model.encoder.both(ids, padding, global_tokens=tokens)
        probabilities.append(bundle.model.head.dense(states[0, int(centre)]).sigmoid())
    return torch.stack(probabilities).mean(0).detach().numpy()


def test_commands_read_the_bin_in_the_middle(tmp_path):
    bundle = load_bundle("bins/one")
    head = bundle.config.head
    assert (head.pooling, head.bin_bp, head.bins_at_once) == ("bin", 50, False)
    labelled = LabelledSet("bins.h5", Genome("toy.fa"))
    rows = labelled.rows("test")
    run(
        "evaluate --genome toy.fa --model bins/one --data bins.h5 --output bins/scored "
        f"--report {tmp_path}/report --seed 1 --replicates 20"
    )
    scores = read_scores(tmp_path / "report/scores.h5")
    found = scores.values[np.searchsorted(scores.rows, rows)]
    expected = np.stack([by_hand(bundle, labelled.sequence(int(row))) for row in rows])
    assert np.allclose(found, expected, atol=1e-6)
    assert expected.std(axis=0).min() > 1e-5
    window = labelled.interval(int(rows[3]))
    Path("one.bed").write_text(f"{window.chrom}\t{window.start}\t{window.end}\n")
    run(
        "predict --fasta toy.fa --bed one.bed --model bins/scored --output predicted.tsv --stride 450 "
        "--precision 32-true"
    )
    with open("predicted.tsv") as file:
        (row,) = csv.DictReader(file, delimiter="\t")
    found = [float(row[name]) for name in labelled.label_names]
    assert np.allclose(found, expected[3], atol=1e-4)


def test_other_commands_take_the_bundle(tmp_path):
    """A variant in the bin has an effect on both labels; vectors are those of the long stream."""
    sequence = Genome("toy.fa").fetch(Interval("chr1", 55_009, 55_010))
    other = "A" if sequence != "A" else "C"
    Path("v.vcf").write_text(
        "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
        f"chr1\t55010\tx\t{sequence}\t{other}\t.\t.\t.\n"
    )
    run(f"score-variants --vcf v.vcf --fasta toy.fa --model bins/all --output {tmp_path}/v.tsv")
    with open(tmp_path / "v.tsv") as file:
        (row,) = csv.DictReader(file, delimiter="\t")
    effects = [float(value) for name, value in row.items() if name.startswith(("site", "after"))]
    assert len(effects) >= 2
    assert all(np.abs(effects) > 0)
    vectors = embed("toy.fa", "one.bed", model="bins/all").vectors
    assert vectors.shape == (1, 16)
    assert np.isfinite(vectors).all()


def test_all_bins_at_once_read_fewer_windows_and_validate_the_same_rows(capsys):
    labelled = LabelledSet("bins.h5")
    rows = labelled.rows("train")
    windows = len(BinGroups.of(labelled, rows))
    assert windows < 0.6 * len(rows)
    line = ALL.replace("--training.learning_rate 0.003", "").replace(
        "--training.max_steps 12 --training.validate_every 6", ""
    )
    line = line.replace("--training.warmup_steps 3", "")
    message = f"{len(rows):,} training rows in {windows:,} windows: "
    capsys.readouterr()
    run(
        f"{line} --training.max_steps 4 --training.validate_every 4 --words.max_k 0 --output bins/words --checkpoints ck/bins/words"
    )
    assert message in capsys.readouterr().err
    one, every = load_bundle("bins/one"), load_bundle("bins/all")
    assert every.config.head.bins_at_once
    assert one.metrics.n == every.metrics.n == len(labelled.rows("validation"))
    weights = [bundle.model.state_dict()["head.dense.weight"] for bundle in (one, every)]
    assert not torch.equal(*weights)


@pytest.mark.parametrize("step", [5, 6])
def test_a_killed_run_ends_like_an_undisturbed_one(monkeypatch, capsys, step, tmp_path):
    line = f"{ALL} --training.checkpoint_every_steps 2 --output {tmp_path}/out --checkpoints {tmp_path}/ck"
    killing = functools.partial(label_training.fit, callbacks=(KillAt(step, "start"),))
    with monkeypatch.context() as patch:
        patch.setattr(label_training, "fit", killing)
        with pytest.raises(SystemExit, match="1"):
            run(line)
    assert "KilledError" in capsys.readouterr().err
    run(f"{line} --training.workers 1")
    found, expected = bytes_of(tmp_path / "out"), bytes_of(Path("bins/all"))
    assert found["model.safetensors"] == expected["model.safetensors"]
    assert found["history.tsv"] == expected["history.tsv"]


def test_what_does_not_fit_is_refused(capsys):
    end = "--output bins/no --checkpoints ck/no"
    message = refused(f"{FINETUNE.replace('mean', 'bin')} {end}", capsys)
    assert (
        "--head.pooling bin reads global tokens of bins, which a model of attention bigbird"
        in message
    )
    assert "training rows" not in message
    message = refused(f"{ALL} --head.bin_bp 90 {end}", capsys)
    assert "--head.bins_at_once true: the set has bins of 50 bp, not of 90" in message
    message = refused(f"{ALL.replace('bins.h5', 'set.h5')} {end}", capsys)
    assert "--head.bins_at_once true: the set has no bins" in message
    message = refused(f"{FRESH} --head.pooling mean --head.bins_at_once true {end}", capsys)
    assert "--head.bins_at_once true is for --head.pooling bin, got mean" in message
    assert not Path("bins/no").exists()


def test_promoters_have_a_bin_around_the_middle():
    """A set without bins: 200 bp, the whole window here, unless another length is given."""
    line = f"{BIN.replace('bins.h5', 'set.h5')} --training.max_steps 6"
    run(f"{line} --output bins/promoter --checkpoints ck/bins/promoter")
    assert load_bundle("bins/promoter").config.head.bin_bp == 200


WINDOW = (55_000, 55_450)


def bins_by_hand(bundle, bases):
    """Probabilities of five bins around the centre, of one strand, from the global stream."""
    ids = torch.tensor([[2, *bundle.tokenizer.encode(bases), 3]])
    padding = torch.zeros_like(ids, dtype=torch.bool)
    tokens, centre = bundle.model.bins(ids, padding)
    _, states = bundle.model.encoder.both(ids, padding, global_tokens=tokens)
    chosen = states[0, int(centre) - 2 : int(centre) + 3]
    return bundle.model.head.dense(chosen).sigmoid().detach().numpy()


def bins_table(more):
    """Coordinates and values of the rows that `predict --span bins` writes."""
    run(
        "predict --fasta toy.fa --bed rows.bed --model bins/all --span bins --output at-once.tsv "
        f"--precision 32-true {more}"
    )
    with open("at-once.tsv") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    spans = [(int(row["start"]), int(row["end"])) for row in rows]
    return spans, np.array([[float(row["site"]), float(row["after"])] for row in rows])


def test_predict_reads_all_bins_of_a_window_at_once():
    bundle, (start, end) = load_bundle("bins/all"), WINDOW
    bases = Genome("toy.fa").fetch(Interval("chr1", start, end))
    Path("rows.bed").write_text(f"chr1\t{start}\t{end}\tx\t0\t-\n")
    spans, values = bins_table("")
    assert spans == [(start + 100 + 50 * i, start + 150 + 50 * i) for i in range(5)]
    forward, backward = (bins_by_hand(bundle, x) for x in (bases, reverse_complement(bases)))
    assert np.allclose(values, (forward + backward[::-1]) / 2, atol=1e-4)
    spans, values = bins_table("--strand interval")  # the row is on the other strand
    assert spans[0] == (start + 300, start + 350)
    assert np.allclose(values, backward, atol=1e-4)
    assert np.abs(backward - forward).max() > 1e-3


def test_the_bin_in_the_middle_is_that_of_a_window_of_its_own(tmp_path):
    """Others read another context: that is the difference to one window per bin."""
    start, end = WINDOW
    Path("rows.bed").write_text(f"chr1\t{start}\t{end}\n")
    _, at_once = bins_table("")
    shifts = [-100, -50, 0, 50, 100]
    Path("own.bed").write_text("".join(f"chr1\t{start + d}\t{end + d}\n" for d in shifts))
    rest = "--model bins/all --output own.tsv --precision 32-true"
    run(f"predict --fasta toy.fa --bed own.bed {rest}")
    with open("own.tsv") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    own = np.array([[float(row["site"]), float(row["after"])] for row in rows])
    differences = np.abs(own - at_once).max(axis=1)
    assert differences[2] < 1e-5
    assert differences.max() < 0.1


def test_bins_follow_each_other_and_a_short_row_has_none(capsys):
    Path("rows.bed").write_text("chr1\t50000\t52000\nchr1\t55000\t55300\n")
    spans, values = bins_table("--batch_size 3")
    assert "1 sequences of fewer than 450 bp have no rows" in capsys.readouterr().err
    starts = np.array(spans)[:, 0]
    assert len(starts) == 5 * 8
    assert (starts[:35] == 50_100 + 50 * np.arange(35)).all()
    assert np.isfinite(values).all()
    run(
        "predict --fasta toy.fa --bed rows.bed --model bins/all --span bins --output at-once.bed --labels site "
        "--precision 32-true"
    )
    lines = [line.split("\t") for line in Path("at-once.bed").read_text().splitlines()[1:]]
    assert (int(lines[0][1]), int(lines[-1][2])) == (50_100, 51_900)
    assert float(lines[0][6]) == pytest.approx(values[0, 0], abs=1e-4)


@pytest.mark.parametrize("chunks", [1, 4])
def test_predicted_bins_of_a_continued_run_are_the_same(monkeypatch, tmp_path, chunks):
    """With rows before and after the interruption that are too short to have bins."""
    rows = (55_000, 55_300), (50_000, 52_000), (56_000, 56_200), (57_000, 57_450)
    Path("rows.bed").write_text("".join(f"chr1\t{start}\t{end}\n" for start, end in rows))
    options = {"bed": "rows.bed", "model": "bins/all", "span": "bins"}
    predict("toy.fa", output=tmp_path / "whole.tsv", **options)
    monkeypatch.setattr(predictor, "token_budget", lambda *_: 1)  # a chunk is a window
    usual, scored = Predictor.score_windows, []

    def stopped(self, windows):
        for number, chunk in enumerate(usual(self, windows)):
            if number == chunks:
                raise RuntimeError("fire")
            yield chunk

    def watched(self, windows):
        for rows, probabilities in usual(self, windows):
            scored.append(len(rows))
            yield rows, probabilities

    output = tmp_path / "x.tsv"
    monkeypatch.setattr(Predictor, "score_windows", stopped)
    with pytest.raises(RuntimeError, match="fire"):
        predict("toy.fa", output=output, **options)
    monkeypatch.setattr(Predictor, "score_windows", watched)
    written = predict("toy.fa", output=output, resume=True, **options)
    assert "2 sequences of fewer than 450 bp have no rows" in written.notes
    assert output.read_bytes() == (tmp_path / "whole.tsv").read_bytes()
    assert sum(scored) == 5 * (9 - chunks)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("--model promoter", "promoter has no global token per bin; expected a single model of"),
        (
            "--model bins/all --window 199",
            "windows of 199 bp have one bin of 50; expected a --window",
        ),
        (
            "--model bins/all --window 451",
            "not in the middle of windows of 451; give a --window of 450",
        ),
    ],
)
def test_models_and_windows_without_bins(change, message, capsys):
    Path("rows.bed").write_text("chr1\t50000\t52000\n")
    line = f"predict --fasta toy.fa --bed rows.bed --span bins --output never.tsv {change}"
    assert message in refused(line, capsys).splitlines()[-1]
    assert not Path("never.tsv").exists()
