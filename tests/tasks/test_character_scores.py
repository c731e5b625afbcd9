"""Overlapping windows next to a character-by-character evaluation."""

import numpy as np
import pytest
import torch

from dna_bigbird.evaluation.evaluate_characters_run import overlapping_windows, score_characters
from dna_bigbird.models.character_config import CharacterConfig
from dna_bigbird.models.character_model import CharacterModel


def one_by_one(model, characters, window, stride):
    """Each character from the prefix that its window shows, each by a forward pass of its own."""
    N = len(characters)
    nats = [np.nan]
    for i in range(1, N):
        # The first window that ends at or after the character: window, window + stride, …, N - 1.
        end = window + -(-max(0, i - window) // stride) * stride
        start = max(0, min(end, N - 1) - window)
        read = torch.from_numpy(characters[start:i].astype(np.int64))[None]
        with torch.no_grad():
            log_p = model(read)[0, -1].log_softmax(-1)
        nats.append(-log_p[int(characters[i])].item())
    return np.array(nats)


@pytest.mark.parametrize(
    ("length", "window", "stride"),
    [(50, 20, 5), (50, 20, 7), (50, 20, 20), (41, 20, 20), (15, 20, 5), (21, 20, 5), (22, 20, 5), (2, 20, 5), (30, 1, 1)],
)  # fmt: skip
@pytest.mark.parametrize("batch_size", [1, 3])
def test_overlapping_windows_score_each_character_with_its_context(
    length, window, stride, batch_size
):
    """The reach of the model is longer than a window, so its start matters."""
    config = CharacterConfig(
        vocab_size=6, hidden_size=8, num_heads=2, ffn_size=8, causal_windows=[9, 9, 9], dilations=[1, 1, 2],
        dilated_heads=1, init_std=0.5,
    )  # fmt: skip
    model = CharacterModel(config).double().eval()
    characters = np.random.default_rng(length).integers(0, 6, length).astype(np.uint8)
    scores = score_characters(
        model, characters, window=window, stride=stride, batch_size=batch_size
    )
    np.testing.assert_allclose(scores, one_by_one(model, characters, window, stride), atol=1e-12)


@pytest.mark.parametrize("length", range(2, 40))
def test_every_character_but_the_first_is_scored_once(length):
    for window, stride in ((10, 3), (10, 10), (7, 1)):
        windows = list(overlapping_windows(length, window, stride))
        scored = [i for each in windows for i in range(each.first_scored, each.stop + 1)]
        assert scored == list(range(1, length))
        assert all(each.stop - each.start == min(window, length - 1) for each in windows)


def test_the_published_windows():
    """32,256 characters with a step of 512: every character has at least 31,744 before it."""
    windows = list(overlapping_windows(100_001, 32_256, 512))
    assert min(w.first_scored - w.start for w in windows[1:]) >= 31_744
    assert len(windows) == 1 + -(-(100_000 - 32_256) // 512)


def test_strides_that_do_not_fit():
    for stride in (0, 11):
        with pytest.raises(ValueError, match=f"a stride of {stride} for windows of 10"):
            next(overlapping_windows(100, 10, stride))
