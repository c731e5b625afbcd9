"""WikiHop from batch to submission."""

import json

import numpy as np
import pytest
import torch

from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.text_config import CandidateHead
from dna_bigbird.text.data.wikihop import WikiHopExample, WikiHopOptions
from dna_bigbird.text.tasks.wikihop import WikiHopTask
from tests.text_overfit import overfit
from tests.text_vocabulary import tiny_text_tokenizer


def question(name, query, candidates, documents, answer):
    written = tuple(one.title() for one in candidates)
    return WikiHopExample(name, query, candidates, documents, answer, written)


ONE = question(
    "one",
    "river of town",
    ("red river", "lake", "river"),
    ("The River, a red river. Lake",),
    "lake",
)
TWO = question("two", "king of town", ("old king", "queen"), ("Queen and queen.",), "old king")
ODD = question("odd", "king of town", ("old king", "queen"), ("None of them.",), "mountain")


def kind_of(head=None, **options):
    return WikiHopTask(WikiHopOptions(**options), head or CandidateHead(dropout=0.0))


@pytest.mark.parametrize("ffn_block", [False, True])
def test_scores_are_read_at_the_candidates_marks(ffn_block):
    """Against the encoder's states, one row at a time."""
    tokenizer = tiny_text_tokenizer()
    kind = kind_of(CandidateHead(ffn_block=ffn_block, dropout=0.0))
    made = kind.rows([ONE, TWO], tokenizer, training=True)
    config = EncoderConfig(
        vocab_size=tokenizer.size_with_markers, hidden_size=16, num_layers=1, num_heads=2,
        ffn_size=16, block_size=16, max_tokens=256, dropout=0.0,
    )  # fmt: skip
    model = kind.description.build_model(config, kind.head).eval()
    batch = kind.collate(list(enumerate(made.rows)))
    scores = kind.outputs(model, batch)["scores"]
    assert scores.shape == (2, 3)
    mark = tokenizer.marker_id("[ans]")
    for number, row in enumerate(made.rows):
        ids = torch.from_numpy(row.token_ids).long()[None]
        states = model.encoder(ids, torch.zeros_like(ids, dtype=torch.bool))[0][ids[0] == mark]
        if ffn_block:
            block = model.block
            inner = torch.nn.functional.gelu(block.ffn_in(states), approximate="tanh")
            summed = states + block.ffn_out(inner)
            centred = summed - summed.mean(dim=-1, keepdim=True)
            states = centred / (centred.pow(2).mean(dim=-1, keepdim=True) + 1e-12).sqrt()
        expected = states @ model.dense.weight[0] + model.dense.bias
        torch.testing.assert_close(scores[number, : len(expected)], expected)
    assert scores[1, 2] == -torch.inf


def test_the_loss_is_over_the_rows_own_candidates():
    kind, smooth = kind_of(), kind_of(label_smoothing=0.2)
    made = kind.rows([ONE, TWO, ODD], tiny_text_tokenizer(), training=False)
    batch = kind.collate(list(enumerate(made.rows)))
    scores = torch.tensor([[0.0, 1, 2], [3, 1, -torch.inf], [5, 5, -torch.inf]], requires_grad=True)
    plain = [np.log(np.exp([0, 1, 2]).sum()) - 1, np.log(np.exp([3, 1]).sum()) - 3]
    loss = kind.loss({"scores": scores}, batch)
    assert loss.item() == pytest.approx(np.mean(plain))  # ODD has no target
    loss.backward()
    assert scores.grad.isfinite().all()
    assert (scores.grad[2] == 0).all()
    spread = [np.log(np.exp([0, 1, 2]).sum()) - 1, np.log(np.exp([3, 1]).sum()) - 2]
    expected = np.mean([0.8 * p + 0.2 * s for p, s in zip(plain, spread, strict=True)])
    assert smooth.loss({"scores": scores}, batch).item() == pytest.approx(expected)
    with torch.no_grad():  # validation
        assert smooth.loss({"scores": scores}, batch).item() == pytest.approx(np.mean(plain))


def test_decoding_scoring_submission():
    kind = kind_of(max_tokens=60)
    long = question("long", "q", tuple(f"mountain {i}" for i in range(40)), ("x",), "mountain 3")
    made = kind.rows([ONE, long, TWO], tiny_text_tokenizer(), training=False)
    assert [row.example for row in made.rows] == [0, 2]
    outputs = [{"scores": np.array([0, 2, 1.0])}, {"scores": np.array([1, 2, 9.0])}]
    found = kind.decode(made, outputs)
    assert found == ["lake", "mountain 0", "queen"]
    assert kind.statistics(made.examples, found).tolist() == [[1], [0], [0]]
    assert kind.summarise(kind.statistics(made.examples, found)) == {
        "accuracy": pytest.approx(1 / 3)
    }
    (content,) = kind.submission(made.examples, found).values()
    assert json.loads(content) == {"one": "Lake", "long": "Mountain 0", "two": "Queen"}


def test_baselines():
    kind = kind_of()
    found = kind.baselines(None, [ONE, TWO, ODD])
    # "river" stands twice, "red river" and "lake" once: the longer name does not win
    assert found["most_mentioned"] == ["river", "queen", "old king"]
    assert found["first_candidate"] == ["red river", "old king", "old king"]
    chances = kind.statistics([ONE, TWO, ODD], found["random"])
    assert chances[:, 0].tolist() == [1 / 3, 1 / 2, 0]


def test_real_questions_can_be_learnt_by_heart(real_data):
    vocabulary = real_data / "vocab" / "bigbird_gpt2_sentencepiece.model"
    tokenizer = TextTokenizer(vocabulary.read_bytes(), "spiece.model")
    archive = real_data / "nlp" / "wikihop" / "wikihop_sample.tar.gz"
    kind = kind_of()
    examples = [one for split in ("train", "validation") for one in kind.read(archive, split)[0]]
    metrics, predictions = overfit(kind, examples, tokenizer, steps=20)
    assert metrics == {"accuracy": 1.0}
    assert predictions == [one.answer for one in examples]
