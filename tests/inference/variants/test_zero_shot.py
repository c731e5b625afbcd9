"""Scores without labels: what the encoder or the masked tokens of a model make of two alleles."""

import numpy as np
import pytest
import torch

from dna_bigbird import embed
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.genome import reverse_complement
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.prediction.score_variants import score_variants
from tests.tiny_bundle import draw_dna

WINDOW, LENGTH = 60, 400
ROUNDING = 2e-4
BASES = draw_dna(LENGTH, 5)
SIZE = {
    "hidden_size": 32, "num_layers": 2, "num_heads": 2, "ffn_size": 64, "max_tokens": 64,
    "block_size": 8, "num_random": 1,
}  # fmt: skip


@pytest.fixture(scope="module", params=["bases", "bpe"])
def pretrained(request, tmp_path_factory):
    """An untrained pretraining bundle with weights that are spread out."""
    size = None if request.param == "bases" else 48
    words = [draw_dna(500, seed) for seed in range(10)]
    settings = TokenizerConfig(algorithm=request.param, vocab_size=size)
    tokenizer = DnaTokenizer.from_bytes(train_tokenizer(words, settings))
    encoder = EncoderConfig(vocab_size=tokenizer.vocab_size, **SIZE)
    model = PretrainingModel(encoder, seed=1)
    for parameter in model.parameters():
        parameter.data *= 10 if parameter.dim() == 2 else 1
    folder = tmp_path_factory.mktemp("bundles") / request.param
    config = {
        "task": "pretraining", "encoder": encoder, "label_names": [], "label_groups": [],
        "assembly": "none", "semi_synthetic": False, "heads": list(model.heads),
        "bp_per_token": 1.0 if size is None else 2.5,
    }  # fmt: skip
    save_bundle(
        folder, model=model, config=config, tokenizer=tokenizer,
        metrics={"n": 0, "seed": 0, "split": "none"}, card="# tiny",
    )  # fmt: skip
    return folder


@pytest.fixture
def toy(tmp_path):
    """Function (records) -> keyword arguments for score_variants."""

    def write(records):
        (tmp_path / "toy.fa").write_text(f">chr1\n{BASES}\n")
        header = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
        rows = ["\t".join(["chr1", str(p), ".", r, a, ".", ".", "."]) for p, r, a in records]
        (tmp_path / "toy.vcf").write_text("\n".join([header, *rows]) + "\n")
        return {"vcf": tmp_path / "toy.vcf", "fasta": tmp_path / "toy.fa"}

    return write


def others(pos):
    return [base for base in "ACGT" if base != BASES[pos - 1]]


def windows_by_hand(pos, alleles, shift=0):
    """Of both strands, from chromosomes edited as strings: (strand, allele)."""
    size = len(alleles[0])
    before = WINDOW // 2 - size // 2 + shift
    start = pos - 1 - before
    texts = [BASES[: pos - 1] + allele + BASES[pos - 1 + size :] for allele in alleles]
    forward = [text[start : start + WINDOW] for text in texts]
    mirrored = [reverse_complement(text) for text in texts]
    start = LENGTH - (pos - 1 + size) - before
    return [forward, [text[start : start + WINDOW] for text in mirrored]]


def hidden_log_p(bundle, window, other):
    """Hide the tokens in which two windows differ one by one from both ends, and read the model."""
    mine, theirs = (bundle.tokenizer.encode(text).tolist() for text in (window, other))
    before = 0
    while mine[before] == theirs[before]:
        before += 1
    after = 0
    while mine[-1 - after] == theirs[-1 - after] and after < min(len(mine), len(theirs)) - before:
        after += 1
    end = len(mine) - after
    ids = torch.tensor([[2, *mine[:before], *[4] * (end - before), *mine[end:], 3]])
    assert bundle.tokenizer.mask_id == 4
    positions = torch.arange(1 + before, 1 + end)
    with torch.no_grad():
        rows, _ = bundle.model(ids, torch.zeros_like(ids, dtype=torch.bool), None, positions)
    chosen = rows.log_softmax(-1)[range(end - before), mine[before:end]]
    return float(chosen.double().sum()), end - before


@pytest.mark.parametrize("shifts", [1, 3])
def test_log_ratios_are_those_of_tokens_hidden_by_hand(pretrained, toy, shifts):
    bundle, positions = load_bundle(pretrained), [60, 101, 102, 250]
    records = [(pos, BASES[pos - 1], ",".join(others(pos))) for pos in positions]
    found = score_variants(
        **toy(records), model=pretrained, score="likelihood", window=WINDOW, shifts=shifts,
        shift_step=7,
    )  # fmt: skip
    expected, counts = [], set()
    for pos in positions:
        for alt in others(pos):
            ratios = []
            for shift in (0, 7, -7)[:shifts]:
                for ref_window, alt_window in windows_by_hand(pos, [BASES[pos - 1], alt], shift):
                    of_alt, number = hidden_log_p(bundle, alt_window, ref_window)
                    ratios.append(of_alt - hidden_log_p(bundle, ref_window, alt_window)[0])
                    counts.add(number)
            expected.append(np.mean(ratios))
    assert found.name == "likelihood_log_ratio"
    np.testing.assert_allclose(found.score, expected, atol=ROUNDING)
    assert np.ptp(expected) > 1000 * ROUNDING
    assert counts == {1} if pretrained.name == "bases" else len(counts) > 1


