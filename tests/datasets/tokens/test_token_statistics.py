"""Base pairs per token against a count of every base by hand."""

from collections import defaultdict

import pytest

from dna_bigbird.corpus.token_statistics import describe_tokens
from dna_bigbird.corpus.token_store import covering_documents
from dna_bigbird.genome.repeats import RepeatClasses


def test_documents_do_not_overlap_and_cover_nearly_all(toy_corpus):
    store = toy_corpus.store
    places = [store.document_interval(d) for d in covering_documents(store, 10**6)]
    assert all(a.overlap(b) == 0 for i, a in enumerate(places) for b in places[i + 1 :])
    assert sum(p.length for p in places) > 0.9 * 79_500
    few = covering_documents(store, 5)
    assert len(few) == 5
    assert set(few) <= set(covering_documents(store, 10**6))


def test_against_every_base(toy_corpus):
    """A loop over bases, from the text of the genome alone; chr2 of the toy is in one case."""
    store, tokenizer, genome = toy_corpus.store, toy_corpus.tokenizer, toy_corpus.genome
    fasta = genome.path.read_text().split("\n")
    raw = {"chr1": fasta[1], "chr2": fasta[3]}
    tokens, bases = defaultdict(float), defaultdict(int)
    documents = covering_documents(store, 30)
    for document in documents:
        place = store.document_interval(document)
        text = raw[place.chrom][place.start : place.end]
        text = text[::-1] if place.strand == "-" else text
        at = 0
        for piece in (tokenizer.pieces[i] for i in store.document(document)):
            for letter in text[at : at + len(piece)]:
                masked = "soft_masked" if letter.islower() else "unmasked"
                name = "unknown" if place.chrom == "chr2" else masked
                for suffix in ("", f".{place.chrom}", f".{name}", f".{place.chrom}.{name}"):
                    tokens[suffix] += 1 / len(piece)
                    bases[suffix] += 1
            at += len(piece)
    found = describe_tokens(store, tokenizer, RepeatClasses.from_soft_mask(genome), documents)
    assert found.pop("n_documents") == 30
    assert found.pop("n_bp") == bases[""]
    assert found.pop("unknown_tokens") == 0
    assert found.keys() == {f"{k}{s}" for s in tokens for k in ("n", "bp_per_token")}
    assert len(tokens) == 9
    for suffix, count in tokens.items():
        assert found[f"n{suffix}"] == pytest.approx(count, abs=0.051)
        assert found[f"bp_per_token{suffix}"] == pytest.approx(bases[suffix] / count, abs=1e-4)
