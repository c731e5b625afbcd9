"""Sentence pairs: half of them truly adjacent on the genome, all of them reproducible."""

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.documents import Document
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.token_store_writer import write_token_store
from dna_bigbird.genome import Interval

CLS, SEP, MASK = 2, 3, 4


def examples_of(corpus, store=None, max_tokens=128, seed=0, **options) -> PretrainExamples:
    store = store or corpus.store
    return PretrainExamples(store, corpus.tokenizer, max_tokens, MaskingConfig(), seed, **options)


def store_of(corpus, tmp_path, documents) -> TokenStore:
    write_token_store(tmp_path / "s.h5", documents, corpus.genome, corpus.tokenizer)
    return TokenStore(tmp_path / "s.h5")


def unmasked(example: dict) -> np.ndarray:
    ids = example["token_ids"].copy()
    ids[example["positions"]] = example["labels"]
    return ids


def parts(example: dict) -> tuple[np.ndarray, np.ndarray]:
    ids = unmasked(example)
    first, second = np.flatnonzero(ids == SEP)
    return ids[1:first], ids[first + 1 : second]


def test_shape_of_an_example(toy_corpus):
    examples = examples_of(toy_corpus)
    for index in range(100):
        example = examples[index]
        ids, segments = unmasked(example), example["segment_ids"]
        seams = np.flatnonzero(ids == SEP)
        assert len(ids) == len(segments) <= 128
        assert ids[0] == CLS
        assert len(seams) == 2
        assert seams[1] == len(ids) - 1
        assert segments.tolist() == [0] * (seams[0] + 1) + [1] * (len(ids) - seams[0] - 1)
        assert ((ids >= 5).sum()) == len(ids) - 3
        assert example["is_next"] in (0, 1)
        for key in ("token_ids", "segment_ids", "positions", "labels"):
            assert example[key].dtype == np.int64


def test_special_tokens_are_never_masked_and_15_percent_of_the_others_are(toy_corpus):
    examples = examples_of(toy_corpus)
    for index in range(100):
        example = examples[index]
        assert (example["labels"] >= 5).all()
        assert len(example["positions"]) == round(0.15 * (len(example["token_ids"]) - 3))
    seen = np.concatenate(
        [e["token_ids"][e["positions"]] for e in map(examples.__getitem__, range(400))]
    )
    labels = np.concatenate([examples[i]["labels"] for i in range(400)])
    n = len(labels)
    for count, p in (((seen == MASK).sum(), 0.8), ((seen == labels).sum(), 0.1 + 0.1 / 295)):
        assert abs(count - n * p) < 4.5 * np.sqrt(n * p * (1 - p))


def test_the_share_of_masked_tokens_changes_linearly(toy_corpus):
    """From 0.4 to 0.1 over 31 examples: one hundredth less each, and 0.1 afterwards."""
    masking = MaskingConfig(0.4, last_fraction=0.1)
    args = (toy_corpus.store, toy_corpus.tokenizer, 128)
    falling = PretrainExamples(*args, masking, 0, num_examples=31)
    plain = PretrainExamples(*args, MaskingConfig(), 0)
    for index in (0, 1, 10, 20, 29, 30, 31, 500):
        example = falling[index]
        share = max(0.1, 0.4 - 0.01 * index)
        assert len(example["labels"]) == round(share * (len(example["token_ids"]) - 3))
        assert np.array_equal(unmasked(example), unmasked(plain[index]))


def test_true_continuations_are_adjacent_and_others_are_elsewhere(toy_corpus):
    store, examples = toy_corpus.store, examples_of(toy_corpus)
    kinds = []
    for index in range(300):
        example, pair = examples[index], examples.pair(index)
        a, b = parts(example)
        place_a = store.sentence_interval(pair.a.document, pair.a.first, pair.a.last)
        place_b = store.sentence_interval(pair.b.document, pair.b.first, pair.b.last)
        # The tokens are those of whole sentences, had again from the genome.
        assert toy_corpus.tokenizer.decode(a) == toy_corpus.genome.fetch(place_a)
        assert toy_corpus.tokenizer.decode(b) == toy_corpus.genome.fetch(place_b)
        assert example["is_next"] == pair.is_next
        kinds.append(pair.is_next)
        if pair.is_next == 0:
            assert place_a.strand == place_b.strand
            seam = (
                (place_a.end, place_b.start)
                if place_a.strand == "+"
                else (place_b.end, place_a.start)
            )
            assert place_a.chrom == place_b.chrom
            assert seam[0] == seam[1]
        else:
            assert pair.a.document != pair.b.document
            assert place_a.overlap(place_b) == 0
    assert abs(sum(kinds) - 150) < 4.5 * np.sqrt(75)


