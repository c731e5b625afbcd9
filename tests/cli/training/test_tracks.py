"""Tracks as targets, through the commands: training, predictions joined along a chromosome, scores, refusals."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pyBigWig
import pytest
import torch
from scipy import stats

from dna_bigbird import attribute, load_bundle, mutagenesis, predict, score_variants
from dna_bigbird.evaluation import evaluate_run
from dna_bigbird.genome import Genome
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import read_scores
from dna_bigbird.models.label_types import HEADLINES
from dna_bigbird.prediction.marginalise import draw_backgrounds
from dna_bigbird.prediction.results import HAPLOTYPE_EFFECTS
from dna_bigbird.training.bin_kmers import rows_by_signal, words_with_signal
from tests.report.conftest import Page
from tests.toy_project import STEPS, bytes_of, refused, run

BP, BIN, CROP, BINS, WINDOW = 24_010, 20, 40, 6, 200
TRAIN = (
    "finetune --genome genome.fa --data set.h5 --tokenizer bases --model.hidden_size 16 --model.num_heads 2 "
    f"--model.ffn_size 32 --model.max_tokens 256 --model.block_size 8 --seed 1 {STEPS} --training.max_steps 12 "
    "--training.validate_every 6"
)
FORWARD = {"strand": "forward", "precision": "32-true"}
SPLIT = "--split.validation [chr1:14001-18000] --split.test [chr1:18001-24010]"


def test_filters_begin_with_the_words_of_the_signal():
    """Two planted words, one per track; the second track has the reverse complement of its word."""
    rng = np.random.default_rng(3)
    codes, signal = rng.integers(0, 5, (4000, 40)), rng.normal(size=(4000, 2))
    planted = np.array([2, 1, 2, 1, 1, 1, 0, 1]), np.array([0, 0, 3, 1, 0, 2, 2, 3])
    for track, word in enumerate((planted[0], 3 - planted[1][::-1])):
        rows = rng.choice(4000, 60, replace=False)
        codes[rows, 16:24] = word
        signal[rows, track] += 4
    found = words_with_signal(torch.from_numpy(codes.astype(np.int8)), torch.from_numpy(signal), 6)
    for word, expected in zip(found, planted, strict=False):
        assert word.tolist() in (expected.tolist(), (3 - expected[::-1]).tolist())
    for i, word in enumerate(found):  # the others are no part of those before them
        for other in found[:i]:
            assert max((word == x).sum() for x in (other, 3 - other[::-1])) < 7
    assert words_with_signal(torch.zeros(9, 5, dtype=torch.int8), torch.zeros(9, 1), 6) == []


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
        run(f"{TRAIN} --output counted --checkpoints ck/counted --scored both --words.max_k 2")
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
        outputs = bundle.model.head.dense(bins)
        if bundle.model.words is not None:
            outputs = outputs + bundle.model.words(ids, torch.zeros_like(ids, dtype=torch.bool))[0]
        values.append(torch.nn.functional.softplus(outputs))
    mean = (values[0] + values[1].flip(0)) / 2
    return mean.detach().numpy() * config.target_means


@pytest.mark.parametrize("model", ["model", "counted"])
def test_a_window_has_the_values_of_its_bins(model):
    bundle, genome = load_bundle(model), Genome("genome.fa")
    data = LabelledSet("set.h5", genome)
    window = data.sequence(7)
    rows = predict(sequences=[window], model=model, precision="32-true")
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


def test_profiles_have_what_was_measured_beside_what_is_predicted():
    """Of B, whose measured part ends in the validation, 1 more than A; the region has the highest bins."""
    data, scores = LabelledSet("set.h5"), read_scores(Path("scored.report/scores.h5"))
    with open("scored.report/profiles.tsv") as stream:
        rows = [*csv.DictReader(stream, delimiter="\t")]
    test = data.rows("test")
    starts = data.intervals.start[test] + CROP
    with pyBigWig.open("a.bw") as file:
        per_base = np.array(file.values("chr1", 0, BP))
    highest = max(starts, key=lambda at: per_base[at : at + BINS * BIN].sum())
    for track, name in enumerate("AB"):
        own = [row for row in rows if row["label"] == name]
        at = np.array([int(row["start"]) for row in own])
        assert (np.diff(at) == BIN).all()
        assert highest in at
        assert len(own) == evaluate_run.PROFILE_BINS // BINS * BINS
        bins = per_base[at[:, None] + np.arange(BIN)].mean(axis=1) + track
        np.testing.assert_allclose([float(row["measured"]) for row in own], bins, rtol=1e-6)
        shown = test[np.isin(starts, at)]
        predicted = scores.of(shown)[..., track].ravel()
        np.testing.assert_allclose([float(row["predicted"]) for row in own], predicted, rtol=1e-6)


def test_the_region_of_a_profile_is_around_the_highest_window(monkeypatch):
    monkeypatch.setattr(evaluate_run, "PROFILE_BINS", 3 * BINS)
    data = LabelledSet("set.h5")
    test = data.rows("test")
    truth = data.labels_of(test)
    for peak, first in ((0, 0), (20, 19), (len(test) - 1, len(test) - 3)):
        values = truth.copy()
        values[peak] += 1_000
        rows = evaluate_run.profile_rows(data, test, values, truth)
        at = data.intervals.start[test[first]] + CROP
        assert [row["start"] for row in rows] == 2 * [*range(at, at + 3 * BINS * BIN, BIN)]


def test_the_page_of_a_model_of_tracks():
    run("report --model scored --output page.html --figure_folder figures")
    page = Page(Path("page.html").read_text())
    page.check_stands_alone()
    metrics = json.loads(Path("scored/metrics.json").read_text())
    for name in HEADLINES["tracks"]:
        assert repr(metrics[name]) in page.numbers
        assert repr(metrics["baselines"]["kmer"][name]) in page.numbers
    pictures = [attributes for tag, attributes in page.tags if tag == "img"]
    assert len(pictures) == 1
    assert "Measured and predicted" in pictures[0]["alt"]
    assert [x.name for x in Path("figures").iterdir()] == ["profiles.png"]


def test_a_replicate_is_next_to_the_model_but_not_its_best_baseline(capsys):
    run(
        "baseline --genome genome.fa --data set.h5 --method replicate --tracks A=a.bw B=b.bedGraph --output rep.h5"
    )
    run(
        "evaluate --genome genome.fa --data set.h5 --model model --output again_scored --replicates 20 --baselines "
        "replicate=rep.h5 kmer=scored.kmer.h5"
    )
    with open("again_scored.report/per_label.tsv") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            assert float(row["replicate_pearson"]) == pytest.approx(1)
    output = capsys.readouterr().out
    assert "model minus replicate: -" in output
    assert re.search("against (kmer|mean), the best baseline", output)


def test_kmers_around_bins_are_a_source_of_their_own():
    """Their scores are those of the sum without the network, and the model begins with them."""
    data, bundle = LabelledSet("set.h5", Genome("genome.fa")), load_bundle("counted")
    test = data.rows("test")
    truth, predicted = data.labels_of(test)[..., 0], []
    for row in test:
        of_strands = []
        for text in (data.sequence(row), reverse_complement(data.sequence(row))):
            ids = torch.tensor([[2, *bundle.tokenizer.encode(text), 3]])
            logits = bundle.model.words(ids, torch.zeros_like(ids, dtype=torch.bool))[0, :, 0]
            of_strands.append(torch.nn.functional.softplus(logits).detach().numpy())
        predicted.append((of_strands[0] + of_strands[1][::-1]) / 2)
    with open("both.report/per_label.tsv") as stream:
        score = float(next(csv.DictReader(stream, delimiter="\t"))["counts_pearson"])
    assert score == pytest.approx(stats.pearsonr(truth.ravel(), np.ravel(predicted))[0], abs=1e-4)
    # Every G run has a peak in its bin: 2-mers alone find many.
    assert score > 0.3


def test_windows_with_signal_are_read_again():
    data = LabelledSet("set.h5")
    rows, train = rows_by_signal(data), data.rows("train")
    assert (rows[: len(train)] == train).all()
    squares = np.nansum(data.labels_of(train).astype(float) ** 2, axis=1)
    expected = (squares / squares.mean(axis=0)).mean(axis=1).round()
    assert (np.bincount(rows, minlength=len(data))[train] - 1 == expected).all()
    assert len(np.unique(expected)) > 1


def changed(bases, at, ref, alt):
    """The window centred on a base, with REF and with ALT, of one length."""
    start = at - WINDOW // 2
    assert bases[at : at + len(ref)] == ref
    text = bases[:at] + alt + bases[at + len(ref) :]
    return bases[start : start + WINDOW], text[start : start + WINDOW]


@pytest.mark.parametrize(("central_bp", "bins"), [(0, slice(0, 6)), (30, slice(2, 4))])
def test_changes_of_variants_are_those_of_predicted_windows(central_bp, bins):
    bases = Path("genome.fa").read_text().split("\n")[1]
    at = next(i for i in range(5_000, BP) if not set(bases[i : i + 2]) - {"A", "T"})
    alleles = [(bases[at], "ACGT"["CGTA".index(bases[at])]), (bases[at], bases[at] + "GGGG")]
    rows = "".join(f"chr1\t{at + 1}\t.\t{ref}\t{alt}\t.\t.\t.\n" for ref, alt in alleles)
    Path("v.vcf").write_text(
        f"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n{rows}"
    )
    scores = score_variants("v.vcf", "genome.fa", "counted", central_bp=central_bp, **FORWARD)
    for number, (ref, alt) in enumerate(alleles):
        # The inserted bases follow the base at `at`; the window is centred on what changes.
        place = (at, ref, alt) if len(alt) == 1 else (at + 1, "", alt[1:])
        before, after = (
            predict(sequences=[x], model="counted", **FORWARD).probabilities[bins]
            for x in changed(bases, *place)
        )
        change = after - before
        shape = np.abs(after / after.sum(axis=0) - before / before.sum(axis=0)).sum(axis=0) / 2
        largest = change[np.abs(change).argmax(axis=0), range(2)]
        np.testing.assert_allclose(scores.total[number], change.sum(axis=0), rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(scores.shape[number], shape, rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(scores.largest[number], largest, rtol=1e-3, atol=1e-6)
    assert list(scores.to_dataframe())[5:8] == ["A_shape", "A_total", "A_largest"]


def test_an_allele_in_its_haplotype_changes_the_sum_of_the_bins():
    """Of two substitutions on one haplotype, 30 bases apart, each one in a window centred on it."""
    bases = Path("genome.fa").read_text().split("\n")[1]
    places = (5_000, 5_030)
    alts = ["ACGT"["CGTA".index(bases[at])] for at in places]
    rows = "".join(
        f"chr1\t{at + 1}\t.\t{bases[at]}\t{alt}\t.\t.\t.\tGT\t1|0\n"
        for at, alt in zip(places, alts, strict=True)
    )
    columns = "CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts1"
    Path("phased.vcf").write_text(f"##fileformat=VCFv4.2\n#{columns}\n{rows}")
    scores = score_variants(
        "phased.vcf", "genome.fa", "counted", haplotypes=True, central_bp=40, **FORWARD
    )
    for number, at in enumerate(places):

        def total(*changes, at=at):
            text = list(bases)
            for i in changes:
                text[places[i]] = alts[i]
            window = "".join(text[at - WINDOW // 2 : at + WINDOW // 2])
            values = predict(sequences=[window], model="counted", **FORWARD).probabilities
            return values[2:4].sum(axis=0)

        alone = total(number) - total()
        inside = total(0, 1) - total(1 - number)
        expected = [alone, inside, total(0, 1) - total(), inside - alone]
        found = [getattr(scores, x)[number] for x in HAPLOTYPE_EFFECTS]
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
    assert scores.background == [f"5031:{bases[5_030]}>{alts[1]}", f"5001:{bases[5_000]}>{alts[0]}"]


@pytest.mark.parametrize("within", [False, True])
def test_substitutions_have_the_changes_of_predicted_windows(within):
    """In windows centred on each base, or in one of all."""
    bases = Path("genome.fa").read_text().split("\n")[1]
    at, where = 3_000, {"within": f"chr1:{2_951}-{2_950 + WINDOW}"} if within else {}
    options = {"model": "counted", "central_bp": 40, **FORWARD}
    found = mutagenesis("genome.fa", f"chr1:{at + 1}-{at + 2}", **options, **where)
    for number, ref in enumerate(bases[at : at + 2]):
        start = 2_950 if within else at + number - WINDOW // 2
        window, place = bases[start : start + WINDOW], at + number - start
        texts = [window[:place] + base + window[place + 1 :] for base in "ACGT"]
        values = np.array(
            [predict(sequences=[x], model="counted", **FORWARD).probabilities[2:4] for x in texts]
        )
        change = values - values["ACGT".index(ref)]
        shares = values / values.sum(axis=1, keepdims=True)
        shape = np.abs(shares - shares["ACGT".index(ref)]).sum(axis=1) / 2
        np.testing.assert_allclose(found.total[number], change.sum(axis=1), rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(found.shape[number], shape, rtol=1e-3, atol=1e-6)
        assert np.abs(found.largest[number]).max() == pytest.approx(np.abs(change).max(), rel=1e-3)
    assert list(found.to_dataframe())[5:] == ["shape", "total", "largest"]


def test_the_table_and_the_picture_of_substitutions():
    run(
        "mutagenesis --fasta genome.fa --region chr1:3001-3010 --model model --output m.tsv --picture m.png"
    )
    with open("m.tsv") as stream:
        rows = [*csv.DictReader(stream, delimiter="\t")]
    assert list(rows[0])[3:7] == ["A_A_total", "A_C_total", "A_G_total", "A_T_total"]
    assert [float(row[f"A_{row['ref']}_total"]) for row in rows] == [0] * 10
    assert Path("m.png").read_bytes().startswith(b"\x89PNG")
    run("mutagenesis --fasta genome.fa --region chr1:3001-3010 --model model --output m.npz")
    assert {"shape", "total", "largest"} < set(np.load("m.npz"))


def test_effects_of_bases_add_up_to_the_difference_of_the_sum():
    """From the mean vector in place of every base to the window, over the bins in its middle."""
    window = Path("genome.fa").read_text().split("\n")[1][3_000 : 3_000 + WINDOW]
    effects = attribute(
        sequences=[window], model="model", method="integrated", strand="forward", central_bp=40
    )
    bundle = load_bundle("model")
    ids = torch.tensor([[2, *bundle.tokenizer.encode(window), 3]])
    is_padding = torch.zeros_like(ids, dtype=torch.bool)
    table = bundle.model.encoder.word.weight
    mean = table[torch.from_numpy(bundle.tokenizer.encode("ACGT"))].mean(dim=0)
    means = torch.tensor(bundle.config.target_means)

    def summed():
        with torch.no_grad():
            values = torch.nn.functional.softplus(bundle.model(ids, is_padding)[0].double())
        return (values * means)[2:4].sum(dim=0).numpy()

    whole = summed()
    with torch.no_grad():
        table[5:] = mean
    np.testing.assert_allclose(
        effects.effects[0].sum(axis=0), whole - summed(), rtol=0.02, atol=1e-4
    )


def test_a_motif_changes_the_sum_of_the_middle():
    run(
        "marginalise --fasta genome.fa --motif GGGGGGGG --model counted --backgrounds 5 --seed 3 --central_bp 40 "
        "--output motif.tsv"
    )
    texts = draw_backgrounds(Genome("genome.fa"), 5, WINDOW, np.random.default_rng(3))
    at = WINDOW // 2 - 4
    sums = [
        predict(sequences=[x], model="counted").probabilities[2:4].sum(axis=0)
        for text in texts
        for x in (text, text[:at] + "GGGGGGGG" + text[at + 8 :])
    ]
    expected = np.diff(np.reshape(sums, (5, 2, 2)), axis=1).mean(axis=(0, 1))
    with open("motif.tsv") as stream:
        rows = [*csv.DictReader(stream, delimiter="\t")]
    assert [float(row["change"]) for row in rows] == pytest.approx(list(expected), abs=1e-3)


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
        (f"{TRAIN} --output x --words.by_position true", "set.h5: of tracks k-mers are counted around every bin"),
        ("predict --fasta genome.fa --model model --span bin --format bigwig --output x", "--span bin: a model of"),
        ("predict --fasta genome.fa --model model --window 210", "--window 210: "),
        ("predict --fasta genome.fa --model model --format bed --output x.bed", "BED file needs probabilities"),
        ("mutagenesis --fasta genome.fa --region chr1:101-103 --model model --effect diff --output x.tsv", "--effect diff: this"),
        ("mutagenesis --fasta genome.fa --within chr1:101-310 --model model --output x.tsv", "--window 210: "),
        ("attribute --fasta genome.fa --model counted --output x.tsv", "a model of tracks with k-mers around its bins"),
        ("attribute --fasta genome.fa --model model --central_bp 140 --output x.tsv", "--central_bp 140: the bins in the"),
        ("score-variants --vcf v.vcf --fasta genome.fa --model model --window 210 --output x.tsv", "--window 210: "),
        ("score-variants --vcf v.vcf --fasta genome.fa --model model --output x.vcf", "A model of tracks: an allele has"),
        ("score-variants --vcf v.vcf --fasta genome.fa --model model --probabilities true --output x.tsv", "--probabilities: for"),
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
