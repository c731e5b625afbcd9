"""benchmarks/lengths.py and encoder_settings.py on small models."""

import math

import pytest

from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.models.config import EncoderConfig, stored_encoder
from dna_bigbird.models.pretraining_model import PretrainingModel


def write_bundle(folder, project, positions):
    tokenizer = DnaTokenizer.from_file(project / "bpe.model")
    encoder = EncoderConfig(
        vocab_size=tokenizer.vocab_size, hidden_size=16, num_layers=1, num_heads=2, ffn_size=16,
        max_tokens=64, block_size=8, num_random=1, positions=positions,
    )  # fmt: skip
    described = {"task": "pretraining", "heads": ["mlm"], "encoder": stored_encoder(encoder)}
    save_bundle(
        folder,
        model=PretrainingModel(encoder, heads=("mlm",)),
        config=described,
        tokenizer=tokenizer,
        metrics={},
        card="# tiny\n",
    )
    return folder


@pytest.mark.parametrize(("positions", "more"), [("rotary", ""), ("learned", "--extend tile")])
def test_lengths(script, toy_project, tmp_path, capsys, positions, more):
    folder = write_bundle(tmp_path / "model", toy_project, positions)
    line = f"--model {folder} --test {toy_project}/test.h5 --lengths 64 160 --tokens 1600 {more}"
    script("lengths").main(line.split())
    lines = [text for text in capsys.readouterr().out.splitlines() if text[0] != "#"]
    rows = [dict(zip(lines[0].split("\t"), text.split("\t"), strict=True)) for text in lines[1:]]
    assert [row["tokens"] for row in rows] == ["64", "160"]
    assert [row["trained"] for row in rows] == ["True", "False"]
    assert [row["examples"] for row in rows] == ["25", "10"]
    for row in rows:
        low, bits, high = (float(row[name]) for name in ("low", "bits_per_masked_base", "high"))
        assert low <= bits <= high
        # An untrained model gives every entry of the vocabulary about the same probability.
        piece_bp = math.log2(128) / bits
        assert 2 < piece_bp < 6


def test_cost_of_settings(script, capsys):
    script("encoder_settings").main(["--tokens", "64", "--rounds", "1"])
    lines = [text for text in capsys.readouterr().out.splitlines() if text[0] != "#"]
    names = [text.split("\t")[0] for text in lines[1:]]
    assert names == ["none", "rotary", "qk_norm", "stem of 5", "norm_first", "patches of 8", "all"]
    assert lines[1].endswith("1.00 [1.00, 1.00]")
