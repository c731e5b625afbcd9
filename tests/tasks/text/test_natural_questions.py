"""Natural Questions from pages to the official metric and the submission."""

import dataclasses
import json
import random

import pytest

from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.datasets.text.natural_questions import Annotation, PageSpan, read_natural_questions
from dna_bigbird.datasets.text.natural_questions_options import NaturalQuestionsOptions
from dna_bigbird.demo.text.pages import nq_item
from dna_bigbird.errors import InputError
from dna_bigbird.models.text_config import NaturalQuestionsHead
from dna_bigbird.tasks.text.natural_questions import NaturalQuestionsKind
from tests.text_overfit import overfit
from tests.text_vocabulary import tiny_text_tokenizer


def kind(**options):
    return NaturalQuestionsKind(
        NaturalQuestionsOptions(**options), NaturalQuestionsHead(dropout=0.0)
    )


def made_pages(folder, count=8):
    rng = random.Random(0)
    path = folder / "nq-dev-00.jsonl"
    path.write_text("".join(json.dumps(nq_item(rng, i, "dev")) + "\n" for i in range(count)))
    return path


def test_a_tiny_model_learns_pages_by_heart(tmp_path):
    """Short, long, yes, no and null pages, in overlapping windows."""
    small = {"max_tokens": 128, "max_question_tokens": 16, "stride": 64}
    task = kind(**small)
    examples, _ = task.read(made_pages(tmp_path), "validation")
    # The first annotation is the target; let it be one of the four that agree.
    examples = [
        dataclasses.replace(one, annotations=tuple(sorted(one.annotations, reverse=True)))
        for one in examples
    ]
    assert {one.annotations[0].yes_no for one in examples} == {"yes", "no", "none"}
    scores, found = overfit(task, examples, tiny_text_tokenizer(), steps=150, num_layers=2)
    assert scores["long_f1"] >= 0.99
    assert scores["short_f1"] >= 0.99
    written = json.loads(task.submission(examples, found)["predictions.json"])["predictions"]
    gold = {one.id: one.annotations[0] for one in examples}
    for one in written:
        wanted = gold[one["example_id"]]
        if wanted.long.start >= 0:
            assert one["long_answer"] == dict(
                zip(
                    ("start_token", "end_token", "start_byte", "end_byte"), wanted.long, strict=True
                )
            )
            assert one["yes_no_answer"] == wanted.yes_no.upper()
            assert len(one["short_answers"]) == len(wanted.short)
