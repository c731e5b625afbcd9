"""SQuAD's metrics against the definitions of the official scripts, written again in plain loops."""

import json
import random
import string

import numpy as np
import pytest

from dna_bigbird.models.text_config import SpanHead
from dna_bigbird.text.data.squad import SquadAnswer, SquadExample, SquadOptions
from dna_bigbird.text.tasks.squad import SquadPrediction, SquadTask

WORDS = [
    "the",
    "a",
    "An",
    "of",
    "York",
    "york,",
    "New",
    "U.S.",
    "1,066",
    "é",
    "“x”",
    "The-",
    "..",
    "",
]


def words_of(text):
    """The words that count: letter by letter, then word by word."""
    kept = ""
    for letter in text.lower():
        if letter not in string.punctuation:
            kept += letter
    # A word also ends between a letter and a sign such as “.
    spaced = ""
    for i, letter in enumerate(kept):
        spaced += letter
        edge = i + 1 < len(kept) and letter.isalnum() != kept[i + 1].isalnum()
        spaced += "\0" if edge else ""
    parts = [" " if part in ("a", "an", "the") else part for part in spaced.split("\0")]
    return "".join(parts).split()


def plain_f1(predicted, gold):
    left, right = words_of(predicted), words_of(gold)
    shared, rest = 0, list(right)
    for word in left:
        if word in rest:
            rest.remove(word)
            shared += 1
    return 2 * shared / (len(left) + len(right)) if shared else 0.0


def plain_exact(predicted, gold):
    return float(words_of(predicted) == words_of(gold))


def plain_version_1(questions, predictions):
    exact = f1 = 0.0
    for name, golds in questions.items():
        exact += max(plain_exact(predictions[name], gold) for gold in golds)
        f1 += max(plain_f1(predictions[name], gold) for gold in golds)
    return {"em": exact / len(questions), "f1": f1 / len(questions)}


def plain_raw(questions, predictions):
    """Exact match and F1 of every question of version 2.0."""
    exact, f1 = {}, {}
    for name, golds in questions.items():
        golds = [gold for gold in golds if words_of(gold)] or [""]
        said = predictions[name]
        exact[name] = max(plain_exact(said, gold) for gold in golds)
        f1[name] = max(
            plain_f1(said, gold) if words_of(said) and words_of(gold) else plain_exact(said, gold)
            for gold in golds
        )
    return {"em": exact, "f1": f1}


def plain_version_2(questions, predictions, probabilities, threshold):
    metrics = {}
    raw = plain_raw(questions, predictions)
    with_answer = [name for name in questions if questions[name]]
    without = [name for name in questions if not questions[name]]
    for key, scores in raw.items():
        final = {}
        for name in questions:
            final[name] = scores[name]
            if probabilities[name] > threshold:
                final[name] = 0.0 if questions[name] else 1.0
        for prefix, names in (
            ("", questions),
            ("has_answer_", with_answer),
            ("no_answer_", without),
        ):
            if names:
                metrics[prefix + key] = sum(final[name] for name in names) / len(names)
        score = best = len(without)
        best_at = 0.0
        for name in sorted(probabilities, key=lambda name: probabilities[name]):
            if questions[name]:
                score += scores[name]
            elif predictions[name]:
                score -= 1
            if score > best:
                best, best_at = score, probabilities[name]
        metrics |= {f"best_{key}": best / len(questions), f"best_{key}_threshold": best_at}
    return metrics


def drawn_text(rng):
    return " ".join(rng.choices(WORDS, k=rng.randrange(4)))


def drawn_questions(rng, *, may_be_empty):
    return {
        f"q{i}": [drawn_text(rng) for _ in range(rng.randrange(0 if may_be_empty else 1, 4))]
        for i in range(rng.randrange(1, 9))
    }


def examples_of(questions):
    return [
        SquadExample(name, "?", "text", tuple(SquadAnswer(gold, 0) for gold in golds))
        for name, golds in questions.items()
    ]


def ours(task, questions, predictions):
    return task.summarise(task.statistics(examples_of(questions), predictions))


def test_version_1_on_random_sets():
    rng = random.Random(0)
    task = SquadTask(SquadOptions(), SpanHead())
    seen = set()
    for _ in range(2000):
        questions = drawn_questions(rng, may_be_empty=False)
        said = {name: drawn_text(rng) for name in questions}
        predictions = [SquadPrediction(text) for text in said.values()]
        expected = plain_version_1(questions, said)
        assert ours(task, questions, predictions) == pytest.approx(expected, abs=1e-12)
        seen |= set(expected.values())
    assert len(seen) > 80, "the sets differ"


def test_version_2_on_random_sets():
    rng = random.Random(0)
    seen = set()
    for number in range(2500):
        threshold = rng.choice([0.0, 0.25, 0.5, 1.0])
        questions = drawn_questions(rng, may_be_empty=True)
        said = {name: drawn_text(rng) for name in questions}
        # Equal probabilities are frequent in the even sets.
        digits = 1 if number % 2 else 9
        probabilities = {name: round(rng.random(), digits) for name in questions}
        task = SquadTask(SquadOptions(set="squad2", no_answer_threshold=threshold), SpanHead())
        predictions = [SquadPrediction(said[name], probabilities[name]) for name in questions]
        found = ours(task, questions, predictions)
        expected = plain_version_2(questions, said, probabilities, threshold)
        assert found == pytest.approx(expected, abs=1e-12)
        seen |= {expected["best_f1"], expected["best_em_threshold"]}
        files = task.submission(examples_of(questions), predictions)
        assert json.loads(files["answers.json"]) == said
        assert json.loads(files["na_prob.json"]) == probabilities
        assert json.loads(files["predictions.json"]) == {
            name: "" if probabilities[name] > threshold else said[name] for name in said
        }
    assert len(seen) > 300, "the sets differ"


@pytest.mark.parametrize(
    ("predicted", "golds", "scores_1", "scores_2"),
    [
        ("the Eiffel Tower", ["Eiffel tower", "a tower"], (1, 1), (1, 1)),
        ("Tower in Paris", ["Eiffel Tower"], (0, 0.4), (0, 0.4)),
        ("the", ["an"], (1, 0), (1, 1)),
        ("", ["an", "York"], (1, 0), (0, 0)),
    ],
)
def test_both_versions_on_cases_worked_by_hand(predicted, golds, scores_1, scores_2):
    """They differ where an answer has nothing but articles: no word is shared, and version 2 skips it."""
    for name, scores in (("squad", scores_1), ("squad2", scores_2)):
        found = ours(
            SquadTask(SquadOptions(set=name), SpanHead()),
            {"q": golds},
            [SquadPrediction(predicted)],
        )
        assert (found["em"], found["f1"]) == pytest.approx(scores)


def test_the_best_threshold_of_a_case_worked_by_hand():
    """Below 0.3 the wrong answer costs nothing; above 0.6 the right text is lost."""
    task = SquadTask(SquadOptions(set="squad2"), SpanHead())
    questions = {"right": ["York"], "empty": [], "wrong": ["Leeds"]}
    said = [SquadPrediction("York", 0.2), SquadPrediction("x", 0.6), SquadPrediction("y", 0.3)]
    found = ours(task, questions, said)
    assert (found["best_em"], found["best_em_threshold"]) == (pytest.approx(2 / 3), 0.2)
    assert (found["em"], found["no_answer_em"], found["has_answer_em"]) == pytest.approx(
        (2 / 3, 1, 0.5)
    )
    assert np.isclose(found["f1"], 2 / 3)
