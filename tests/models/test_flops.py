"""The formula of operations against PyTorch's own counter."""

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.models.flops import block_pairs, encoder_flops, forward_flops, training_flops
from dna_bigbird.models.pretraining_model import PretrainingModel

DENSE = EncoderConfig(
    vocab_size=50, hidden_size=32, num_layers=3, num_heads=4, ffn_size=48, max_tokens=64,
    block_size=8, attention="full", dropout=0.0,
)  # fmt: skip


def counted(model, inputs, backward=False):
    model.encoder.set_backend("dense")
    with FlopCounterMode(display=False) as counter:
        outputs = model(*inputs)
        if backward:
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            sum(output.sum() for output in outputs).backward()
    return counter.get_total_flops()


def pretraining_inputs(batch, tokens, predicted):
    ids = torch.arange(batch * tokens).view(batch, tokens) % 50
    return ids, torch.zeros(batch, tokens, dtype=torch.bool), ids % 2, torch.arange(predicted)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(("batch", "tokens", "predicted"), [(1, 64, 5), (3, 40, 17)])
def test_pretraining(batch, tokens, predicted, backward):
    model = PretrainingModel(DENSE)
    found = counted(model, pretraining_inputs(batch, tokens, predicted), backward)
    formula = training_flops if backward else forward_flops
    assert formula(model, [tokens] * batch, predicted) == found


def test_a_stem_counts_and_rotary_positions_and_norms_do_not():
    plain, stem = PretrainingModel(DENSE), PretrainingModel(replace(DENSE, stem_width=5))
    inputs = pretraining_inputs(2, 64, 3)
    assert forward_flops(stem, [64, 64], 3) == counted(stem, inputs)
    assert forward_flops(stem, [64, 64], 3) - counted(plain, inputs) == 2 * 128 * 5 * 32 * 32
    later = {"layer_skips": True, "head_gates": True, "value_embeddings": True, "word_memory": 40}
    more = PretrainingModel(replace(DENSE, **later, untied_head=True, logit_cap=9.0))
    assert forward_flops(more, [64, 64], 3) == counted(more, inputs)
    other = PretrainingModel(replace(DENSE, positions="rotary", qk_norm=True))
    assert forward_flops(other, [64, 64], 3) == counted(other, inputs) == counted(plain, inputs)


@pytest.mark.parametrize("tokens", [64, 32])
def test_patches_shorten_what_the_layers_read(tokens):
    patches = {"patch_tokens": 4, "stem_width": 5, "positions": "rotary", "norm_first": True}
    model = PretrainingModel(replace(DENSE, **patches))
    # Whole blocks of patches: the operations on padding are not counted.
    assert forward_flops(model, [tokens] * 2, 3) == counted(model, pretraining_inputs(2, tokens, 3))
    assert forward_flops(model, [64, 64], 3) < forward_flops(PretrainingModel(DENSE), [64, 64], 3)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_labels(pooling):
    model = SequenceClassifier(DENSE, 7, HeadConfig(pooling=pooling))
    ids, is_padding, *_ = pretraining_inputs(2, 48, 1)
    assert forward_flops(model, [48, 48]) == counted(model, (ids, is_padding))


@pytest.mark.parametrize("changes", [{}, {"random_plan": "original", "global_blocks": "first_two"}])
def test_a_sparse_pattern_counts_what_its_blocks_read(changes):
    """By the oracle's table of counts, block by block; in the second case heads read unequally."""
    config = replace(DENSE, attention="bigbird", num_random=1, max_tokens=160, **changes)
    encoder = PretrainingModel(config).encoder
    for layer in encoder.layers:
        pattern = layer.attention.pattern(160)
        assert block_pairs(pattern) == pattern.times().sum() < 4 * 20 * 20
    dense = PretrainingModel(replace(config, attention="full")).encoder
    saved = sum(1600 - layer.attention.pattern(160).times().sum() for layer in encoder.layers)
    difference = encoder_flops(dense, 160) - encoder_flops(encoder, 160)
    assert difference == saved * 64 * 4 * 8
