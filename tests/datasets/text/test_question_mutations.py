"""Whatever stands in a file of questions: examples and rows, or one line."""

import copy
import json

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.hotpotqa import HotpotQaOptions, hotpotqa_rows, read_hotpotqa
from dna_bigbird.text.data.wikihop import WikiHopOptions, read_wikihop, wikihop_rows
from tests.text_vocabulary import tiny_text_tokenizer

HOTPOT = {
    "_id": "one",
    "question": "who founded the harbour",
    "answer": "new king",
    "context": [["red river", ["a new king."]], ["north harbour", ["good.", " a new king."]]],
    "supporting_facts": [["north harbour", 1], ["red river", 0]],
}
WIKIHOP = {
    "id": "one",
    "query": "capital_of red island",
    "candidates": ["old harbour", "new castle"],
    "answer": "old harbour",
    "supports": ["the king was born. it is the capital.", "a green castle."],
}
VALUES = [
    None, True, -1, 3, 10**30, 0.5, float("nan"), "", " \n\t", "king", "yes", "İ\u0301 🙂 \u2028", "\x00",
    [], [[]], {}, ["king", 0], [["red river", -1]], [["t", []]], [["", [""]]], ["", " "],
]  # fmt: skip


def places(value, path=()):
    """Every place of a JSON value but the root."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        yield (*path, key)
        if isinstance(part, dict | list):
            yield from places(part, (*path, key))


def mutated(item, rng):
    item = copy.deepcopy(item)
    for _ in range(rng.integers(1, 3)):
        found = list(places(item))
        *above, key = found[rng.integers(len(found))]
        holder = item
        for step in above:
            holder = holder[step]
        if rng.random() < 0.2:
            del holder[key]
        else:
            alike = [one for one in VALUES if type(one) is type(holder[key])]
            values = alike if rng.random() < 0.5 and alike else VALUES
            holder[key] = copy.deepcopy(values[rng.integers(len(values))])
    return item


def read_hotpot(path, gold):
    examples, _ = read_hotpotqa(path, gold=gold)
    for training in (False, True):
        hotpotqa_rows(
            examples, tiny_text_tokenizer(), HotpotQaOptions(max_tokens=40), training=training
        )


def read_wiki(path, gold):
    examples, _ = read_wikihop(path, "train", gold=gold)
    for training in (False, True):
        wikihop_rows(
            examples, tiny_text_tokenizer(), WikiHopOptions(max_tokens=40), training=training
        )


@pytest.mark.parametrize(("item", "read"), [(HOTPOT, read_hotpot), (WIKIHOP, read_wiki)])
def test_rows_or_a_message_that_names_the_item(item, read, tmp_path):
    rng = np.random.default_rng(0)
    path, refused = tmp_path / "questions.json", []
    for number in range(400):
        path.write_text(json.dumps([mutated(item, rng)]))
        try:
            read(path, gold=number % 2 == 0)
        except InputError as error:
            refused.append(str(error).removeprefix(str(path)))
    assert all(one.startswith(": item 0") and len(one) < 250 for one in refused)
    assert 50 < len(refused) < 350
