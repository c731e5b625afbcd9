"""`marginalise`: motifs in shuffled backgrounds, next to a predictor whose answers are known."""

import errno
from collections import Counter

import numpy as np
import pytest
import torch

from dna_bigbird import load_bundle, predict
from dna_bigbird.core.errors import InputError, OutputError
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.motif_files import MotifMatrix, meme_text
from dna_bigbird.models.label_types import MULTI_LABEL
from dna_bigbird.prediction.marginalise import (
    draw_backgrounds,
    effects_of,
    marginalise,
    site_of,
    table_rows,
)

FIRST, SECOND = "TTTTCTTTT", "AAAAGAAAA"


class KnownPredictor:
    """Log odds: 2 for FIRST, 1 for SECOND, and 0.5 more if SECOND starts 12 bases after the end of FIRST."""

    label_type = MULTI_LABEL

    def probabilities(self, texts):
        logits = [
            2.0 * (FIRST in text)
            + (SECOND in text)
            + 0.5 * (text.find(SECOND) - text.find(FIRST) == len(FIRST) + 12 and FIRST in text)
            - 1
            for text in texts
        ]
        return 1 / (1 + np.exp(-np.array(logits)[:, None]))


def test_the_interaction_is_what_is_not_added_up():
    backgrounds = ["CG" * 50, "GC" * 50, "CC" * 50]
    distances = [5, 12, -12, 30]
    changes = effects_of(KnownPredictor(), backgrounds, FIRST, 45, SECOND, distances)
    assert changes["motif", None] == pytest.approx(2.0)
    for distance in distances:
        extra = 0.5 if distance == 12 else 0.0
        assert changes["second", distance] == pytest.approx(1.0)
        assert changes["both", distance] == pytest.approx(3.0 + extra)
        assert changes["interaction", distance] == pytest.approx(extra)


def test_the_interval_is_that_of_the_mean():
    values = np.random.default_rng(0).normal(1, 2, (400, 1))
    (row,) = table_rows({("motif", None): values}, ["CTCF"], 0, "position")
    assert (row["label"], row["inserted"], row["position"], row["n"]) == (
        "CTCF",
        "motif",
        None,
        400,
    )
    half = 1.96 * values.std() / 20
    assert float(row["change"]) == pytest.approx(values.mean(), abs=1e-4)
    assert float(row["low"]) == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert float(row["high"]) == pytest.approx(values.mean() + half, abs=0.1 * half)


@pytest.fixture(scope="module")
def fasta(tmp_path_factory):
    rng = np.random.default_rng(0)
    text = "".join(rng.choice(list("ACGT"), 3000))
    path = tmp_path_factory.mktemp("genome") / "toy.fa"
    path.write_text(f">a\n{text[:2000]}{'N' * 500}{text[2000:]}\n>short\nACGT\n")
    return path


def test_backgrounds_have_the_dinucleotides_of_windows_without_n(fasta):
    genome = Genome(fasta)
    texts = draw_backgrounds(genome, 5, 200, np.random.default_rng(0))
    whole = genome._read("a", 0, genome.lengths["a"]).decode()
    windows = [whole[i : i + 200] for i in range(len(whole) - 199)]
    pairs = {
        frozenset(Counter(map(str.__add__, x, x[1:])).items()) for x in windows if "N" not in x
    }
    for text in texts:
        assert text not in whole
        assert frozenset(Counter(map(str.__add__, text, text[1:])).items()) in pairs


def test_a_genome_of_n_is_one_line(tmp_path):
    path = tmp_path / "n.fa"
    path.write_text(f">a\n{'N' * 400}\n")
    with pytest.raises(InputError, match=r"n\.fa: only 0 of 200 random windows of 300 bases"):
        draw_backgrounds(Genome(path), 2, 300, np.random.default_rng(0))
    with pytest.raises(InputError, match=r"n\.fa: no record of 500 bases"):
        draw_backgrounds(Genome(path), 2, 500, np.random.default_rng(0))


BACKGROUNDS = 3


def log_odds_by_hand(texts):
    """Of the bundled model, without its Predictor; one window after the other, forward strand only."""
    bundle = load_bundle("bundled-tata")
    bundle.model.eval()
    with torch.no_grad():
        ids = [torch.as_tensor(bundle.tokenizer.encode_all([text])[0]) for text in texts]
        ends = [bundle.tokenizer.cls_id], [bundle.tokenizer.sep_id]
        rows = [torch.tensor([*ends[0], *x.tolist(), *ends[1]])[None] for x in ids]
        return np.array(
            [float(bundle.model(x, torch.zeros_like(x, dtype=torch.bool))) for x in rows]
        )


