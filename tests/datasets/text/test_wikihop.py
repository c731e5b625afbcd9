"""WikiHop: reading, rows and what is left out."""

import gzip
import io
import json
import tarfile

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.text_tokenizer import MARKERS, TextTokenizer
from dna_bigbird.text.data.wikihop import WikiHopOptions, read_wikihop, shorten, wikihop_rows
from tests.text_vocabulary import tiny_text_tokenizer

ITEM = {
    "id": "WH_1",
    "query": "capital_of red island",
    "candidates": ["Old Harbour ", "new castle"],
    "answer": " old harbour",
    "supports": ["The king was born. Old Harbour is the capital.", "A green\tcastle."],
}


def written(tmp_path, *items):
    path = tmp_path / "dev.json.gz"
    with gzip.open(path, "wt") as stream:
        json.dump(list(items), stream)
    return path


def rows_of(tmp_path, *items, training=False, **options):
    examples, _ = read_wikihop(written(tmp_path, *items), "validation")
    return wikihop_rows(
        examples, tiny_text_tokenizer(), WikiHopOptions(**options), training=training
    )


def spelled(row):
    tokenizer = tiny_text_tokenizer()
    names = [*tokenizer.pieces, *MARKERS]
    return "".join(names[i] for i in row.token_ids).replace("▁", " ")


def test_a_row_is_query_candidates_documents(tmp_path):
    (row,) = rows_of(tmp_path, ITEM).rows
    assert spelled(row) == (
        "[CLS][q] capital_of red island[/q][ans] old harbour[/ans][ans] new castle[/ans]"
        " The king was born. Old Harbour is the capital.[SEP] A green castle.[SEP]"
    )
    mark = tiny_text_tokenizer().marker_id("[ans]")
    assert row.arrays["candidates"].tolist() == np.flatnonzero(row.token_ids == mark).tolist()
    assert row.arrays["target"].tolist() == [0]
    (example,), _ = read_wikihop(written(tmp_path, ITEM), "train")
    assert example.written == ("Old Harbour ", "new castle")


def test_an_answer_that_is_no_candidate_is_counted(tmp_path):
    odd = {**ITEM, "id": "WH_2", "answer": "mountain"}
    _, counts = read_wikihop(written(tmp_path, ITEM, odd), "train")
    assert counts == {"answer not among the candidates": 1}
    made = rows_of(tmp_path, ITEM, odd, training=True)
    assert [row.example for row in made.rows] == [0]
    assert made.counts == {"without an answer among the candidates, not trained on": 1}
    assert rows_of(tmp_path, ITEM, odd).rows[1].arrays["target"].tolist() == [-1]


def by_the_rule(lengths, max_tokens, max_sentences):
    """Sentences left of each document, the specification's rule one sentence at a time."""
    left = [list(one) for one in lengths]
    while True:
        cost = sum(map(sum, left)) + sum(1 for one in left if one)
        if (cost <= max_tokens and sum(map(len, left)) <= max_sentences) or not any(left):
            return [len(one) for one in left]
        most = max(map(len, left))
        last = [i for i, one in enumerate(left) if len(one) == most][-1]
        left[last] = left[last][:-1]


def test_shorten_follows_the_rule():
    rng = np.random.default_rng(0)
    cut = 0
    for _ in range(200):
        lengths = [rng.integers(1, 9, rng.integers(0, 6)).tolist() for _ in range(4)]
        limits = int(rng.integers(0, 60)), int(rng.integers(1, 15))
        documents = [[np.zeros(n) for n in one] for one in lengths]
        dropped = shorten(documents, *limits)
        left = [len(one) for one in documents]
        assert left == by_the_rule(lengths, *limits)
        assert dropped == sum(map(len, lengths)) - sum(left)
        cut += dropped > 0
    assert cut > 50


def test_sentences_left_out_are_counted(tmp_path):
    full = len(rows_of(tmp_path, ITEM).rows[0].token_ids)
    made = rows_of(tmp_path, ITEM, max_tokens=full - 1)
    assert spelled(made.rows[0]).endswith(" The king was born.[SEP] A green castle.[SEP]")
    assert made.counts == {"sentences left out": 1, "questions with sentences left out": 1}
    assert rows_of(tmp_path, ITEM, max_sentences=1).counts["sentences left out"] == 2
    made = rows_of(tmp_path, ITEM, max_tokens=10)
    assert (made.rows, len(made.examples)) == ([], 1)
    assert made.counts == {"candidates alone longer than max_tokens, no row": 1}


def test_the_archive_holds_splits_plain_and_masked(real_data):
    archive = real_data / "nlp" / "wikihop" / "wikihop_sample.tar.gz"
    names = {}
    for masked in (False, True):
        for split in ("train", "validation"):
            examples, counts = read_wikihop(archive, split, masked=masked)
            names[split, masked] = [one.id for one in examples]
            assert counts == {}
            assert all(one.target is not None for one in examples)
            assert all("___mask" in one.answer for one in examples) == masked
    assert names["train", False] == names["train", True] == ["WH_train_0", "WH_train_1"]
    assert names["validation", False] == ["WH_dev_0", "WH_dev_1"]
    vocabulary = real_data / "vocab" / "bigbird_gpt2_sentencepiece.model"
    tokenizer = TextTokenizer(vocabulary.read_bytes(), "spiece.model")
    examples, _ = read_wikihop(archive, "validation")
    made = wikihop_rows(examples, tokenizer, WikiHopOptions(), training=True)
    for row, example in zip(made.rows, examples, strict=True):
        ids = row.token_ids.tolist()
        for place, candidate in zip(row.arrays["candidates"], example.candidates, strict=True):
            end = ids.index(tokenizer.marker_id("[/ans]"), place)
            assert ids[place] == tokenizer.marker_id("[ans]")
            assert tokenizer.decode(ids[place + 1 : end]).strip() == candidate
        assert ids.count(tokenizer.sep_id) == len(example.documents)
        assert ids.count(tokenizer.unk_id) < 10


def test_an_archive_without_the_split(tmp_path):
    path = tmp_path / "set.tar"
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("q/wikihop/dev.json")
        info.size = 2
        archive.addfile(info, io.BytesIO(b"[]"))
    assert read_wikihop(path, "validation") == ([], {})
    with pytest.raises(InputError, match=r"set.tar: no wikihop/train.json in it"):
        read_wikihop(path, "train")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": []}, r"item 0 \(WH_1\): 'candidates' is empty; expected at least one"),
        ({"candidates": [1]}, "'candidates' holds 1, expected texts"),
        ({"supports": []}, "'supports' is empty; expected at least one document"),
        ({"supports": "text"}, "'supports' is 'text', expected a list"),
        ({"query": None}, "'query' is None, expected a text"),
    ],
)
def test_bad_items_are_named(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        read_wikihop(written(tmp_path, {**ITEM, **change}), "validation")


def test_an_id_may_come_once(tmp_path):
    with pytest.raises(InputError, match="id 'WH_1' comes 2 times"):
        read_wikihop(written(tmp_path, ITEM, ITEM), "train")


def test_an_answer_may_be_absent_where_none_is_needed(tmp_path):
    path = written(tmp_path, {key: ITEM[key] for key in ITEM if key != "answer"})
    with pytest.raises(InputError, match="no 'answer'; expected a text"):
        read_wikihop(path, "test")
    (example,), counts = read_wikihop(path, "test", gold=False)
    assert (example.answer, example.target, counts) == (None, None, {})
