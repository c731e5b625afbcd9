"""Longformer and LED in the published base sizes, with random weights."""

import pytest
import torch

from dna_bigbird.bundles.huggingface import read_huggingface
from dna_bigbird.models.beam_search import beam_search
from tests.interop.bart_models import library_summarizer, mask_of, their_logits
from tests.interop.longformer_models import MLM, saved_longformer
from tests.interop.pegasus_models import save

pytest.importorskip("transformers")
pytestmark = pytest.mark.slow
CLOSE = {"rtol": 0, "atol": 1e-4}


def document(lengths, vocabulary=50265):
    generator = torch.Generator().manual_seed(0)
    ids_BT = torch.randint(4, vocabulary, (len(lengths), max(lengths)), generator=generator)
    is_padding_BT = torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]
    return ids_BT.masked_fill(is_padding_BT, 1), is_padding_BT


def difference(name, found, expected):
    largest = (found - expected).abs().max()
    print(f"{name}: largest difference {largest:.1e}, standard deviation {expected.std():.2f}")
    return largest


def test_longformer_base(tmp_path):
    """12 layers of 768, windows of 512, 4,096 positions."""
    theirs, folder = saved_longformer(
        tmp_path, MLM, std=0.04, vocab_size=50265, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
        intermediate_size=3072, max_position_embeddings=4098, attention_window=512, pad_token_id=1,
    )  # fmt: skip
    ours = read_huggingface(folder).model
    ids_BT, is_padding_BT = document((4096,))
    at_T = torch.arange(0, 4096, 64)
    marks_BT = torch.zeros_like(ids_BT)
    marks_BT[:, 0] = 1
    with torch.no_grad():
        states_BTE = theirs.longformer(ids_BT, global_attention_mask=marks_BT).last_hidden_state
        expected = theirs.lm_head(states_BTE[0, at_T])
        found, _ = ours(ids_BT, is_padding_BT, None, at_T)
    assert difference("Longformer base", found, expected) < 1e-4


def test_led_base(tmp_path):
    """6 + 6 layers of 768, windows of 1,024; 4,096 of 16,384 tokens."""
    theirs = library_summarizer(
        "LED", std=0.04, vocab_size=50265, d_model=768, encoder_layers=6, decoder_layers=6,
        encoder_attention_heads=12, decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072,
        max_encoder_position_embeddings=16384, max_decoder_position_embeddings=1024, attention_window=1024,
        pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
    )  # fmt: skip
    ours = read_huggingface(save(theirs, tmp_path)).model
    inputs = document((4096,))
    targets_BU = torch.arange(10, 26)[None]
    expected = their_logits(theirs, "LED", *inputs, targets_BU)
    with torch.no_grad():
        found = ours(*inputs, targets_BU)
    assert difference("LED base", found, expected) < 1e-4
    rows = theirs.generate(
        inputs[0],
        **mask_of(inputs[1], "LED"),
        num_beams=4,
        length_penalty=0.8,
        max_length=9,
        min_length=5,
    )
    written = beam_search(
        ours, *inputs, max_length=8, min_length=4, length_formula="library", beam_size=4, length_penalty=0.8
    )  # fmt: skip
    assert written[0].tolist() == rows[0, 1:].tolist()
