"""Copies of a training text, next to a search by hand of all occurrences."""

import numpy as np
import pytest
import torch

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.copies import Copies
from dna_bigbird.models.read_text import COMPARED, NEAREST, REACH, CopiesConfig, ReadText, Strand

CLS, SEP, MASK = 2, 3, 4
ORDER = 3
ENCODER = EncoderConfig(vocab_size=16, hidden_size=8, num_heads=2)
CONFIG = CopiesConfig(orders=(ORDER,), chromosomes=("chr1",))


def random_text(lengths, seed=0, letters=4):
    """Return a text of documents one after another, and their ids on the forward strand."""
    rng = np.random.default_rng(seed)
    forward = [rng.integers(5, 5 + letters, n) for n in lengths]
    ends = np.cumsum(lengths)
    places = np.stack([np.zeros_like(ends), ends - lengths, ends], axis=1)
    reverse = [(9 + letters - ids)[::-1] for ids in forward]
    return ReadText(Strand.of(forward), Strand.of(reverse), places), forward


def row_of(ids, hidden):
    row = np.concatenate([[CLS], ids, [SEP]])
    row[hidden] = MASK
    return row


def copied_by_hand(row, at, strand, excluded, side):
    """Search for the context next to `at`, then further away, in all of the text; the last occurrence.

    Returns the source and the bounds of its document.
    """
    tokens = strand.tokens
    is_known = (row >= 5) & (row != MASK)
    for away in range(REACH + 1):
        t = at - side * away  # the token that the nearest whole context stands next to
        if not 0 <= t < len(row) or row[t] in (CLS, SEP):
            return None
        context = np.arange(t - ORDER, t) if side == 1 else np.arange(t + 1, t + 1 + ORDER)
        if context[0] < 0 or context[-1] >= len(row) or not is_known[context].all():
            continue
        wanted = row[context]
        found = [
            j
            for j in range(len(tokens) - ORDER + 1)
            if (tokens[j : j + ORDER] == wanted).all() and not excluded[j]
        ]
        if found:
            document = int((strand.starts <= found[-1]).sum()) - 1
            low, high = strand.starts[document : document + 2]
            source = (found[-1] + ORDER if side == 1 else found[-1] - 1) + side * away
            is_copied = low <= source < high and tokens[source] >= 5
            return (source, low, high) if is_copied else None
    return None


def features_by_hand(row, at, tokens, source, low, high):
    """Compare what is shown around a position with the text, token by token."""
    agreeing, compared, runs = {NEAREST: 0, COMPARED: 0}, {NEAREST: 0, COMPARED: 0}, []
    for side in (-1, 1):
        run, unbroken = 0, True
        for away in range(1, COMPARED + 1):
            mine, theirs = at + side * away, source + side * away
            if not 0 <= mine < len(row) or row[mine] in (CLS, SEP):
                break
            if not low <= theirs < high or row[mine] < 5:
                continue
            same = row[mine] == tokens[theirs]
            for most in (NEAREST, COMPARED):
                if away <= most:
                    agreeing[most] += same
                    compared[most] += 1
            unbroken &= bool(same)
            run += unbroken
        runs.append(run / COMPARED)
    shares = [agreeing[most] / max(compared[most], 1) for most in (NEAREST, COMPARED)]
    return [1, *runs, *shares]


@pytest.mark.parametrize("left_out", [None, 1])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_copies_are_those_of_a_search_by_hand(seed, left_out):
    text, documents = random_text([40, 60, 50], seed)
    rng = np.random.default_rng(seed)
    ids = np.concatenate([documents[1][5:35], rng.integers(5, 9, 6), documents[0][10:25]])
    hidden = np.sort(rng.choice(np.arange(1, 1 + len(ids)), 12, replace=False))
    row = row_of(ids, hidden)
    out = None if left_out is None else (np.arange(3) == left_out)[None]
    said, scores = text.copies(row, hidden, CONFIG, out, np.zeros(len(row), np.int64))
    for s, strand in enumerate(text.strands):
        excluded = np.zeros(len(strand.tokens), bool)
        if left_out is not None:
            excluded[strand.starts[left_out] : strand.starts[left_out + 1]] = True
        for k, side in enumerate((1, -1)):
            for p, at in enumerate(hidden):
                source = copied_by_hand(row, at, strand, excluded, side)
                here = 2 * s + k
                expected = -1 if source is None else strand.tokens[source[0]]
                assert said[p, here] == expected, (s, side, at)
                by_hand = [0] * 5
                if source is not None:
                    by_hand = features_by_hand(row, at, strand.tokens, *source)
                assert scores[p, here] == pytest.approx(by_hand)


