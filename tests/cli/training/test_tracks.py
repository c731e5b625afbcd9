"""Tracks as targets, through the commands: training, predictions joined along a chromosome, scores, refusals."""

import csv
from pathlib import Path

import numpy as np
import pyBigWig
import pytest
import torch
from scipy import stats

from dna_bigbird import load_bundle, predict
from dna_bigbird.genome import Genome
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import read_scores
from tests.toy_project import STEPS, bytes_of, refused, run

BP, BIN, CROP, BINS, WINDOW = 24_010, 20, 40, 6, 200
TRAIN = (
    "finetune --genome genome.fa --data set.h5 --tokenizer bases --model.hidden_size 16 --model.num_heads 2 "
    f"--model.ffn_size 32 --model.max_tokens 256 --model.block_size 8 --seed 1 {STEPS} --training.max_steps 12 "
    "--training.validate_every 6"
)
SPLIT = "--split.validation [chr1:14001-18000] --split.test [chr1:18001-24010]"


@pytest.fixture(scope="module")
def tracks_project(tmp_path_factory):
    """A track that is high around each G run, another one on its first half only; a set and a model."""
    folder = tmp_path_factory.mktemp("tracks")
    rng = np.random.default_rng(0)
    bases = rng.choice(list("ACGT"), BP)
    values = np.zeros(BP)
    for at in rng.integers(50, BP - 50, 100):
        bases[at : at + 8] = "G"
        values[at - 20 : at + 30] += 5
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("genome.fa").write_text(f">chr1\n{''.join(bases)}\n")
        with pyBigWig.open("a.bw", "w") as file:
            file.addHeader([("chr1", BP)])
            file.addEntries("chr1", 0, values=values.tolist(), span=1, step=1)
        rows = "".join(f"chr1\t{i}\t{i + 1}\t{x + 1:g}\n" for i, x in enumerate(values))
        Path("b.bedGraph").write_text(rows)
        Path("half.bed").write_text("chr1\t0\t12000\nchr1\t14000\t24010\n")
        Path("sheet.tsv").write_text(
            "label\tgroup\tcell\tpath\tmeasured\nA\tx\t\ta.bw\t\nB\tx\t\tb.bedGraph\thalf.bed\n"
        )
        run(
            f"track-set --genome genome.fa --tracks sheet.tsv --output set.h5 --assembly toy --bin {BIN} "
            f"--window {WINDOW} --crop {CROP} {SPLIT}"
        )
        run(f"{TRAIN} --output model --checkpoints ck --scored scored")
    return folder


@pytest.fixture(autouse=True)
def in_project(tracks_project, monkeypatch):
    monkeypatch.chdir(tracks_project)


def by_hand(bundle, bases):
    """Values of the bins of a window (P, L): mean over strands of softplus times the mean of the track."""
    config, values = bundle.config, []
    for text in (bases, reverse_complement(bases)):
        ids = torch.tensor([[2, *bundle.tokenizer.encode(text), 3]])
        hidden = bundle.model.encoder(ids, torch.zeros_like(ids, dtype=torch.bool))[0, 1:-1]
        bins = hidden[CROP:-CROP].reshape(BINS, BIN, -1).mean(dim=1)
        values.append(torch.nn.functional.softplus(bundle.model.head.dense(bins)))
    mean = (values[0] + values[1].flip(0)) / 2
    return mean.detach().numpy() * config.target_means


def test_a_window_has_the_values_of_its_bins():
    bundle, genome = load_bundle("model"), Genome("genome.fa")
    data = LabelledSet("set.h5", genome)
    window = data.sequence(7)
    rows = predict(sequences=[window], model="model")
    np.testing.assert_allclose(rows.probabilities, by_hand(bundle, window), rtol=1e-4)
    starts = CROP + BIN * np.arange(BINS)
    assert (rows.start == starts).all()
    assert (rows.end == starts + BIN).all()
    known = data.labels_of(data.rows("train")).reshape(-1, 2).astype(np.float64)
    np.testing.assert_allclose(bundle.config.target_means, np.nanmean(known, axis=0))


