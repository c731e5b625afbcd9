"""The paper's beam search against trying everything, and against plain loops."""

import itertools
import math

import pytest
import torch

from dna_bigbird.models.beam_search import Hypotheses, LengthRule, beam_search, without_repeats
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.summarizer import Summarizer
from dna_bigbird.models.text_config import SummaryHead

V, END = 5, 1


def test_a_token_that_would_repeat_a_pair_is_left_out():
    log_p_NV = without_repeats(torch.zeros(1, 4), torch.tensor([[2, 3, 1, 2]]), 2)
    assert log_p_NV.tolist() == [[0, 0, 0, -math.inf]]


def model_of(seed, vocab_size=V, std=0.5, coupled=True):
    config = EncoderConfig(
        vocab_size=vocab_size, hidden_size=16, num_layers=1, num_heads=2, ffn_size=24,
        max_tokens=32, block_size=8, num_random=1, dropout=0.0, init_std=std,
    )  # fmt: skip
    return Summarizer(config, SummaryHead(coupled=coupled), seed=seed).eval()


def sources(lengths=(20, 9), vocab_size=V):
    ids_BT = torch.randint(0, vocab_size, (len(lengths), max(lengths)), generator=seeded(1))
    return ids_BT, torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def divided(log_p, length, penalty):
    return log_p / ((5 + length) / 6) ** penalty


def log_probability(model, ids_1T, target):
    """Of a whole target given its source, from one pass without a cache."""
    with torch.no_grad():
        logits = model(ids_1T, torch.zeros_like(ids_1T, dtype=torch.bool), torch.tensor([target]))
    return logits[0].log_softmax(-1).gather(-1, torch.tensor(target)[:, None]).sum().item()


def all_targets(max_length, min_length=0):
    """Every target that ends within the length, its end included."""
    words = [token for token in range(V) if token != END]
    for length in range(min_length, max_length):
        for target in itertools.product(words, repeat=length):
            yield [*target, END]


@pytest.mark.parametrize("penalty", [0.0, 0.8, 2.0])
@pytest.mark.parametrize("min_length", [0, 2])
def test_a_wide_beam_finds_the_best_of_all_targets(penalty, min_length):
    """The optimum, by trying all 85: of the 64 prefixes of three words the search keeps all 320 next
    words (it keeps two per beam), so that nothing is cut off."""
    model = model_of(seed=3)
    ids_BT, is_padding_BT = sources()
    found = beam_search(
        model, ids_BT, is_padding_BT, beam_size=160, max_length=4, min_length=min_length,
        length_penalty=penalty,
    )  # fmt: skip
    for ids_T, is_padding_T, best in zip(ids_BT, is_padding_BT, found.tolist(), strict=True):
        ids_1T = ids_T[~is_padding_T][None]
        scores = {
            tuple(target): divided(log_probability(model, ids_1T, target), len(target), penalty)
            for target in all_targets(4, min_length)
        }
        assert tuple(best[: best.index(END) + 1]) == max(scores, key=scores.get)
        assert not any(best[best.index(END) + 1 :])


