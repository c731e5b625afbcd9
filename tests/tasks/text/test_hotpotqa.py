"""HotpotQA from batch to submission."""

import dataclasses
import json
import math

import numpy as np
import pytest
import torch

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.text_config import FactsHead
from dna_bigbird.text.data.hotpotqa import HotpotQaExample, HotpotQaOptions, Paragraph
from dna_bigbird.text.tasks.hotpotqa import HotpotQaTask, word_numbers
from tests.text_overfit import overfit
from tests.text_vocabulary import tiny_text_tokenizer


def kind_of(**options):
    return HotpotQaTask(HotpotQaOptions(**options), FactsHead(dropout=0.0))


SPAN = HotpotQaExample(
    id="span",
    question="who founded the harbour",
    paragraphs=(
        Paragraph("red river", ("a king was born.", " it is old.")),
        Paragraph("north harbour", ("the water is good.", " new king founded it (1066).")),
    ),
    answer="new king",
    facts=(("north harbour", 1), ("red river", 0)),
)
YES = dataclasses.replace(SPAN, id="yes", answer="yes", facts=(("red river", 1),))


def perfect(row, *, big=9.0):
    """Logits that name exactly the row's targets."""
    kind, first, last = row.arrays["targets"]
    tokens = len(row.token_ids)
    output = {
        "facts": np.where(row.arrays["labels"] == 1, big, -big),
        "kind": np.full(3, -big),
        "start": np.zeros(tokens),
        "end": np.zeros(tokens),
    }
    output["kind"][kind] = big
    output["start"][first] = output["end"][last] = big
    return output


def test_decoding_perfect_logits_gives_gold():
    kind = kind_of()
    made = kind.rows([SPAN, YES], tiny_text_tokenizer(), training=False)
    # padding behind, as in a batch
    outputs = [
        {k: v if k == "kind" else np.append(v, [50.0] * 7) for k, v in perfect(row).items()}
        for row in made.rows
    ]
    found = kind.decode(made, outputs)
    assert [one.answer for one in found] == ["new king", "yes"]
    assert [set(one.facts) for one in found] == [set(SPAN.facts), set(YES.facts)]
    metrics = kind.summarise(kind.statistics(made.examples, found))
    assert set(metrics.values()) == {1.0}


def test_answers_stay_in_one_supporting_sentence_and_are_short():
    def answer(output, **options):
        kind = kind_of(**options)
        made = kind.rows([SPAN], tiny_text_tokenizer(), training=False)
        return kind.decode(made, [output])[0].answer

    kind = kind_of()
    (row,) = kind.rows([SPAN], tiny_text_tokenizer(), training=False).rows
    of_token, facts = row.arrays["unit_of_token"], row.arrays["units"]
    first = {tuple(u[:2]): int(np.flatnonzero(of_token == i)[0]) for i, u in enumerate(facts)}
    last = {tuple(u[:2]): int(np.flatnonzero(of_token == i)[-1]) for i, u in enumerate(facts)}
    output = perfect(row)
    # a sentence that supports nothing has the highest scores
    output["start"][first[1, 0]] = output["end"][last[1, 0]] = 20.0
    assert answer(output) == "new king"
    # from one sentence into another
    output = perfect(row)
    output["start"][first[0, 0]] = output["end"][last[1, 1]] = 20.0
    assert answer(output) in ("a king was born.", "new king founded it (1066).")
    # words count between spaces, pieces as the vocabulary cuts them
    output = perfect(row)
    output["start"][first[1, 1]] = output["end"][last[1, 1]] = 20.0
    assert answer(output) == "new king founded it (1066)."
    assert answer(output, max_answer_length=5) == "new king founded it (1066)."
    shorter = answer(output, max_answer_length=4)
    assert shorter != "new king founded it (1066)."
    assert len(shorter.split()) <= 4
    assert len(answer(output, max_answer_length=5, answer_unit="pieces").split()) < 5
    # titles of supporting paragraphs count as well
    output = perfect(row)
    output["start"][first[1, -1]] = output["end"][last[1, -1]] = 20.0
    assert answer(output) == "north harbour"


def test_word_numbers():
    texts = ["  two words", "", "one"]
    units, starts = np.array([-1, 0, 0, 0, 2]), np.array([0, 2, 4, 6, 0])
    assert word_numbers(texts, units, starts).tolist() == [0, 1, 1, 2, 3]


def test_the_threshold_with_the_best_joint_f1_is_found():
    kind = kind_of(search_threshold=True)
    made = kind.rows([SPAN, YES], tiny_text_tokenizer(), training=False)
    outputs = [perfect(row) for row in made.rows]
    for output in outputs:  # all too sure of themselves by the same amount: 0.8 and 0.6
        output["facts"] = np.where(output["facts"] > 0, math.log(4), math.log(1.5))
    metrics = kind.summarise(kind.statistics(made.examples, kind.decode(made, outputs)))
    assert metrics["joint_f1"] == 1
    assert metrics["fact_threshold"] in (0.7, 0.8)
    at_half = kind_of()
    metrics = at_half.summarise(at_half.statistics(made.examples, at_half.decode(made, outputs)))
    assert metrics["sp_recall"] == 1 > metrics["sp_f1"]
    bare = dataclasses.replace(SPAN, answer=None, facts=None)
    made = kind.rows([bare], tiny_text_tokenizer(), training=False)
    with pytest.raises(InputError, match="search_threshold needs the gold answers"):
        kind.decode(made, outputs[:1])


