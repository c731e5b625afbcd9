"""Longformer encoders that start from short models: BART as LED does, and RoBERTa."""

import pytest
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.cli.main import main
from tests.interop.bart_models import library_summarizer, their_logits
from tests.interop.pegasus_models import save, sources
from tests.text_vocabulary import tiny_text_tokenizer

transformers = pytest.importorskip("transformers")
CLOSE = {"rtol": 0, "atol": 1e-4}
START = "text warm-start --attention longformer --window_tokens 64 --max_tokens 300 --output warm"


def test_bart(tmp_path, monkeypatch):
    """Documents within one window read what BART reads; further positions repeat the table."""
    monkeypatch.chdir(tmp_path)
    theirs = library_summarizer("Bart")
    save(theirs, tmp_path / "bart")
    main(f"{START} --from_huggingface bart".split())
    bundle = load_bundle(tmp_path / "warm")
    model, options = bundle.model, bundle.config.options
    assert (options.max_source_tokens, options.max_target_tokens) == (300, 128)
    assert bundle.config.head.decoder_positions == 128
    inputs, targets = sources((64, 41)), torch.arange(10, 24).view(2, 7)
    expected = their_logits(theirs, "Bart", *inputs, targets)
    with torch.no_grad():
        torch.testing.assert_close(model(*inputs, targets), expected, **CLOSE)
        farther = model(*sources((200, 150)), targets)  # beyond one window and the short table
    assert torch.isfinite(farther).all()
    positions = model.encoder.position.weight
    assert torch.equal(positions, positions[:128].repeat(3, 1)[:300])
    for layer in model.encoder.layers:
        assert torch.equal(layer.attention.global_qkv.weight, layer.attention.qkv.weight)


def test_roberta(tmp_path, monkeypatch):
    """A text within one window has the states of RoBERTa."""
    monkeypatch.chdir(tmp_path)
    config = transformers.RobertaConfig(
        vocab_size=tiny_text_tokenizer().vocab_size, hidden_size=32, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=48, max_position_embeddings=66, type_vocab_size=1, pad_token_id=1,
        initializer_range=0.3,
    )  # fmt: skip
    theirs = transformers.RobertaForMaskedLM(config).eval()
    vocabulary = tiny_text_tokenizer()
    theirs.save_pretrained(tmp_path / "roberta")
    (tmp_path / "roberta/tokenizer.json").write_bytes(byte_pieces())
    main(f"{START} --from_huggingface roberta".split())
    bundle = load_bundle(tmp_path / "warm")
    assert bundle.config.encoder.attention == "longformer"
    ids_BT = torch.randint(
        7, vocabulary.vocab_size, (1, 60), generator=torch.Generator().manual_seed(0)
    )
    with torch.no_grad():
        expected = theirs(ids_BT).logits[0]
        found, _ = bundle.model(ids_BT, torch.zeros_like(ids_BT).bool(), None, torch.arange(60))
    assert expected.std() > 0.1
    torch.testing.assert_close(found, expected, **CLOSE)


def byte_pieces() -> bytes:
    import tokenizers

    pieces = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    pieces.train_from_iterator(["the cat sat on the mat"], vocab_size=300, special_tokens=special)
    return pieces.to_str().encode()


def test_a_vocabulary_for_bart_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save(library_summarizer("Bart"), tmp_path / "bart")
    with pytest.raises(SystemExit, match="2"):
        main(f"{START} --from_huggingface bart --vocabulary bart/spiece.model".split())
    assert "--vocabulary: the summarizer of bart keeps its own" in capsys.readouterr().err
    assert not (tmp_path / "warm").exists()