def test_what_occurs_once_gets_no_help_from_itself():
    text, documents = random_text([300, 300], letters=12)
    config = CopiesConfig(orders=(6,), chromosomes=("chr1",))
    hidden = np.arange(20, 280, 9)
    row, rows = row_of(documents[0], hidden), np.zeros(302, np.int64)
    said, _ = text.copies(row, hidden, config)
    assert (said[:, 0] == documents[0][hidden - 1]).mean() > 0.9
    said, _ = text.copies(row, hidden, config, np.array([[True, False]]), rows)
    assert (said == -1).all(), "its six tokens are nowhere else"
    # The same in the middle of the other document: that one helps.
    documents[1][100:200] = documents[0][100:200]
    text = ReadText(Strand.of(documents), text.reverse, text.documents)
    said, _ = text.copies(row, hidden, config, np.array([[True, False]]), rows)
    inside = (hidden > 110) & (hidden < 190)
    assert (said[inside, 0] == documents[0][hidden[inside] - 1]).all()
    assert (said[hidden < 90, 0] == -1).all()


def test_the_rows_of_a_batch_do_not_meet():
    text, documents = random_text([80, 80], letters=8)
    rows = [row_of(ids[:60], np.array([5, 30, 50])) for ids in documents]
    batch = torch.tensor(np.stack(rows))
    copies = Copies(CONFIG, ENCODER, torch.Generator().manual_seed(0))
    copies.text = text
    logits = torch.randn(6, 16, generator=torch.Generator().manual_seed(1))
    positions = torch.tensor([5, 30, 50])
    out = torch.tensor([[True, False], [False, False]])
    with torch.no_grad():
        both = torch.cat([positions, positions + 62])
        together = copies(logits, batch, both, copies.copied(batch, both, out))
        alone = []
        for i in (0, 1):
            row = batch[i : i + 1]
            copied = copies.copied(row, positions, out[i : i + 1])
            alone.append(copies(logits[3 * i : 3 * i + 3], row, positions, copied))
    torch.testing.assert_close(together, torch.cat(alone), rtol=0, atol=1e-5)
    assert together.exp().sum(1) == pytest.approx(1, abs=1e-5)


def test_the_gate_weighs_the_network_and_the_copied_tokens():
    text, documents = random_text([80, 80], letters=8)
    row = row_of(documents[0][:60], np.array([30]))
    copies = Copies(CONFIG, ENCODER, torch.Generator().manual_seed(0))
    copies.text = text
    logits, at = torch.randn(1, 16), torch.tensor([30])
    ids = torch.tensor(row)[None]
    with torch.no_grad():
        copied = copies.copied(ids, at)
        gates = copies.gates(copies.evidence(logits, ids, at, copied))[0]
        p = copies(logits, ids, at, copied)[0].exp()
    said, _ = text.copies(row, np.array([30]), CONFIG)
    expected = gates[0] * logits[0].softmax(0)
    for gate, token in zip(gates[1:], said[0], strict=True):
        assert token >= 0 or gate == 0
        if token >= 0:
            expected[token] += gate
    assert p == pytest.approx(expected, abs=1e-6)
    assert gates.sum() == pytest.approx(1)


def test_inputs_are_vectors_of_the_copied_tokens_at_hidden_positions_alone():
    text, documents = random_text([80, 80], letters=8)
    config = CopiesConfig(orders=(ORDER,), hidden_size=0, input_size=6, chromosomes=("chr1",))
    copies = Copies(config, ENCODER, torch.Generator().manual_seed(0))
    copies.text = text
    rows = [row_of(ids[:60], np.array([30, 50])) for ids in documents]
    batch, at = torch.tensor(np.stack(rows)), torch.tensor([30, 40, 62 + 50])  # 40 is shown
    with torch.no_grad():
        copied = copies.copied(batch, at)
        added = copies.inputs(copied, batch, at).flatten(0, 1)
    table, layer, last = (copies.inputs.get_submodule(x) for x in ("of_token", "hidden", "weights"))
    for p, position in enumerate(at.tolist()):
        said, scores = text.copies(
            batch.flatten().numpy(), at.numpy(), config, None, np.arange(124) // 62
        )
        same = [(said[p] == token).mean() if token >= 0 else 0 for token in said[p]]
        read = torch.tensor(np.column_stack([scores[p], same]).ravel(), dtype=torch.float32)
        weights = last(layer(read).relu()).exp()
        there = [k for k, token in enumerate(said[p]) if token >= 0]
        total = weights[0] + sum(weights[1 + k] for k in there)
        expected = sum(weights[1 + k] / total * table.weight[said[p][k]] for k in there)
        assert len(there)
        if position == 40:
            expected = torch.zeros(8)
        torch.testing.assert_close(added[position], expected)
    others = np.setdiff1d(np.arange(124), at.numpy())
    assert not added[others].any()