def test_substitutions_of_two_bases_have_a_likelihood_and_indels_none(pretrained, toy):
    ref = BASES[99:101]
    alts = ["".join(others(100 + i)[0] for i in range(2)), ref + "A", ref[0], ref]
    found = score_variants(
        **toy([(100, ref, ",".join(alts))]), model=pretrained, score="likelihood", window=WINDOW
    )
    assert np.isnan(found.score).tolist() == [False, True, True, False]
    assert found.score[3] == 0
    assert found.skipped == {"insertion or deletion, which has no likelihood": 2}
    bundle = load_bundle(pretrained)
    ratios = [
        hidden_log_p(bundle, alt, ref)[0] - hidden_log_p(bundle, ref, alt)[0]
        for ref, alt in windows_by_hand(100, [ref, alts[0]])
    ]
    np.testing.assert_allclose(found.score[0], np.mean(ratios), atol=ROUNDING)


def test_distances_are_those_of_the_vectors_of_embed(pretrained, toy):
    records = [(pos, BASES[pos - 1], others(pos)[0]) for pos in (100, 200)]
    records.append((300, BASES[299:302], BASES[299]))
    found = score_variants(**toy(records), model=pretrained, score="embedding", window=WINDOW)
    expected = []
    for pos, ref, alt in records[:2]:
        lengths = []
        for pair in windows_by_hand(pos, [ref, alt]):
            vectors = embed(
                sequences=dict(zip("ab", pair, strict=True)), model=pretrained, window=WINDOW,
                strand="forward", precision="32-true",
            ).vectors  # fmt: skip
            lengths.append(np.sqrt(((vectors[0] - vectors[1]).astype(float) ** 2).sum()))
        expected.append(np.mean(lengths))
    np.testing.assert_allclose(found.score[:2], expected, rtol=1e-3)
    assert found.score[2] > 0
    same = score_variants(
        **toy([(100, BASES[99], BASES[99])]), model=pretrained, score="embedding", window=WINDOW
    )
    assert same.score.tolist() == [0]


def test_a_table_has_one_column_and_resumes(pretrained, toy, tmp_path, capsys):
    files = toy([(100, BASES[99], others(100)[0]), (101, BASES[100], BASES[100] + "A")])
    arguments = ["--vcf", str(files["vcf"]), "--fasta", str(files["fasta"])]
    arguments += ["--model", str(pretrained), "--output", str(tmp_path / "s.tsv")]
    main(["score-variants", *arguments, "--score", "likelihood", "--window", "60"])
    header, row, indel = (tmp_path / "s.tsv").read_text().splitlines()
    assert header.split("\t") == ["chrom", "pos", "id", "ref", "alt", "likelihood_log_ratio"]
    assert np.isfinite(float(row.split("\t")[-1]))
    assert indel.endswith("\tnan")
    assert "1 insertion or deletion, which has no likelihood" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"score": "likelihood", "labels": "CTCF"},
            "labels CTCF: score likelihood has no labels",
        ),
        (
            {"score": "embedding", "probabilities": True},
            "probabilities: score embedding has none",
        ),
        ({"score": "embedding", "output": "-", "format": "vcf"}, "writes a table, not a VCF"),
        ({"score": "likelihood", "shifts": 9, "shift_step": 8}, "would be shifted by 32 bp"),
        ({"score": "likelihood", "workers": 1}, "workers 1: score likelihood computes in one"),
    ],
)
def test_what_a_score_lacks_is_refused(pretrained, toy, options, message):
    with pytest.raises(InputError, match=message):
        score_variants(
            **toy([(100, BASES[99], others(100)[0])]), model=pretrained, window=WINDOW, **options
        )


def test_a_fine_tuned_model_has_no_likelihood(bundle_folder, toy):
    records = [(100, BASES[99], others(100)[0])]
    with pytest.raises(InputError, match="needs a pretrained model, which predicts masked"):
        score_variants(**toy(records), model=bundle_folder, score="likelihood")
    found = score_variants(**toy(records), model=bundle_folder, score="embedding")
    assert found.score[0] > 0
    assert found.to_dataframe().columns.tolist()[-1] == "embedding_distance"


def test_the_labels_of_a_pretrained_model_are_refused(pretrained, toy):
    with pytest.raises(InputError, match="pretrained model without a label head"):
        score_variants(**toy([(100, BASES[99], others(100)[0])]), model=pretrained)