def test_without_random_parts_every_example_is_one_stretch(toy_corpus):
    """The same A as with pairs; where the pair was a true one, the same example."""
    store, pairs = toy_corpus.store, examples_of(toy_corpus)
    stretches = examples_of(toy_corpus, random_second=False)
    was_random = 0
    for index in range(200):
        example, pair = stretches[index], stretches.pair(index)
        assert example["is_next"] == pair.is_next == 0
        assert pair.a == pairs.pair(index).a
        place = store.sentence_interval(pair.a.document, pair.a.first, pair.b.last)
        text = toy_corpus.tokenizer.decode(np.concatenate(parts(example)))
        assert text == toy_corpus.genome.fetch(place)
        was_random += pairs[index]["is_next"]
        if not pairs[index]["is_next"]:
            assert same(example, pairs[index])
    assert was_random > 50


@pytest.mark.parametrize("max_tokens", [128, 15])
def test_places_of_predicted_tokens_are_their_bases(toy_corpus, max_tokens):
    """The genome read there is the piece of the label, also of sentences that were cut."""
    store, tokenizer = toy_corpus.store, toy_corpus.tokenizer
    examples = examples_of(toy_corpus, max_tokens=max_tokens)
    strands = set()
    for index in range(60):
        example, pair = examples[index], examples.pair(index)
        chroms, bounds = examples.predicted_spans(index, tokenizer.piece_bp)
        assert chroms.shape == example["labels"].shape
        assert bounds.shape == (len(chroms), 2)
        end_of_a = pair.a.end - pair.a.start
        rows = zip(example["positions"], example["labels"], chroms, bounds, strict=True)
        for position, label, chrom, (start, end) in rows:
            part = pair.a if position <= end_of_a else pair.b
            strand = store.document_interval(part.document).strand
            place = Interval(store.chromosomes[chrom], start, end, strand)
            assert toy_corpus.genome.fetch(place) == tokenizer.pieces[label]
            strands.add((strand, part is pair.a))
    assert len(strands) == 4


def test_documents_are_drawn_by_size_from_the_full_set(toy_corpus):
    """A by sentence pairs, a random B by sentences."""
    examples, store = examples_of(toy_corpus), toy_corpus.store
    pairs = [examples.pair(i) for i in range(6000)]
    sentences = np.diff(store.document_sentence_offsets)
    for documents, weights in (
        ([p.a.document for p in pairs], sentences - 1),
        ([p.b.document for p in pairs if p.is_next], sentences),
    ):
        drawn = np.bincount(documents, minlength=store.num_documents)
        expected = len(documents) * weights / weights.sum()
        assert (abs(drawn - expected) < 5 * np.sqrt(expected) + 1).all()


def test_parts_fill_the_example(toy_corpus):
    """Where a document is long enough, no further whole sentence would fit."""
    store, examples = toy_corpus.store, examples_of(toy_corpus)
    longest = max(np.diff(store.token_offsets(d)).max() for d in range(store.num_documents))
    for index in range(200):
        pair = examples.pair(index)
        if len(store.document(pair.a.document)) < 125 or len(store.document(pair.b.document)) < 125:
            continue
        a, b = pair.a.end - pair.a.start, pair.b.end - pair.b.start
        assert 62 - longest < a <= 62
        assert 125 - a - longest < b <= 125 - a


def test_starts_are_uniform_over_those_that_fill_the_example(toy_corpus, tmp_path):
    ends = tuple(range(100, 4100, 100))
    store = store_of(toy_corpus, tmp_path, [Document(Interval("chr2", 0, 4000), ends)])
    examples = examples_of(toy_corpus, store)
    offsets = store.token_offsets(0)
    eligible = [i for i in range(39) if offsets[-1] - offsets[i] >= 125]
    starts = np.bincount([examples.pair(i).a.first for i in range(3000)], minlength=40)
    assert np.flatnonzero(starts).tolist() == eligible
    expected = 3000 / len(eligible)
    assert (abs(starts[eligible] - expected) < 5 * np.sqrt(expected)).all()


def same(one: dict, other: dict) -> bool:
    return all(np.array_equal(value, other[key]) for key, value in one.items())


