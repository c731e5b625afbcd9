"""Heads that read spans: what is blocked, what changes nothing."""

import pytest
import torch

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.text_config import LongAnswerHead, SpanHead
from dna_bigbird.text.question_models import BLOCKED, LongAnswerModel, SpanModel

TINY = EncoderConfig(
    vocab_size=50, hidden_size=16, num_layers=1, num_heads=2, ffn_size=32, max_tokens=64,
    block_size=8, num_random=1, dropout=0.0,
)  # fmt: skip
IDS = torch.randint(0, 50, (2, 12), generator=torch.Generator().manual_seed(0))
PADDING = torch.arange(12) >= torch.tensor([12, 9])[:, None]
SEGMENTS = (torch.arange(12) >= 4).long().expand(2, 12)


def test_no_span_stands_outside_the_document():
    is_document = (SEGMENTS == 1) & ~PADDING
    is_document[:, 11] = False  # the last [SEP]
    model = LongAnswerModel(TINY).eval()
    masked = model(IDS, PADDING, SEGMENTS, is_document)
    is_open = is_document.clone()
    is_open[:, 0] = True
    for logits in masked[:4]:
        assert torch.equal(torch.isfinite(logits), is_open)
    model.mask_outside = False
    everywhere = model(IDS, PADDING, SEGMENTS, is_document)
    for some, every in zip(masked, everywhere, strict=True):
        assert torch.equal(some[torch.isfinite(some)], every[torch.isfinite(some)])
        assert every.dim() == 2
    assert torch.equal(torch.isfinite(everywhere.short_end_BT), ~PADDING)
    assert masked.type_B5.shape == (2, 5)


@pytest.mark.parametrize("extra_block", [False, True])
def test_no_answer_stands_in_the_question(extra_block):
    model = SpanModel(TINY, SpanHead(extra_block=extra_block)).eval()
    blocked = model(IDS, PADDING, SEGMENTS)
    model.block_question = False
    free = model(IDS, PADDING, SEGMENTS)
    for some, every in zip(blocked, free, strict=True):
        torch.testing.assert_close((every - some)[:, 1:4], torch.full((2, 3), BLOCKED))
        assert torch.equal(some[:, 0], every[:, 0])
        assert torch.equal(some[:, 4:], every[:, 4:])
        assert torch.equal(torch.isneginf(some), PADDING)


@pytest.mark.parametrize(("model", "head"), [(LongAnswerModel, LongAnswerHead()), (SpanModel, SpanHead(extra_block=True))])  # fmt: skip
def test_logits_are_float32_under_autocast_and_seeds_repeat(model, head):
    more = (SEGMENTS == 1,) if model is LongAnswerModel else ()
    first, again, other = (model(TINY, head, seed=seed).eval() for seed in (3, 3, 4))
    with torch.autocast("cpu", torch.bfloat16):
        found = [one(IDS, PADDING, SEGMENTS, *more)[0] for one in (first, again, other)]
    assert found[0].dtype == torch.float32
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