def test_the_bigwig_of_a_chromosome_has_no_seam():
    """Every base has the value of the one window in whose middle it is; at the end two windows are averaged."""
    run("predict --fasta genome.fa --model model --format bigwig --output predicted")
    bases = Path("genome.fa").read_text().split("\n")[1]
    middle = BINS * BIN
    starts = list(range(0, BP - WINDOW + 1, middle))
    single = predict(sequences=[bases[at : at + WINDOW] for at in starts], model="model")
    expected = np.full((BP, 2), np.nan)
    for number, at in enumerate(starts):
        values = single.probabilities[number * BINS : (number + 1) * BINS]
        expected[at + CROP : at + CROP + middle] = np.repeat(values, BIN, axis=0)
    last = predict(sequences=[bases[-WINDOW:]], model="model").probabilities
    overlap = slice(BP - WINDOW + CROP, starts[-1] + CROP + middle)
    for track, name in enumerate("AB"):
        with pyBigWig.open(f"predicted/{name}.bw") as file:
            actual = np.array(file.values("chr1", 0, BP))
        assert np.isnan(actual[:CROP]).all()
        assert np.isnan(actual[-CROP:]).all()
        np.testing.assert_allclose(
            actual[CROP : overlap.start], expected[CROP : overlap.start, track], rtol=1e-5
        )
        of_last = np.repeat(last[:, track], BIN)
        np.testing.assert_allclose(
            actual[overlap.stop : -CROP], of_last[overlap.stop - overlap.start :], rtol=1e-5
        )
        both = (expected[overlap, track] + of_last[: overlap.stop - overlap.start]) / 2
        np.testing.assert_allclose(actual[overlap], both, rtol=1e-5)


def test_scores_are_those_of_the_file_of_scores():
    data = LabelledSet("set.h5")
    test = data.rows("test")
    truth = data.labels_of(test)
    with open("scored.report/per_label.tsv") as stream:
        table = {row["label"]: row for row in csv.DictReader(stream, delimiter="\t")}
    assert list(table) == ["A", "B"]
    files = {"": "scored.report/scores.h5", "kmer_": "scored.kmer.h5", "gc_": "scored.gc.h5"}
    for track, name in enumerate("AB"):
        for prefix, path in files.items():
            values = read_scores(Path(path)).of(test)[..., track]
            known = ~np.isnan(truth[..., track])
            pair = truth[..., track][known].astype(float), values[known].astype(float)
            assert float(table[name][f"{prefix}pearson"]) == pytest.approx(
                stats.pearsonr(*pair)[0], abs=1e-5
            )
            assert float(table[name][f"{prefix}spearman"]) == pytest.approx(
                stats.spearmanr(*pair)[0], abs=1e-5
            )
        gain = float(table[name]["pearson"]) - float(table[name]["kmer_pearson"])
        assert float(table[name]["pearson_gain_over_kmer"]) == pytest.approx(gain, abs=1e-5)
    # B is A + 1, so the other track tells all of it.
    assert float(table["A"]["other_tracks_pearson"]) == pytest.approx(1)


def test_the_same_command_gives_the_same_bytes():
    run(f"{TRAIN} --output again --checkpoints ck/again")
    assert bytes_of(Path("again")) == bytes_of(Path("model"))


@pytest.mark.parametrize("loss", ["poisson_multinomial", "mse_log"])
def test_other_losses(loss):
    run(f"{TRAIN} --output {loss} --checkpoints ck/{loss} --head.loss {loss}")
    assert load_bundle(loss).config.head.loss == loss


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{TRAIN} --output x --head.pooling mean", "--head.pooling mean: tracks are read by bins"),
        (f"{TRAIN} --output x --head.crop_bp 20", "--head.bin_bp 20 --head.crop_bp 20: the set has bins of 20"),
        (f"{TRAIN} --output x --words.max_k 3", "set.h5: --words counts k-mers of windows"),
        ("predict --fasta genome.fa --model model --span bin --format bigwig --output x", "--span bin: a model of"),
        ("predict --fasta genome.fa --model model --window 210", "--window 210: "),
        ("predict --fasta genome.fa --model model --format bed --output x.bed", "BED file needs probabilities"),
        ("mutagenesis --fasta genome.fa --region chr1:101-300 --model model --output x.tsv", "a model of tracks, which"),
        ("attribute --fasta genome.fa --model model --output x.tsv", "a model of tracks, which predict and evaluate"),
        ("baseline --genome genome.fa --data set.h5 --method positional --output x.h5", "--method positional is for"),
        ("baseline --genome genome.fa --data set.h5 --method gkm --output x.h5", "--method gkm is for labels"),
        ("baseline --genome genome.fa --data set.h5 --method deepsea --output x.h5", "a network reads whole windows"),
    ],
)  # fmt: skip
def test_refused(line, message, capsys):
    assert message in refused(line, capsys)
    assert not list(Path().glob("x*"))


def test_a_track_below_zero_is_refused(capsys):
    Path("low.bedGraph").write_text("chr1\t0\t12000\t-1\nchr1\t12000\t24000\t2\n")
    run(
        f"track-set --genome genome.fa --tracks low.bedGraph --output low.h5 --assembly toy --bin {BIN} "
        f"--window {WINDOW} --crop {CROP} {SPLIT}"
    )
    line = TRAIN.replace("set.h5", "low.h5")
    assert "track 'low' has a negative value (-1)" in refused(f"{line} --output x", capsys)