def test_a_curve_is_the_bundled_model_on_windows_made_by_hand(fasta, tmp_path):
    result = marginalise(
        fasta, "TATAAAAG", tmp_path / "out.tsv", position=[-249, -30, 43], backgrounds=BACKGROUNDS,
        curves=tmp_path / "out.svg", threads=1,
    )  # fmt: skip
    backgrounds = draw_backgrounds(Genome(fasta), BACKGROUNDS, 300, np.random.default_rng(0))
    plain = log_odds_by_hand(backgrounds)
    for row, start in zip(result.rows, (0, 219, 292), strict=True):  # the start site is base 250
        edited = [text[:start] + "TATAAAAG" + text[start + 8 :] for text in backgrounds]
        assert row["position"] == start - 249
        expected = (log_odds_by_hand(edited) - plain).mean()
        assert float(row["change"]) == pytest.approx(expected, abs=2e-3)
    lines = (tmp_path / "out.tsv").read_text().splitlines()
    assert lines[0] == "label\tinserted\tposition\tn\tchange\tlow\thigh"
    assert (tmp_path / "out.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize("motif", ["TATAAAAG", "TATAAA"])
def test_the_bundled_model_wants_a_tata_box_30_bases_before_the_start(fasta, tmp_path, motif):
    rows = marginalise(fasta, motif, tmp_path / "out.tsv", step=3, backgrounds=4, threads=1).rows
    assert [row["position"] for row in rows] == list(range(-249, 51 - len(motif) + 1, 3))
    best = max(rows, key=lambda row: float(row["change"]))
    assert -33 <= best["position"] <= -27
    assert float(best["low"]) > 1


def test_a_pair_is_what_predict_says_of_both_strands(fasta, tmp_path):
    result = marginalise(
        fasta, "TATAAAAG", tmp_path / "out.tsv", second="GGGCGG", distances=[20, -30],
        position=[-30], strand="both", backgrounds=BACKGROUNDS, curves=tmp_path / "out.png", threads=1,
    )  # fmt: skip
    backgrounds = draw_backgrounds(Genome(fasta), BACKGROUNDS, 300, np.random.default_rng(0))
    edited = [text[:219] + "TATAAAAG" + text[227:] for text in backgrounds]
    edited = [text[:247] + "GGGCGG" + text[253:] for text in edited]
    shares = predict(
        sequences=[*backgrounds, *edited], threads=1, precision="32-true", strand="both"
    ).probabilities
    log_odds = np.log(shares[:, 0] / (1 - shares[:, 0]))
    expected = (log_odds[3:] - log_odds[:3]).mean()
    (both,) = (x for x in result.rows if (x["inserted"], x["distance"]) == ("both", 20))
    assert float(both["change"]) == pytest.approx(expected, abs=2e-3)
    lines = (tmp_path / "out.tsv").read_text().splitlines()
    assert lines[0] == "label\tinserted\tdistance\tn\tchange\tlow\thigh"
    assert len(lines) == 1 + 1 + 3 * 2
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def test_without_an_anchor_the_motif_is_in_the_middle(fasta, tmp_path, without_anchor):
    result = marginalise(
        fasta,
        "TATAAAAG",
        tmp_path / "out.tsv",
        model=without_anchor,
        backgrounds=2,
        threads=1,
    )
    assert [row["position"] for row in result.rows] == [146 - 150]


def test_a_matrix_is_its_consensus(tmp_path):
    matrices = [MotifMatrix("M1", "YY1", np.eye(4)), MotifMatrix("M2", "YY1", np.eye(4)[::-1])]
    path = tmp_path / "m.meme"
    path.write_text(meme_text(matrices, {"M1": 1, "M2": 1}))
    assert site_of("acgt", path) == "ACGT"
    assert site_of("m2", path) == "TGCA"
    with pytest.raises(
        InputError, match=r"YY1: matrices M1, M2 of m\.meme have this name; name one"
    ):
        site_of("YY1", path)
    with pytest.raises(
        InputError, match=r"'CTCF' is not a text of A, C, G and T, nor a matrix of m\.meme"
    ):
        site_of("CTCF", path)


def test_wrong_options_are_one_line(fasta, tmp_path):
    out = tmp_path / "out.tsv"
    for options, line in (
        (
            {"curves": tmp_path / "x.gif"},
            r"curves.*x\.gif: expected a name in \.png, \.svg, \.pdf",
        ),
        ({"backgrounds": 1}, "backgrounds.*1: expected at least 2"),
        ({"second": "ACGT", "distances": [5, 5]}, "expected at least one, each once"),
        (
            {"second": "ACGT", "distances": [200], "position": [-30]},
            r"distances.*200: the second motif would be outside",
        ),
        ({"model": "bundled-encoder"}, r"encoder: this is a pretrained model"),
        ({"distances": [20]}, r"distances.*name the other with second"),
        ({"second": "ACGT"}, r"position None: expected one position of the first motif"),
        ({"position": [44]}, r"position 44: expected from -249 to 43"),
        ({"position": [-30], "step": 2}, r"step 2: of a curve"),
        (
            {"window": 200},
            r"window 200: this model was trained on windows aligned on base 250 of 300",
        ),
        ({"motif": "A" * 301}, "motif has 301 bases, and the window 300"),
        (
            {"backgrounds": 10**9},
            r"backgrounds 1000000000: this takes about 3\d,\d{3}\.\d GB of memory",
        ),
    ):
        with pytest.raises(InputError, match=line):
            marginalise(**{"fasta": fasta, "motif": "TATAAAAG", "output": out} | options)
    assert not out.exists()


@pytest.mark.parametrize("is_picture", [True, False])
def test_a_failed_picture_leaves_no_table(fasta, tmp_path, monkeypatch, is_picture):
    out, curves = tmp_path / "out.tsv", tmp_path / "out.png"
    options = {"position": [-30], "backgrounds": 2, "threads": 1}
    if is_picture:  # a folder in its place is refused before work
        curves.mkdir()
        monkeypatch.setattr(
            "dna_bigbird.prediction.marginalise.lay_out", lambda *a: pytest.fail("work")
        )
    else:
        full = OSError(errno.ENOSPC, "No space left on device")
        monkeypatch.setattr("dna_bigbird.core.figures.style.save", raiser(full))
    with pytest.raises(
        OutputError, match=r"out\.png: (this is a folder|cannot write it: No space)"
    ):
        marginalise(fasta, "TATAAAAG", out, curves=curves, **options)
    assert not out.exists()


def raiser(error):
    def fail(*_):
        raise error

    return fail
