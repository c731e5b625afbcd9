"""HotpotQA's official metric: cases worked by hand, and its definition once more in plain loops."""

import gzip
import json
import re
import string

import numpy as np
import pytest

from dna_bigbird.text.tasks.hotpotqa import (
    METRICS,
    HotpotQaPrediction,
    answer_span,
    fact_scores,
    question_scores,
)


def scores(predicted, found, answer, facts):
    return dict(zip(METRICS, question_scores(predicted, found, answer, facts), strict=True))


A, B, C = ("A", 0), ("A", 1), ("B", 0)


def test_joint_scores_by_hand():
    # answer: 2 of 3 words right, 2 of 2 found; facts: 1 of 2 right, 1 of 2 found
    got = scores("the old Tower Bridge", [A, C], "Tower Bridge", [A, B])
    assert got == {
        "em": 0, "f1": pytest.approx(0.8), "prec": pytest.approx(2 / 3), "recall": 1,
        "sp_em": 0, "sp_f1": 0.5, "sp_prec": 0.5, "sp_recall": 0.5,
        "joint_em": 0, "joint_prec": pytest.approx(1 / 3), "joint_recall": 0.5,
        "joint_f1": pytest.approx(2 * (1 / 3) * 0.5 / (1 / 3 + 0.5)),
    }  # fmt: skip


def test_joint_exact_match_needs_both():
    assert scores("paris", [A], "Paris!", [A])["joint_em"] == 1
    assert scores("paris", [A, B], "Paris!", [A])["joint_em"] == 0
    assert scores("rome", [A], "Paris!", [A])["joint_em"] == 0


@pytest.mark.parametrize(
    ("predicted", "answer", "f1"),
    [
        ("yes", "yes", 1),
        ("yes", "no", 0),
        ("yes it is", "yes", 0),  # shares a word, but gold is closed
        ("no", "no smoking", 0),  # the prediction is closed
        ("noanswer", "noanswer here", 0),
        ("The no!", "no", 1),  # equal after normalisation
    ],
)
def test_closed_answers_share_nothing_with_others(predicted, answer, f1):
    got = scores(predicted, [A], answer, [A])
    assert (got["f1"], got["joint_f1"]) == (f1, f1)


def test_supporting_facts_are_sets():
    assert fact_scores([A, A, B], [B, A]) == [1, 1, 1, 1]
    assert fact_scores([], [A]) == [0, 0, 0, 0]
    assert fact_scores([], []) == [1, 0, 0, 0]


def test_the_answer_comes_from_a_supporting_sentence():
    start, end = np.array([9, 5, 0, 4.0]), np.array([0, 5, 0, 4.0])
    unit, places = np.array([0, 0, 1, 1]), np.arange(4)

    def found(supporting, max_length=9):
        supporting = np.array(supporting)
        return answer_span(start, end, unit, supporting, places, max_length=max_length)

    assert found([True, True])[:2] == (0, 1)
    assert found([False, True])[:2] == (3, 3)
    assert found([True, True], max_length=1)[:2] == (1, 1)
    assert found([False, False])[:2] == (0, 1)  # rather than none


def official(gold, predicted):
    """The published definition, item by item; no part of the package."""

    def normal(text):
        text = "".join(one for one in text.lower() if one not in string.punctuation)
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())

    total = dict.fromkeys(METRICS, 0.0)
    for item in gold:
        if item["_id"] not in predicted["answer"] or item["_id"] not in predicted["sp"]:
            continue
        said, right = normal(predicted["answer"][item["_id"]]), normal(item["answer"])
        precision = recall = f1 = 0.0
        closed = {"yes", "no", "noanswer"}
        if said == right or not closed & {said, right}:
            left, shared = right.split(), 0
            for word in said.split():
                if word in left:
                    left.remove(word)
                    shared += 1
            if shared:
                precision, recall = shared / len(said.split()), shared / len(right.split())
                f1 = 2 * precision * recall / (precision + recall)
        true = false = missed = 0
        facts = [tuple(one) for one in item["supporting_facts"]]
        found = {tuple(one) for one in predicted["sp"][item["_id"]]}
        for one in found:
            true, false = true + (one in facts), false + (one not in facts)
        missed = sum(one not in found for one in set(facts))
        sp_precision = true / (true + false) if true + false else 0.0
        sp_recall = true / (true + missed) if true + missed else 0.0
        em, sp_em = float(said == right), float(false + missed == 0)

        def f(p, r):
            return 2 * p * r / (p + r) if p + r > 0 else 0.0

        joint = precision * sp_precision, recall * sp_recall
        row = [em, f1, precision, recall, sp_em, f(sp_precision, sp_recall), sp_precision]
        row += [sp_recall, em * sp_em, f(*joint), *joint]
        for name, value in zip(METRICS, row, strict=True):
            total[name] += value
    return {name: value / len(gold) for name, value in total.items()}


def test_equals_the_definition_on_real_questions_with_noise(real_data):
    from dna_bigbird.text.tasks.task import task_class

    path = real_data / "nlp" / "hotpotqa" / "hotpot_distractor_60.json.gz"
    with gzip.open(path, "rt") as stream:
        gold = json.load(stream)
    rng = np.random.default_rng(0)
    answers, facts = {}, {}
    for item in gold:
        words = item["answer"].split()
        noised = [w for w in words if rng.random() < 0.7] + ["The", "end."] * int(
            rng.random() < 0.3
        )
        answers[item["_id"]] = str(rng.choice([" ".join(noised), item["answer"].upper(), "no"]))
        known = [[t, i] for t, sentences in item["context"] for i in range(len(sentences))]
        kept = [one for one in item["supporting_facts"] if rng.random() < 0.8]
        facts[item["_id"]] = kept + [known[i] for i in rng.integers(0, len(known), 2)]
    missing = [item["_id"] for item in gold[::7]]
    for name in missing:
        del answers[name]
    kind = task_class("hotpotqa")
    kind = kind(kind.description.options(), kind.description.head_type()())
    examples, _ = kind.read(path, "validation")
    predictions = [
        None
        if one.id in missing
        else HotpotQaPrediction(answers[one.id], tuple(map(tuple, facts[one.id])))
        for one in examples
    ]
    got = kind.summarise(kind.statistics(examples, predictions))
    expected = official(gold, {"answer": answers, "sp": facts})
    assert got == pytest.approx(expected, abs=1e-12)
    assert 0.1 < got["joint_f1"] < got["f1"] < 0.9
    gold_too = [HotpotQaPrediction(one.answer, one.facts) for one in examples]
    assert set(kind.summarise(kind.statistics(examples, gold_too)).values()) == {1.0}