def test_the_loss_is_the_mean_of_four_terms():
    """Against sums over single logits."""
    kind = kind_of()
    tokenizer = tiny_text_tokenizer()
    made = kind.rows([SPAN, YES], tokenizer, training=True)
    batch = kind.collate(list(enumerate(made.rows)))
    config = EncoderConfig(
        vocab_size=tokenizer.size_with_markers, hidden_size=16, num_layers=1, num_heads=2,
        ffn_size=16, block_size=16, max_tokens=256, dropout=0.0,
    )  # fmt: skip
    model = kind.description.build_model(config, kind.head).double().eval()
    loss = kind.loss(kind.outputs(model, batch), batch).item()
    terms = []
    for row in made.rows:
        ids = torch.from_numpy(row.token_ids).long()[None]
        states = model.encoder(ids, torch.zeros_like(ids, dtype=torch.bool))[0]
        names = ("sentence", "title", "start", "end")
        of_tokens = model.tokens(states).T.detach().numpy()
        one = dict(zip(names, of_tokens, strict=True))
        one["type"] = model.kind(states[0]).detach().numpy()
        kind_, first, last = row.arrays["targets"]
        facts = 0.0
        for (_, sentence, place), label in zip(
            row.arrays["units"], row.arrays["labels"], strict=True
        ):
            logit = one["title" if sentence < 0 else "sentence"][place]
            share = 1 / (1 + math.exp(-logit))
            facts -= math.log(share if label else 1 - share)
        total = facts
        for logits, target in (
            (one["type"], kind_),
            (one["start"], first),
            (one["end"], last),
        ):
            total -= logits[target] - math.log(np.exp(logits.astype(float)).sum())
        terms.append(total / 4)
    assert loss == pytest.approx(np.mean(terms), rel=1e-5)


def test_no_gold_no_loss():
    kind = kind_of()
    bare = dataclasses.replace(SPAN, answer=None, facts=None)
    tokenizer = tiny_text_tokenizer()
    made = kind.rows([SPAN, bare], tokenizer, training=False)
    batch = kind.collate(list(enumerate(made.rows)))
    outputs = {
        "facts": torch.zeros(batch.places_BU.shape),
        "kind": torch.zeros(2, 3),
        "start": torch.zeros(batch.token_ids_BT.shape),
        "end": torch.zeros(batch.token_ids_BT.shape),
    }
    tokens, units = batch.token_ids_BT.shape[1], len(made.rows[0].arrays["units"])
    # facts are averaged over both rows, the rest over the one that has targets
    expected = (units * math.log(2) / 2 + math.log(3) + 2 * math.log(tokens)) / 4
    assert kind.loss(outputs, batch).item() == pytest.approx(expected)


def test_a_row_in_which_nothing_fits():
    kind = kind_of(max_tokens=6, max_question_tokens=2)
    made = kind.rows([SPAN], tiny_text_tokenizer(), training=False)
    batch = kind.collate(list(enumerate(made.rows)))
    assert batch.places_BU.shape == (1, 0)
    output = {name: np.zeros(5) for name in ("start", "end")}
    output |= {"facts": np.zeros(0), "kind": np.array([1.0, 0, 0])}
    (found,) = kind.decode(made, [output])
    assert (found.answer, found.facts) == ("", ())
    assert kind.summarise(kind.statistics([SPAN], [found]))["joint_f1"] == 0


def test_submission_and_baselines():
    kind = kind_of()
    found = kind.baselines(None, [SPAN, YES])
    assert set(found) == {"shared_words_title", "shared_words_yes"}
    assert found["shared_words_title"][0].answer == "north harbour"
    assert found["shared_words_title"][0].facts == (("north harbour", 0), ("red river", 0))
    assert found["shared_words_yes"][1].answer == "yes"
    files = kind.submission([SPAN, YES], found["shared_words_yes"])
    assert json.loads(files["predictions.json"]) == {
        "answer": {"span": "yes", "yes": "yes"},
        "sp": {name: [["north harbour", 0], ["red river", 0]] for name in ("span", "yes")},
    }


def test_real_questions_can_be_learnt_by_heart(real_data):
    vocabulary = real_data / "vocab" / "bigbird_gpt2_sentencepiece.model"
    tokenizer = TextTokenizer(vocabulary.read_bytes(), "spiece.model")
    kind = kind_of()
    examples, _ = kind.read(
        real_data / "nlp" / "hotpotqa" / "hotpot_distractor_60.json.gz", "train"
    )
    closed = [one for one in examples if one.answer in ("yes", "no")]
    chosen = [*examples[:2], closed[0], next(x for x in closed if x.answer != closed[0].answer)]
    metrics, predictions = overfit(kind, chosen, tokenizer, steps=45)
    assert metrics["joint_f1"] > 0.97, metrics
    assert metrics["em"] == 1
    assert [one.answer for one in predictions][2:] == [one.answer for one in chosen][2:]
    baselines = kind.baselines(None, chosen)
    best = max(
        kind.summarise(kind.statistics(chosen, one))["joint_f1"] for one in baselines.values()
    )
    assert best < 0.5
