"""Examples around given sites, compared with a search through all documents."""

from types import SimpleNamespace

import numpy as np
import pytest

from dna_bigbird.corpus.documents import Document
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.site_windows import SiteWindows
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.token_store_writer import write_token_store
from dna_bigbird.genome import Interval


def sites_at(chrom: str, middles) -> list[Interval]:
    return [Interval(chrom, m - 5, m + 5) for m in middles]


def examples_of(corpus, sites=None, share=1.0, max_tokens=128, **options) -> PretrainExamples:
    windows = sites and SiteWindows(corpus.store, sites, share, corpus.tokenizer.piece_bp)
    return PretrainExamples(
        corpus.store, corpus.tokenizer, max_tokens, MaskingConfig(), 0, sites=windows, **options
    )


def read_bases(corpus, parts) -> list[int]:
    """Positions of the bases of some parts in reading order, token by token."""
    positions = []
    for part in parts:
        place = corpus.store.document_interval(part.document)
        offset = int(corpus.store.token_offsets(part.document)[0])
        lengths = corpus.tokenizer.piece_bp[corpus.store.document(part.document)]
        read = 0
        for number, length in enumerate(lengths.tolist(), start=offset):
            if part.start <= number < part.end:
                bases = range(read, read + length)
                positions += [
                    place.end - 1 - i if place.strand == "-" else place.start + i for i in bases
                ]
            read += length
    return positions


def site_of(corpus, pair, middles) -> tuple[int | None, float]:
    """The site in an example, and its share of the way; in the first part if the second is random."""
    bases = read_bases(corpus, [pair.a] if pair.is_next else [pair.a, pair.b])
    found = list(set(middles) & set(bases))
    return (found[0], bases.index(found[0]) / len(bases)) if found else (None, np.nan)


@pytest.mark.parametrize("max_tokens", [32, 128])
@pytest.mark.parametrize("random_second", [True, False])
def test_every_example_reads_a_site(toy_corpus, max_tokens, random_second):
    """Half an example of 32 is shorter than most sentences: their beginning is in no first part."""
    middles = [3_000, 9_000, 15_000, 45_000]
    options = {"max_tokens": max_tokens, "random_second": random_second}
    examples = examples_of(toy_corpus, sites_at("chr1", middles), **options)
    pairs = [examples.pair(index) for index in range(60)]
    drawn = [site_of(toy_corpus, pair, middles)[0] for pair in pairs]
    assert set(middles) <= set(drawn)
    missed = [pair for pair, site in zip(pairs, drawn, strict=True) if site is None]
    assert all(pair.is_next and max_tokens == 32 for pair in missed)
    assert any(pair.is_next for pair in pairs) == random_second


@pytest.mark.parametrize("random_second", [True, False])
def test_a_site_is_near_the_middle_but_not_always_at_the_same_place(
    toy_corpus, tmp_path, random_second
):
    """Long documents of sentences of 100 bp, about 25 tokens; an example has 125."""
    documents = [
        Document(Interval(chrom, 0, 12_000), tuple(range(100, 12_001, 100)))
        for chrom in ("chr1", "chr2")
    ]
    write_token_store(tmp_path / "s.h5", documents, toy_corpus.genome, toy_corpus.tokenizer)
    corpus = SimpleNamespace(store=TokenStore(tmp_path / "s.h5"), tokenizer=toy_corpus.tokenizer)
    middles = [3_010, 6_060]
    examples = examples_of(corpus, sites_at("chr2", middles), random_second=random_second)
    pairs = [examples.pair(index) for index in range(100)]
    shares = [site_of(corpus, pair, middles)[1] for pair in pairs]
    low, high = np.quantile(shares, [0.1, 0.9])
    assert 0.1 < low < high < 0.9
    assert 0.35 < np.mean(shares) < 0.65
    assert np.std(shares) > 0.08


def test_the_other_examples_are_those_without_sites(toy_corpus):
    plain = examples_of(toy_corpus)
    sites = sites_at("chr1", [3_000])
    mixed = examples_of(toy_corpus, sites, share=0.3)
    always = examples_of(toy_corpus, sites)
    at_site = 0
    for index in range(300):
        is_plain = mixed.pair(index) == plain.pair(index)
        assert is_plain or mixed.pair(index).a == always.pair(index).a
        if is_plain:
            assert all(np.array_equal(mixed[index][k], v) for k, v in plain[index].items())
        at_site += not is_plain
    assert abs(at_site - 90) < 4.5 * np.sqrt(300 * 0.3 * 0.7)


def test_a_function_of_the_number(toy_corpus):
    sites = sites_at("chr1", [3_000, 9_000])
    numbers = [7, 0, 123_456_789, 7]
    first = [examples_of(toy_corpus, sites, share=0.5)[n] for n in numbers]
    one = examples_of(toy_corpus, sites, share=0.5)
    for number, example in reversed(list(zip(numbers, first, strict=True))):
        assert all(np.array_equal(one[number][key], value) for key, value in example.items())


def test_sites_outside_the_documents_are_counted(toy_corpus):
    """Each base is looked for in each document."""
    store = toy_corpus.store
    rng = np.random.default_rng(0)
    sites = [
        Interval(chrom, start, start + 11)
        for chrom in ("chr1", "2", "chr3")
        for start in rng.integers(0, 60_000, 200).tolist()
    ]
    expected = 0
    for site in sites:
        places = map(store.document_interval, range(store.num_documents))
        name = {"2": "chr2"}.get(site.chrom, site.chrom)
        expected += any(p.chrom == name and p.start <= site.start + 5 < p.end for p in places)
    windows = SiteWindows(store, sites, 0.3, toy_corpus.tokenizer.piece_bp)
    assert windows.used == expected
    assert windows.outside == len(sites) - expected
    assert 200 < windows.used < 400


def test_sites_and_their_documents_are_equally_likely(toy_corpus):
    store = toy_corpus.store
    middles = [2_000, 5_000]
    windows = SiteWindows(store, sites_at("chr2", middles), 1.0, toy_corpus.tokenizer.piece_bp)
    rng = np.random.default_rng(0)
    drawn = [windows.draw(rng, 125, in_first=False)[0] for _ in range(900)]
    counts = np.bincount(drawn, minlength=store.num_documents)
    expected = np.zeros(store.num_documents)
    for middle in middles:
        covering = [
            d
            for d in range(store.num_documents)
            if (p := store.document_interval(d)).chrom == "chr2" and p.start <= middle < p.end
        ]
        expected[covering] += 450 / len(covering)
    assert (abs(counts - expected) < 4.5 * np.sqrt(expected) + 1e-9).all()
