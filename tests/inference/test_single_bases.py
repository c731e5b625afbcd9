"""A model whose tokens are single bases predicts, embeds and scores variants as any other."""

import numpy as np
import pytest
import torch

from dna_bigbird import embed, load_bundle
from dna_bigbird.genome import reverse_complement
from dna_bigbird.prediction.predict import predict
from dna_bigbird.prediction.score_variants import score_variants
from tests.tiny_bundle import write_tiny_bundle

WINDOW = 100
FLOAT32 = {"precision": "32-true"}
ROUNDING = 2e-5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    encoder = {
        "hidden_size": 32, "num_layers": 2, "num_heads": 2, "ffn_size": 64,
        "max_tokens": 128, "block_size": 8, "num_random": 1,
    }  # fmt: skip
    path = tmp_path_factory.mktemp("bundles") / "bases"
    return write_tiny_bundle(path, algorithm="bases", encoder=encoder, window_bp=WINDOW)


def tokens(bases):
    """[CLS] and [SEP] around the letters' numbers, without a tokenizer."""
    return torch.tensor([[2, *(5 + "ACGTN".index(base) for base in bases), 3]])


def logits(bundle, bases):
    ids = tokens(bases)
    with torch.inference_mode():
        return bundle.model(ids, torch.zeros_like(ids, dtype=torch.bool)).numpy()[0]


def test_predictions_are_those_of_the_letters(folder, random_dna):
    bundle = load_bundle(folder)
    texts = {"whole": random_dna(WINDOW, 1), "short": random_dna(37, 2) + "N"}
    found = predict(sequences=texts, model=folder, strand="forward", **FLOAT32)
    by_hand = [1 / (1 + np.exp(-logits(bundle, text))) for text in texts.values()]
    np.testing.assert_allclose(found.probabilities, by_hand, atol=ROUNDING)
    assert np.abs(found.probabilities[0] - found.probabilities[1]).max() > 100 * ROUNDING
    assert found.start.tolist() == [0, 0]
    assert found.end.tolist() == [WINDOW, 38]


def test_vectors_are_the_mean_over_the_bases(folder, random_dna):
    bundle, text = load_bundle(folder), random_dna(WINDOW, 3)
    found = embed(sequences={"a": text}, model=folder, pooling="mean", strand="forward", **FLOAT32)
    ids = tokens(text)
    with torch.no_grad():
        states = bundle.model.encoder(ids, torch.zeros_like(ids, dtype=torch.bool))
    by_hand = states[0, 1 : 1 + WINDOW].mean(dim=0).numpy()
    np.testing.assert_allclose(found.vectors[0], by_hand, atol=ROUNDING)


def test_a_substitution_changes_one_token(folder, random_dna, tmp_path):
    """Log-odds of a variant, from the letters of both windows on both strands."""
    bases, pos = random_dna(400, 4), 200
    ref = bases[pos - 1]
    alt = "C" if ref == "A" else "A"
    (tmp_path / "g.fa").write_text(f">chr1\n{bases}\n")
    header = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
    (tmp_path / "v.vcf").write_text(f"{header}\n1\t{pos}\t.\t{ref}\t{alt}\t.\t.\t.\n")
    found = score_variants(vcf=tmp_path / "v.vcf", fasta=tmp_path / "g.fa", model=folder, **FLOAT32)
    bundle = load_bundle(folder)

    def odds(text):
        """Each strand's window has half of its bases before the variant, in its own direction."""
        strands = [(text, pos - 1), (reverse_complement(text), len(text) - pos)]
        starts = [at - WINDOW // 2 for _, at in strands]
        windows = [s[start : start + WINDOW] for (s, _), start in zip(strands, starts, strict=True)]
        return np.mean([logits(bundle, window) for window in windows], axis=0)

    effect = odds(bases[: pos - 1] + alt + bases[pos:]) - odds(bases)
    assert np.abs(effect).max() > 100 * ROUNDING
    np.testing.assert_allclose(found.log_odds[0], effect, atol=ROUNDING)
