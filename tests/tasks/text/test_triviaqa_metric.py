"""TriviaQA's metric and the choice among documents against their definitions."""

import itertools
import re
from collections import Counter

import numpy as np
import pytest

from dna_bigbird.text.spans import best_overlap, normalise_answer
from dna_bigbird.text.tasks.triviaqa import best_document_span, normalise_trivia


@pytest.mark.parametrize(
    ("text", "trivia", "squad"),
    [
        ("Campbell-Bannerman", "campbell bannerman", "campbellbannerman"),
        ("U.S.", "u s", "us"),
        ("rock_and_roll", "rock and roll", "rockandroll"),
        ("Tess of the d’Urbervilles", "tess of d urbervilles", "tess of d’urbervilles"),
        ("The A-Team", "team", "ateam"),
        ("´`‘’", "", "´‘’"),
    ],
)
def test_punctuation_becomes_a_space_where_squad_deletes_it(text, trivia, squad):
    assert normalise_trivia(text) == trivia
    assert normalise_answer(text) == squad


def plain_scores(predicted, answers):
    """The official script's two scores, written with other means."""

    def words(text):
        text = re.sub(r"[\W_]", " ", text.lower())  # enough for these texts
        return [word for word in text.split() if word not in ("a", "an", "the")]

    exact = f1 = 0.0
    for answer in answers:
        found, wanted = words(predicted), words(answer)
        exact = max(exact, float(found == wanted))
        same = sum((Counter(found) & Counter(wanted)).values())
        if same:
            f1 = max(f1, 2 * same / (len(found) + len(wanted)))
    return exact, f1


def test_scores_are_the_best_over_aliases_and_human_answers():
    texts = ["The Sunset Blvd.", "sunset boulevard", "West-Sunset boulevard", "an old road", "road"]
    for predicted, *answers in itertools.permutations(texts, 3):
        assert best_overlap(predicted, answers, normalise_trivia) == pytest.approx(
            plain_scores(predicted, answers)
        )
    assert best_overlap("anything", [], normalise_trivia) == (0.0, 0.0)


def plain_choice(documents, max_words, norm):
    """Every start with every end of every document."""

    def log_sum(values):
        return np.log(np.exp(values).sum())

    whole = [log_sum(np.concatenate([one[side] for one in documents])) for side in (0, 1)]
    best = None
    for number, (start, end, word) in enumerate(documents):
        total = sum(whole) if norm == "per_question" else log_sum(start) + log_sum(end)
        for i, j in itertools.combinations_with_replacement(range(len(word)), 2):
            if word[i] >= 0 and word[j] >= 0 and word[j] - word[i] < max_words:
                score = start[i] + end[j] - total
                if best is None or score > best[3]:
                    best = (number, i, j, score)
    return best


@pytest.mark.parametrize("norm", ["per_question", "per_document"])
@pytest.mark.parametrize("seed", range(15))
def test_the_choice_among_documents_is_that_of_a_plain_search(seed, norm):
    rng = np.random.default_rng(seed)
    documents = []
    for _ in range(3):
        length = int(rng.integers(3, 12))
        word = np.sort(rng.integers(0, 6, length))
        word[:2] = -1  # the question
        documents.append((rng.normal(size=length), rng.normal(size=length), word))
    found = best_document_span(documents, max_words=2, norm=norm)
    assert found == pytest.approx(plain_choice(documents, 2, norm))


def test_over_all_documents_the_highest_sum_of_logits_wins():
    """One document is sure of little, the other torn between much."""
    sure = (np.array([2.0, -9, -9]), np.array([2.0, -9, -9]), np.arange(3))
    torn = (np.array([3.0, 3, 3]), np.array([3.0, 3, 3]), np.arange(3))
    assert best_document_span([sure, torn], norm="per_question").document == 1
    assert best_document_span([sure, torn], norm="per_document").document == 0


def test_documents_that_allow_no_answer():
    none = (np.zeros(3), np.zeros(3), np.full(3, -1))
    assert best_document_span([none]) is None
    assert best_document_span([]) is None
