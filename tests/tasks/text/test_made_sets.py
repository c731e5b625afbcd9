"""Every made set is read by its own kind, to the last example and with its answers."""

import pytest

from dna_bigbird.bundles import text_tasks
from dna_bigbird.text.made.writing import write_made_text
from dna_bigbird.text.tasks.task import task_for_set
from tests.text_vocabulary import tiny_text_tokenizer

EXAMPLES = 48
DEV = TEST = EXAMPLES // 4
PATHS = {
    "imdb": "imdb/aclImdb",
    "yelp5": "yelp5",
    "arxiv-topics": "arxiv-topics",
    "patents": "patents",
    "hyperpartisan": "hyperpartisan",
    **dict.fromkeys(("cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb"), "glue"),
    "hotpotqa": "hotpotqa/hotpot_{}.json",
    "natural-questions": "natural-questions/nq-{}-00.jsonl.gz",
    "squad": "squad/{}-v1.1.json",
    "squad2": "squad/{}-v2.0.json",
    "triviaqa": "triviaqa/triviaqa-rc",
    "wikihop": "wikihop/qangaroo_v1.1",
    "arxiv": "arxiv/arxiv-dataset",
    "pubmed": "pubmed/pubmed-dataset",
    "bigpatent": "bigpatent",
    "cnn-dailymail": "cnn-dailymail",
    "xsum": "xsum/{}.jsonl",
}
FILES = {
    "hotpotqa": {"train": "train_v1.1", "validation": "dev_distractor_v1"},
    "natural-questions": {"train": "train", "validation": "dev"},
    "squad": {"train": "train", "validation": "dev"},
    "squad2": {"train": "train", "validation": "dev"},
    "xsum": {"train": "train", "validation": "validation", "test": "test"},
}
DRAWN = {"imdb": EXAMPLES, "yelp5": EXAMPLES, "arxiv-topics": 72, "hyperpartisan": 72}
"""Sets of which our reader draws splits, with what they have to draw from."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "text"
    write_made_text(folder, seed=0, examples=EXAMPLES)
    return folder


def read(made, name, split):
    path = PATHS[name].format(FILES.get(name, {}).get(split, ""))
    examples, counts = task_for_set(name).read(made / path, split)
    return list(examples), counts


def test_every_known_set_is_made():
    assert set(PATHS) == set(text_tasks.sets()) - {"json-lines"}


@pytest.mark.parametrize("name", PATHS)
def test_all_examples_are_read(made, name):
    train, counts = read(made, name, "train")
    validation, more = read(made, name, "validation")
    assert not any((counts | more).values()), "nothing is left out"
    if name not in DRAWN:
        halves = 2 if name == "mnli" else 1
        assert (len(train), len(validation)) == (EXAMPLES, DEV * halves)
        return
    test = len(read(made, name, "test")[0])
    if name in ("imdb", "yelp5"):
        assert test == TEST
        test = 0
    assert len(train) + len(validation) + test == DRAWN[name]


@pytest.mark.parametrize("name", PATHS)
def test_nothing_is_lost_between_examples_and_rows(made, name):
    """Every training example has a target that its row can hold, whatever the vocabulary."""
    kind = task_for_set(name)
    examples, _ = read(made, name, "train")
    kind.labels = kind.label_names(examples)
    rows = kind.rows(examples[:12], tiny_text_tokenizer(), training=True)
    assert not any(rows.counts.values())
    assert {row.example for row in rows.rows} == set(range(12))
