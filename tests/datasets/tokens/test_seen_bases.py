"""Bases in a 32-mer of the training text, against sets of strings."""

import numpy as np
import pytest

from dna_bigbird.baselines.base_kmers import base_codes
from dna_bigbird.bundles.seen_regions import SeenRegions
from dna_bigbird.evaluation.evaluate_lm_seen import (
    SEEN_BP,
    SeenBases,
    Text,
    covered_text,
    regions_read,
)
from dna_bigbird.genome import Interval
from dna_bigbird.genome.coverage import merge_spans

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def reverse_complement(text: str) -> str:
    return text.translate(COMPLEMENT)[::-1]


def seen_by_strings(held_out: str, training: list[str]) -> np.ndarray:
    """The definition, with a set of all 32-mers without N of both strands."""
    both = [x for text in training for x in (text, reverse_complement(text))]
    kmers = {text[i : i + 32] for text in both for i in range(len(text) - 31)}
    seen = np.zeros(len(held_out), np.uint8)
    for i in range(len(held_out) - 31):
        kmer = held_out[i : i + 32]
        if "N" not in kmer and kmer in kmers:
            seen[i : i + 32] = 1
    return seen


def random_text(rng, length: int) -> str:
    return "".join(rng.choice(list("ACGT"), length))


def copied(rng, source: str, pieces: int) -> str:
    """Pieces of 20 to 60 bases of a text or its reverse complement, with random sequence and N between."""
    parts = []
    for _ in range(pieces):
        length = int(rng.integers(20, 60))
        start = int(rng.integers(len(source) - length))
        piece = source[start : start + length]
        parts += [piece if rng.random() < 0.5 else reverse_complement(piece)]
        parts += [random_text(rng, int(rng.integers(0, 30))), "N" * int(rng.integers(0, 2))]
    return "".join(parts)


@pytest.mark.parametrize("seed", range(4))
def test_against_sets_of_strings(seed):
    rng = np.random.default_rng(seed)
    training = [random_text(rng, n) for n in (900, 32, 31, 400)]
    training[0] = training[0][:500] + "N" + training[0][501:]
    # Ends of records: the first 32 bases of one, the last of another on the other strand, all of a third.
    ends = training[0][:32] + "N" + reverse_complement(training[3][-32:]) + training[1]
    held_out = copied(rng, training[0], 40) + ends + copied(rng, training[3], 10) + training[2]
    texts = [Text("chr1", 0, base_codes(x)) for x in training]
    whole = {"chr1": merge_spans([0], [len(held_out)])}
    seen = SeenBases(whole, [Text("chr1", 0, base_codes(held_out))], texts)
    expected = seen_by_strings(held_out, training)
    assert 0.1 < expected.mean() < 0.9
    assert np.array_equal(seen.classes(Interval("chr1", 0, len(held_out))), expected)


def test_spans_have_the_classes_of_the_whole():
    """Text that comes in pieces, of which only some spans are asked for; beyond them nothing is seen."""
    rng = np.random.default_rng(9)
    source = random_text(rng, 600)
    held_out = copied(rng, source, 60)
    expected = seen_by_strings(held_out, [source])
    training = [Text("chr2", 50, base_codes(source))]
    pieces = [
        Text("chr1", 1000 + i, base_codes(held_out[i : i + 100]))
        for i in range(0, len(held_out), 70)
    ]
    starts = 1000 + np.arange(100, len(held_out) - 300, 150)
    spans = merge_spans(starts, starts + 7)
    seen = SeenBases({"chr1": spans}, pieces, training)
    found = [seen.classes(Interval("chr1", s, s + 7)) for s in starts.tolist()]
    asked = np.concatenate([expected[s - 1000 : s - 993] for s in starts.tolist()])
    assert 0 < asked.mean() < 1
    assert np.array_equal(np.concatenate(found), asked)
    assert seen.classes(Interval("chr1", starts[-1] + 100, starts[-1] + 200)).tolist() == [0] * 100
    assert seen.classes(Interval("chr7", 0, 3)).tolist() == [0] * 3


def test_regions_that_were_read_are_seen():
    text = [Text("chr1", 0, base_codes(random_text(np.random.default_rng(0), 200)))]
    read = [
        SeenRegions("pretraining", "hg19", {"1": "51-60,181-250"}),
        SeenRegions("pretraining", "GRCh38", {"chr1": "1-200"}),
    ]
    spans = {"chr1": merge_spans([0], [200])}
    seen = SeenBases(spans, text, [], regions_read(read, "GRCh37"))
    classes = seen.classes(Interval("chr1", 0, 200))
    assert np.flatnonzero(classes).tolist() == [*range(50, 60), *range(180, 200)]
    assert (
        not SeenBases(spans, text, [], regions_read(None, "GRCh37"))
        .classes(Interval("chr1", 0, 200))
        .any()
    )


def test_text_of_documents_covers_what_they_cover(toy_corpus):
    """Documents of three passes and both strands; the text is that of the genome, on the forward strand."""
    store, genome = toy_corpus.store, toy_corpus.genome
    covered = {c: np.zeros(genome.lengths[c], bool) for c in store.chromosomes}
    pieces, texts = 0, []
    for text in covered_text(store, toy_corpus.tokenizer):
        end = text.start + len(text.codes)
        letters = genome.letters(Interval(text.chrom, text.start, end)).decode().upper()
        assert np.array_equal(text.codes, base_codes(letters))
        covered[text.chrom][text.start : end] = True
        texts.append(text)
        pieces += 1
    for chrom, (starts, ends) in store.regions().items():
        expected = np.zeros_like(covered[chrom])
        for start, end in zip(starts, ends, strict=True):
            expected[start:end] = True
        assert np.array_equal(covered[chrom], expected)
    assert pieces < store.num_documents  # of three passes
    # No 32-mer is cut where one document follows another: all of the held-out copy is seen.
    (start, *_), (end, *_) = store.regions()["chr2"]
    letters = genome.letters(Interval("chr2", int(start), int(end))).decode()
    spans = {"copy": merge_spans([0], [len(letters)])}
    seen = SeenBases(spans, [Text("copy", 0, base_codes(letters))], texts)
    assert seen.classes(Interval("copy", 0, len(letters))).all()
    assert SEEN_BP == 32
