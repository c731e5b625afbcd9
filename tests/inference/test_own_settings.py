"""A bundle with rotary positions, a stem and norms of its own: the same as the model called directly."""

import json

import numpy as np
import pytest
import torch

from dna_bigbird import embed, load_bundle, predict, score_variants
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.cli.main import main
from tests.tiny_bundle import OWN_ENCODER, draw_dna, write_rotary_bundle

FLOAT32 = {"precision": "32-true"}
CLOSE = {"rtol": 0, "atol": 2e-5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_rotary_bundle(tmp_path_factory.mktemp("own") / "model")


@pytest.fixture(scope="module")
def bundle(folder):
    return load_bundle(folder)


def direct(bundle, bases, call=lambda model: model):
    ids = [bundle.tokenizer.cls_id, *bundle.tokenizer.encode(bases), bundle.tokenizer.sep_id]
    tokens = torch.tensor([ids])
    with torch.inference_mode():
        return call(bundle.model)(tokens, torch.zeros_like(tokens, dtype=torch.bool))[0].numpy()


def probabilities(bundle, bases):
    return 1 / (1 + np.exp(-direct(bundle, bases)))


def test_a_bundle_keeps_the_settings(folder, bundle, tmp_path):
    assert OWN_ENCODER.items() <= bundle.config["encoder"].items()
    save_bundle(
        tmp_path / "again",
        model=bundle.model,
        config=bundle.config,
        tokenizer=bundle.tokenizer,
        metrics=bundle.metrics,
        card="# again\n",
    )
    for name in ("config.json", "model.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_info_shows_them(folder, capsys):
    main(["info", str(folder)])
    facts, _, _ = capsys.readouterr().out.partition("\n\n")
    facts = dict(line.split(None, 1) for line in facts.splitlines())
    assert facts["context"] == (
        "128 tokens in training; it reads longer sequences; layer norms before the layers; rotary "
        "positions; a norm of queries and keys; a convolution of 3 tokens on the embeddings"
    )
    main(["info", str(folder), "--format", "json"])
    shown = json.loads(capsys.readouterr().out)["config"]["encoder"]
    assert OWN_ENCODER.items() <= shown.items()


def test_windows_equal_direct_calls_and_long_ones_are_read_whole(bundle):
    texts = {str(length): draw_dna(length, length) for length in (60, 200, 1200)}
    found = predict(sequences=texts, model=bundle, window=1200, strand="forward", **FLOAT32)
    expected = np.stack([probabilities(bundle, text) for text in texts.values()])
    np.testing.assert_allclose(found.probabilities, expected, **CLOSE)
    assert expected.std(axis=0).min() > 1e-3
    tokens = len(bundle.tokenizer.encode(texts["1200"])) + 2
    line = f"--window: up to {tokens} tokens are read at once; the model was trained on at most 128"
    assert found.notes.count(line) == 1
    short = predict(sequences=texts, model=bundle, window=200, **FLOAT32)
    assert not any("trained on" in note for note in short.notes)


def test_vectors_equal_direct_calls(bundle):
    text = draw_dna(1500, 3)
    found = embed(
        sequences={"a": text}, model=bundle, window=1500, pooling="tokens", **FLOAT32
    )  # fmt: skip
    states = direct(bundle, text, lambda model: model.encoder)
    np.testing.assert_allclose(found.vectors, states[1:-1], **CLOSE)
    assert sum("trained on at most 128" in note for note in found.notes) == 1


def test_effects_equal_direct_calls(bundle, tmp_path):
    text = draw_dna(800, 4)
    alt = "A" if text[400] != "A" else "C"
    (tmp_path / "g.fa").write_text(f">c\n{text}\n")
    (tmp_path / "v.vcf").write_text(
        "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
        f"c\t401\t.\t{text[400]}\t{alt}\t.\t.\t.\n"
    )
    scores = score_variants(
        tmp_path / "v.vcf", fasta=tmp_path / "g.fa", model=bundle, strand="forward", **FLOAT32
    )
    window = text[300:500]
    changed = window[:100] + alt + window[101:]
    np.testing.assert_allclose(scores.ref_probability[0], probabilities(bundle, window), **CLOSE)
    np.testing.assert_allclose(scores.alt_probability[0], probabilities(bundle, changed), **CLOSE)
    assert np.abs(scores.ref_probability - scores.alt_probability).max() > 1e-4
