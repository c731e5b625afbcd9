"""SQuAD from questions to the official metric and the submission."""

import json
import math

import numpy as np
import pytest
import torch

from dna_bigbird.models.text_config import SpanHead
from dna_bigbird.text.data.rows import TextFeatures, TextSet
from dna_bigbird.text.data.squad import UNKNOWN, SquadExample, SquadOptions, read_squad
from dna_bigbird.text.made.pages import squad
from dna_bigbird.text.tasks.squad import SquadTask
from tests.text_overfit import overfit
from tests.text_vocabulary import tiny_text_tokenizer

VERSIONS = {"squad": "1.1", "squad2": "2.0"}


def kind(**options):
    return SquadTask(SquadOptions(**options), SpanHead(dropout=0.0))


@pytest.mark.parametrize("name", VERSIONS)
def test_a_tiny_model_memorises_questions_in_windows(name, tmp_path):
    path = tmp_path / "train.json"
    path.write_bytes(squad(0, 24)[f"squad/train-v{VERSIONS[name]}.json"])
    examples = read_squad(path, "train", version=VERSIONS[name])[:8]
    task = kind(set=name, max_tokens=96, max_question_tokens=30, stride=30)
    tokenizer = tiny_text_tokenizer()
    rows = task.rows(examples, tokenizer, training=True).rows
    assert len(rows) > len(examples), "some paragraphs have several windows"
    scores, found = overfit(task, examples, tokenizer, steps=80)
    assert (scores["em"], scores["f1"]) == (1, 1)
    said = json.loads(task.submission(examples, found)["predictions.json"])
    expected = {x.id: x.answers[0].text if x.answers else "" for x in examples}
    assert said == expected
    assert ("" in said.values()) == (name == "squad2")


def test_the_loss_is_the_cross_entropy_of_both_ends_and_skips_rows_without_gold():
    start_BT, end_BT = torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(0))
    targets_B2 = torch.tensor([[2, 4], [UNKNOWN, UNKNOWN], [0, 0]])
    batch = type("Batch", (), {"targets_B2": targets_B2})
    loss = kind().loss({"start": start_BT, "end": end_BT}, batch)
    expected = 0.0
    for row in (0, 2):
        for logits_BT, place in ((start_BT, targets_B2[row, 0]), (end_BT, targets_B2[row, 1])):
            odds = logits_BT[row].double().exp()
            expected -= math.log(odds[place] / odds.sum()) / 4
    assert loss.item() == pytest.approx(expected, abs=1e-6)
    batch.targets_B2 = torch.full((3, 2), UNKNOWN)
    assert kind().loss({"start": start_BT, "end": end_BT}, batch).item() == 0


def plain_answer(rows, outputs, text, longest):
    """Every start with every end of every window."""
    best, null = (-math.inf, ""), math.inf
    for row, output in zip(rows, outputs, strict=True):
        offsets = row.arrays["offsets"]
        null = min(null, output["start"][0] + output["end"][0])
        for i in range(len(offsets)):
            for j in range(i, min(i + longest, len(offsets))):
                is_text = offsets[i, 0] < offsets[i, 1] and offsets[j, 0] < offsets[j, 1]
                score = output["start"][i] + output["end"][j]
                if is_text and row.arrays["is_best_context"][i] and score > best[0]:
                    best = (score, text[offsets[i, 0] : offsets[j, 1]])
    return best[1], 1 / (1 + math.exp(best[0] - null))


@pytest.mark.parametrize("seed", range(10))
def test_decoding_is_a_plain_search_over_all_windows(seed):
    rng = np.random.default_rng(seed)
    text = "".join(rng.choice(list("abcdefgh"), 40))
    rows, outputs = [], []
    for first in (0, 12, 24):
        offsets = np.zeros((20, 2), np.int32)
        offsets[3:19, 0] = np.arange(first, first + 16)
        offsets[3:19, 1] = offsets[3:19, 0] + (rng.random(16) < 0.9)
        best = (rng.random(20) < 0.5) & (np.arange(20) >= 3) & (np.arange(20) < 19)
        rows.append(
            TextFeatures(
                np.zeros(20, np.int32), 0, None, {"offsets": offsets, "is_best_context": best}
            )
        )
        outputs.append({name: rng.normal(size=24) * 2 for name in ("start", "end")})  # padded
    text_set = TextSet([SquadExample("q", "?", text, None)], rows, {})
    task = kind(set="squad2", max_answer_tokens=4, top_spans=20)
    (found,) = task.decode(text_set, outputs)
    assert tuple(found) == pytest.approx(plain_answer(rows, outputs, text, 4))
    (one,) = kind(max_answer_tokens=4).decode(text_set, outputs)
    assert tuple(one) == (found.text, 0.0)


def test_without_a_place_for_an_answer_there_is_none():
    arrays = {"offsets": np.zeros((5, 2), np.int32), "is_best_context": np.zeros(5, bool)}
    text_set = TextSet(
        [SquadExample("q", "?", "x", None)], [TextFeatures(np.zeros(5), 0, None, arrays)], {}
    )
    outputs = [{"start": np.zeros(5), "end": np.zeros(5)}]
    (found,) = kind(set="squad2").decode(text_set, outputs)
    assert tuple(found) == ("", 1.0)


def test_baselines_need_no_model():
    example = SquadExample(
        "q", "Where is the old bridge?", "Paris is big. The old bridge is in Rome. In Rome.", ()
    )
    found = kind(set="squad2").baselines(None, [example])
    assert {name: tuple(said[0]) for name, said in found.items()} == {
        "shared_words": ("The old bridge is in Rome.", 0.0),
        "most_named": ("Rome", 0.0),
        "no_answer": ("", 1.0),
    }
    assert "no_answer" not in kind().baselines(None, [example])