def test_a_function_of_seed_epoch_and_number(toy_corpus):
    """Whatever was asked for before, in this process or another."""
    one = examples_of(toy_corpus)
    per_epoch = one.examples_per_epoch
    assert per_epoch == -(-toy_corpus.store.num_tokens // 128)
    indices = [5, per_epoch + 5, 0, 123_456_789_012, 2 * per_epoch - 1, 5]
    first = [one[index] for index in indices]
    other_order = examples_of(toy_corpus)
    for index, example in reversed(list(zip(indices, first, strict=True))):
        assert same(other_order[index], example)
    assert not same(first[0], first[1])
    other = examples_of(toy_corpus, seed=1)
    assert not all(np.array_equal(one[i]["token_ids"], other[i]["token_ids"]) for i in range(3))


def test_every_part_of_the_corpus_comes_once_an_epoch(toy_corpus):
    """Strata by hand: of k strata that a document covers, all but those at its two ends are its own."""
    examples, store = examples_of(toy_corpus), toy_corpus.store
    per_epoch = examples.examples_per_epoch
    pairs = np.diff(store.document_sentence_offsets) - 1
    covered = per_epoch * pairs / pairs.sum()
    for epoch in range(3):
        numbers = range(epoch * per_epoch, (epoch + 1) * per_epoch)
        drawn = np.bincount(
            [examples.pair(i).a.document for i in numbers], minlength=store.num_documents
        )
        assert (abs(drawn - covered) < 2).all()


def test_one_long_document_is_visited_from_end_to_end(toy_corpus, tmp_path):
    """Example after example of an epoch, in order of their starts, begins in the next stratum."""
    store = store_of(
        toy_corpus, tmp_path, [Document(Interval("chr2", 0, 16_000), tuple(range(20, 16_001, 20)))]
    )
    examples = examples_of(toy_corpus, store, max_tokens=64)
    per_epoch = examples.examples_per_epoch
    offsets = store.token_offsets(0)
    eligible = sum(offsets[-1] - offsets[i] >= 61 for i in range(800 - 1))
    orders = []
    for epoch in range(2):
        numbers = range(epoch * per_epoch, (epoch + 1) * per_epoch)
        starts = [examples.pair(i).a.first for i in numbers]
        for stratum, start in enumerate(sorted(starts)):
            low, high = stratum * eligible / per_epoch, (stratum + 1) * eligible / per_epoch
            assert np.floor(low) <= start < high
        orders.append(np.argsort(starts, kind="stable").tolist())
    assert orders[0] != orders[1]


def test_the_next_epoch_has_other_masks(toy_corpus, tmp_path):
    """A document of one pair gives the same text each time; what is hidden differs."""
    store = store_of(toy_corpus, tmp_path, [Document(Interval("chr2", 0, 600), (300, 600))])
    examples = examples_of(toy_corpus, store, max_tokens=4096)
    assert examples.examples_per_epoch == 1
    epochs = [examples[epoch] for epoch in range(5)]
    assert len({unmasked(e).tobytes() for e in epochs}) == 1
    assert len({e["positions"].tobytes() for e in epochs}) == 5


def test_long_sentences_are_cut_far_from_the_seam(toy_corpus, tmp_path):
    documents = [Document(Interval("chr2", s, s + 2000), (1000, 2000)) for s in (0, 5000)]
    store = store_of(toy_corpus, tmp_path, documents)
    examples = examples_of(toy_corpus, store, max_tokens=43)
    seen = set()
    for index in range(40):
        pair = examples.pair(index)
        a, b = parts(examples[index])
        assert np.array_equal(a, store.sentence(pair.a.document, pair.a.first)[-20:])
        assert np.array_equal(b, store.sentence(pair.b.document, pair.b.first)[:20])
        seen.add(pair.is_next)
    assert seen == {0, 1}


def test_a_single_document_gives_true_continuations(toy_corpus, tmp_path):
    store = store_of(toy_corpus, tmp_path, [Document(Interval("chr2", 0, 300), (100, 200, 300))])
    assert {examples_of(toy_corpus, store)[i]["is_next"] for i in range(30)} == {0}


def test_short_documents_give_short_examples(toy_corpus, tmp_path):
    documents = [Document(Interval("chr2", s, s + 120), (60, 120)) for s in (0, 500, 900)]
    store = store_of(toy_corpus, tmp_path, documents)
    examples = examples_of(toy_corpus, store, max_tokens=4096)
    for index in range(30):
        example = examples[index]
        assert 5 < len(example["token_ids"]) < 100
        assert len(example["positions"]) >= 1


def test_a_document_of_one_sentence_is_only_ever_a_random_part(toy_corpus, tmp_path):
    documents = [
        Document(Interval("chr2", 0, 300), (100, 200, 300)),
        Document(Interval("chr2", 900, 990), (90,)),
    ]
    examples = examples_of(toy_corpus, store_of(toy_corpus, tmp_path, documents))
    for index in range(50):
        pair = examples.pair(index)
        assert pair.a.document == 0
        assert pair.b.document == pair.is_next


def test_no_pairs_at_all(toy_corpus, tmp_path):
    documents = [Document(Interval("chr2", s, s + 90), (90,)) for s in (0, 500)]
    with pytest.raises(InputError, match=r"s\.h5: no document has two sentences"):
        examples_of(toy_corpus, store_of(toy_corpus, tmp_path, documents))


def test_another_tokenizer_is_refused(toy_corpus):
    class Other:
        vocab_size = 301

    with pytest.raises(InputError, match="vocabulary of 300 entries, the tokenizer has 301"):
        PretrainExamples(toy_corpus.store, Other(), 128, MaskingConfig(), 0)


def test_too_short_for_a_pair(toy_corpus):
    with pytest.raises(ValueError, match="max_tokens 7"):
        examples_of(toy_corpus, max_tokens=7)