def plain_search(model, ids_1T, beam, max_length, penalty):
    """The definition in loops over lists, to the full length, without a cache."""
    alive, finished = [(0.0, [])], []
    vocabulary = range(model.encoder.config.vocab_size)
    for length in range(1, max_length + 1):
        made = []
        for _, prefix in alive:
            made += [
                (log_probability(model, ids_1T, [*prefix, token]), [*prefix, token])
                for token in vocabulary
            ]
        made = sorted(made, reverse=True)[: 2 * beam]
        finished += [(divided(s, length, penalty), t) for s, t in made if t[-1] == END]
        finished = sorted(finished, reverse=True)[:beam]
        alive = [one for one in made if one[1][-1] != END][:beam]
    return (finished or alive)[0][1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("penalty", [0.0, 1.5])
def test_equals_plain_loops_to_the_full_length(seed, penalty):
    """Stopping early, caches, batches and padding change nothing."""
    model = model_of(seed, vocab_size=9, std=0.3, coupled=False)
    with (
        torch.no_grad()
    ):  # else the last token says more than those before, and a wrong cache hides
        model.decoder.layers[0].attention.output.weight.mul_(20)
    ids_BT, is_padding_BT = sources((17, 30, 5), vocab_size=9)
    found = beam_search(
        model, ids_BT, is_padding_BT, beam_size=3, max_length=6, length_penalty=penalty
    )
    for ids_T, is_padding_T, row in zip(ids_BT, is_padding_BT, found.tolist(), strict=True):
        row = row[: row.index(END) + 1] if END in row else row
        assert row == plain_search(model, ids_T[~is_padding_T][None], 3, 6, penalty)


@pytest.mark.parametrize("penalty", [0.0, 0.8, 2.0])
def test_the_search_goes_on_while_some_length_could_still_win(penalty):
    """Held against all lengths that are left; a log-probability cannot rise."""
    rule = LengthRule("paper", penalty, max_length=12, early_stopping=False)
    rows = Hypotheses(200, 3, 12, torch.device("cpu"))
    rows.scores = -torch.rand(200, 3, generator=seeded(1)).sort(descending=True).values * 5
    alive = -torch.rand(200, generator=seeded(2)) * 9
    found = rule.can_improve(alive, 4, rows).tolist()
    assert found == [
        any(divided(log_p, length, penalty) >= best for length in range(5, 13))
        for log_p, best in zip(alive.tolist(), rows.scores[:, 0].tolist(), strict=True)
    ]
    assert penalty > 1 or set(found) == {False, True}


def test_without_any_end_the_best_alive_one_is_written():
    model = model_of(seed=0, vocab_size=9)
    model.register_buffer("logits_bias", torch.zeros(9))
    model.logits_bias[END] = -100.0
    found = beam_search(model, *sources(vocab_size=9), beam_size=3, max_length=7)
    assert found.shape == (2, 7)
    assert not (found == END).any()


def test_the_search_ends_when_nothing_can_become_better():
    """A model that ends at once is asked once or twice, not 200 times."""
    model = model_of(seed=0, vocab_size=9)
    model.register_buffer("logits_bias", torch.zeros(9))
    model.logits_bias[END] = 100.0
    calls = []
    step = model.step
    model.step = lambda *given: calls.append(1) or step(*given)
    config = {"beam_size": 3, "max_length": 30, "length_penalty": 0.8}
    assert beam_search(model, *sources(vocab_size=9), **config).tolist() == [[END], [END]]
    assert len(calls) <= 2


def test_a_minimum_length_holds_an_end_back():
    model = model_of(seed=0, vocab_size=9)
    model.register_buffer("logits_bias", torch.zeros(9))
    model.logits_bias[END] = 20.0
    found = beam_search(model, *sources(vocab_size=9), beam_size=2, max_length=9, min_length=4)
    assert [row.index(END) for row in found.tolist()] == [4, 4]


def test_greedy_search_is_argmax():
    model = model_of(seed=2, vocab_size=9)
    ids_BT, is_padding_BT = sources(vocab_size=9)
    found = beam_search(
        model, ids_BT, is_padding_BT, beam_size=1, max_length=8, length_formula="library"
    )
    for row, ids_T, is_padding_T in zip(found.tolist(), ids_BT, is_padding_BT, strict=True):
        target = []
        while END not in target and len(target) < 8:
            with torch.no_grad():
                logits = model(ids_T[None], is_padding_T[None], torch.tensor([[*target, 0]]))
            target.append(logits[0, -1].argmax().item())
        assert row[: len(target)] == target


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam_size": 0}, "beam_size 0, min_length 0, max_length 256"),
        ({"min_length": 8, "max_length": 8}, "min_length 8, max_length 8"),
        ({"length_formula": "hf"}, "length_formula must be paper or library, got 'hf'"),
        ({"max_length": 33}, "model writes at most 32"),
    ],
)
def test_wrong_settings(settings, message):
    model = model_of(0)
    model.register_buffer("logits_bias", torch.tensor([0.0, -math.inf, 0.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match=message):
        beam_search(model, *sources(), **settings)
