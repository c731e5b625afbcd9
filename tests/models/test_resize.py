"""More word vectors: the old ones stay, the new ones are as fresh ones."""

from dataclasses import replace

import torch

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.weight_transfer import with_tables

CONFIG = EncoderConfig(
    vocab_size=50, hidden_size=32, num_layers=1, num_heads=2, ffn_size=64, max_tokens=64,
    block_size=16, num_random=1, init_std=0.1,
)  # fmt: skip


def test_old_ids_give_the_same_states():
    encoder = Encoder(CONFIG).eval()
    grown = with_tables(
        encoder, replace(CONFIG, vocab_size=70), torch.Generator().manual_seed(3)
    ).eval()
    ids = torch.randint(0, 50, (2, 40), generator=torch.Generator().manual_seed(1))
    none = torch.zeros(2, 40, dtype=torch.bool)
    assert torch.equal(encoder(ids, none), grown(ids, none))
    assert grown.config.vocab_size == len(grown.word.weight) == 70
    new = grown.word.weight[50:]
    assert 0.08 < new.std().item() / 0.88 < 0.12  # cut at two sigma: 0.88 of the deviation
    assert new.abs().max() <= 0.2


def test_new_rows_depend_on_the_generator():
    encoder = Encoder(CONFIG)
    a, b, c = (
        with_tables(
            encoder, replace(CONFIG, vocab_size=60), torch.Generator().manual_seed(s)
        ).word.weight
        for s in (3, 3, 4)
    )
    assert torch.equal(a, b)
    assert not torch.equal(a[50:], c[50:])


def test_an_encoder_that_has_them_is_the_same():
    encoder = Encoder(CONFIG)
    assert with_tables(encoder, replace(CONFIG, vocab_size=50), torch.Generator()) is encoder
    assert with_tables(encoder, replace(CONFIG, vocab_size=20), torch.Generator()) is encoder


def test_an_appended_segment_begins_as_the_first():
    encoder = Encoder(CONFIG).eval()
    grown = with_tables(encoder, replace(CONFIG, num_segments=5), torch.Generator()).eval()
    assert grown.segment.weight.shape[0] == 5
    ids = torch.randint(0, 50, (1, 40), generator=torch.Generator().manual_seed(1))
    none, segments = torch.zeros(1, 40, dtype=torch.bool), torch.arange(40)[None] % 5
    with torch.no_grad():
        expected = encoder(ids, none, torch.where(segments == 1, 1, 0))
        torch.testing.assert_close(grown(ids, none, segments), expected, rtol=0, atol=0)
