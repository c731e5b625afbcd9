"""What is in a token store can be had again from the genome, byte for byte."""

import gzip
import multiprocessing
import pickle
import select
import subprocess
import sys

import h5py
import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus import token_store_writer
from dna_bigbird.corpus.documents import Document, DocumentConfig
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.token_store_writer import write_token_store
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.genome import Genome, Interval
from tests.toy_corpus import build_documents


def test_every_sentence_is_the_genome_at_its_interval(toy_corpus):
    store, tokenizer = toy_corpus.store, toy_corpus.tokenizer
    assert store.num_documents == len(toy_corpus.documents)
    strands = set()
    for d, document in enumerate(toy_corpus.documents):
        assert store.document_interval(d) == document.interval
        assert store.num_sentences(d) == len(document.sentence_ends)
        strands.add(document.interval.strand)
        for i, place in enumerate(document.sentences()):
            assert store.sentence_interval(d, i) == place
            text = toy_corpus.genome.fetch(place)
            assert np.array_equal(store.sentence(d, i), tokenizer.encode(text))
            assert tokenizer.decode(store.sentence(d, i)) == text
    assert strands == {"+", "-"}


def test_documents_and_runs_of_sentences(toy_corpus):
    store = toy_corpus.store
    for d in (0, 7, store.num_documents - 1):
        parts = [store.sentence(d, i) for i in range(store.num_sentences(d))]
        assert np.array_equal(store.document(d), np.concatenate(parts))
        assert np.diff(store.token_offsets(d)).tolist() == [len(part) for part in parts]
        whole = store.sentence_interval(d, 0, store.num_sentences(d))
        assert whole == store.document_interval(d)
        assert toy_corpus.tokenizer.decode(store.document(d)) == toy_corpus.genome.fetch(whole)
    assert store.num_tokens == sum(len(store.document(d)) for d in range(store.num_documents))


def test_no_sentence_beyond_the_document(toy_corpus):
    with pytest.raises(IndexError, match="document 0 has"):
        toy_corpus.store.sentence(0, toy_corpus.store.num_sentences(0))
    with pytest.raises(IndexError, match="not -1"):
        toy_corpus.store.sentence_interval(0, -1)


def test_no_special_and_no_unknown_token(toy_corpus):
    ids = toy_corpus.store.tokens(0, toy_corpus.store.num_tokens)
    assert ids.min() >= toy_corpus.tokenizer.first_piece_id
    assert ids.max() < toy_corpus.store.vocab_size == 300


def test_equal_bytes_for_any_number_of_workers(toy_corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(token_store_writer, "DOCUMENTS_PER_PART", 16)
    written = []
    for workers in (0, 1, 2):
        path = tmp_path / f"{workers}.h5"
        write_token_store(
            path,
            iter(toy_corpus.documents),
            toy_corpus.genome,
            toy_corpus.tokenizer,
            workers=workers,
            assembly="toy",
        )
        written.append(path.read_bytes())
    assert written[0] == written[1] == written[2]
    assert b"toy.fa" not in written[0]


def test_attributes(toy_corpus, tmp_path):
    path = tmp_path / "s.h5"
    write_token_store(
        path,
        toy_corpus.documents[:1],
        toy_corpus.genome,
        toy_corpus.tokenizer,
        assembly="toy",
        attributes={"command": "dna-bigbird tokenize"},
    )
    store = TokenStore(path)
    assert store.assembly == "toy"
    assert store.attributes["format_version"] == 1
    assert store.attributes["command"] == "dna-bigbird tokenize"
    assert len(store.tokenizer_sha256) == 64
    with h5py.File(path) as file:
        assert file["token_ids"].dtype == np.uint16
        assert file["token_ids"].chunks is not None


def test_a_changed_file_does_not_verify(toy_corpus, tmp_path):
    toy_corpus.store.verify()
    path = tmp_path / "s.h5"
    path.write_bytes(toy_corpus.path.read_bytes())
    with h5py.File(path, "r+") as file:
        file["token_ids"][5] += 1
    with pytest.raises(
        InputError, match=r"s\.h5: damaged: the sha256 of token_ids is .* make it again"
    ):
        TokenStore(path).verify()


def test_bad_files(toy_corpus, tmp_path):
    with pytest.raises(InputError, match="no such token store"):
        TokenStore(tmp_path / "none.h5")
    cut = tmp_path / "cut.h5"
    cut.write_bytes(toy_corpus.path.read_bytes()[:5000])
    with pytest.raises(
        InputError, match=r"cut\.h5: not an HDF5 file, or one cut short; make it again"
    ):
        TokenStore(cut)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file.attrs["kind"] = "something"
    with pytest.raises(InputError, match=r"other\.h5: this HDF5 file is not a token store"):
        TokenStore(tmp_path / "other.h5")
    newer = tmp_path / "newer.h5"
    newer.write_bytes(toy_corpus.path.read_bytes())
    with h5py.File(newer, "r+") as file:
        file.attrs["format_version"] = 99
    with pytest.raises(InputError, match="format version 99, this program reads 1"):
        TokenStore(newer)


def test_nothing_is_left_behind_on_bad_input(toy_corpus, tmp_path):
    path = tmp_path / "s.h5"
    beyond = Document(Interval("chr2", 19_990, 20_010), (20,))
    with pytest.raises(InputError, match="runs past the chromosome, which has 20,000 bases"):
        write_token_store(path, [beyond], toy_corpus.genome, toy_corpus.tokenizer)
    with pytest.raises(InputError, match="there is no document"):
        write_token_store(path, [], toy_corpus.genome, toy_corpus.tokenizer)
    missing = Document(Interval("chr7", 0, 10), (10,))
    with pytest.raises(InputError, match=r"chromosome 'chr7' is not in toy\.fa"):
        write_token_store(path, [missing], toy_corpus.genome, toy_corpus.tokenizer, workers=2)
    assert list(tmp_path.iterdir()) == []


ENDLESS = """
import itertools, sys
from pathlib import Path
from dna_bigbird.corpus.documents import Document
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.corpus.token_store_writer import write_token_store
from dna_bigbird.genome import Genome, Interval

def documents():
    for number in itertools.count():
        if number == 1000:
            print("ready", flush=True)
        yield Document(Interval("chr2", 0, 100), (100,))

if __name__ == "__main__":
    genome, model, output = sys.argv[1:]
    write_token_store(
        Path(output), documents(), Genome(genome), DnaTokenizer.from_file(model), workers=2
    )
"""


@pytest.mark.slow
def test_workers_end_with_a_killed_parent(toy_corpus, tmp_path):
    """The pipe ends only when the last process that holds it has gone."""
    (tmp_path / "endless.py").write_text(ENDLESS)
    (tmp_path / "m.model").write_bytes(toy_corpus.tokenizer.model_bytes)
    command = [sys.executable, "endless.py", toy_corpus.genome.path, "m.model", "s.h5"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.kill()
        closed, _, _ = select.select([process.stdout], [], [], 30)
        assert closed, "a worker still runs 30 s after its parent was killed"
        assert process.stdout.read() == b""
    assert not (tmp_path / "s.h5").exists()


@pytest.mark.slow
def test_workers_that_die_at_once_end_the_run(toy_corpus, tmp_path):
    """A script without the __main__ guard cannot start workers; it must fail, not wait."""
    script = ENDLESS.replace('if __name__ == "__main__":', "if True:")
    (tmp_path / "unguarded.py").write_text(script)
    (tmp_path / "m.model").write_bytes(toy_corpus.tokenizer.model_bytes)
    command = [sys.executable, "unguarded.py", toy_corpus.genome.path, "m.model", "s.h5"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "a tokenizing process was killed" in result.stderr
    assert not (tmp_path / "s.h5").exists()


def read_in_child(store: TokenStore, d: int) -> list[int]:
    return store.document(d).tolist()


def test_other_processes_read_the_same(toy_corpus):
    store = toy_corpus.store
    expected = [store.document(d).tolist() for d in range(4)]  # the file is open in this process
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.starmap(read_in_child, [(store, d) for d in range(4)]) == expected


def test_a_pickled_store_reads_the_same(toy_corpus):
    expected = toy_corpus.store.document(3)
    assert np.array_equal(pickle.loads(pickle.dumps(toy_corpus.store)).document(3), expected)


def test_real_chr22(real_data, tmp_path):
    """200 kb with single N: 0 unknown tokens, and the genome comes back exactly."""
    path = tmp_path / "chr22.fa"
    with gzip.open(real_data / "genome" / "hg19_chr22_1-21000000.fa.gz", "rt") as stream:
        path.write_text(stream.read())
    genome = Genome(path)
    regions = ["chr22:19,100,001-19,300,000"]
    documents = build_documents(genome, regions, [], DocumentConfig(passes=2), seed=0)
    texts = [text for document in documents for text in document.texts(genome)]
    assert any("N" in text for text in texts)
    tokenizer = DnaTokenizer.from_bytes(train_tokenizer(texts, TokenizerConfig(vocab_size=2000)))
    write_token_store(tmp_path / "s.h5", documents, genome, tokenizer)
    store = TokenStore(tmp_path / "s.h5")
    for d in range(store.num_documents):
        ids = store.document(d)
        assert (ids >= tokenizer.first_piece_id).all()
        assert tokenizer.decode(ids) == genome.fetch(store.document_interval(d))
    covered = sum(document.interval.length for document in documents)
    assert 4.5 < covered / store.num_tokens < 6.5


def changed_copy(toy_corpus, path, change):
    """Copy the toy store and let `change` edit the open file."""
    path.write_bytes(toy_corpus.path.read_bytes())
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def test_tables_and_attributes_are_checked_when_a_store_is_opened(toy_corpus, tmp_path):
    def shift(file):
        file["document_bounds"][0, 0] += 1

    def rename(file):
        file.attrs["text_attributes"] = file.attrs["text_attributes"].replace(b"chr1", b"chr3")

    for change, what in ((shift, "document_bounds"), (rename, "its attributes")):
        path = changed_copy(toy_corpus, tmp_path / "s.h5", change)
        with pytest.raises(
            InputError, match=rf"s\.h5: damaged: the sha256 of {what} is .*tokenize"
        ):
            TokenStore(path)


@pytest.mark.parametrize("name", ["token_ids", "sentence_token_offsets", "sentence_bounds"])
def test_verify_reads_what_opening_does_not(toy_corpus, tmp_path, name):
    def change(file):
        file[name][-1] = 0

    store = TokenStore(changed_copy(toy_corpus, tmp_path / "s.h5", change))
    with pytest.raises(InputError, match=rf"s\.h5: damaged: the sha256 of {name} is"):
        store.verify()


def test_a_store_of_an_earlier_version_has_its_one_checksum(toy_corpus, tmp_path, capsys):
    def strip(file):
        for name in ("header_sha256", "datasets_sha256", "text_attributes"):
            del file.attrs[name]

    def strip_and_change(file):
        strip(file)
        file["token_ids"][-1] = 0

    TokenStore(changed_copy(toy_corpus, tmp_path / "old.h5", strip)).verify()
    assert (
        "old.h5: made by an earlier version: its attributes have no checksum"
        in capsys.readouterr().err
    )
    damaged = TokenStore(changed_copy(toy_corpus, tmp_path / "damaged.h5", strip_and_change))
    with pytest.raises(InputError, match=r"damaged\.h5: damaged: its checksum is .*make it again"):
        damaged.verify()


def test_a_read_that_fails_later_is_one_line(toy_corpus, tmp_path):
    path = changed_copy(toy_corpus, tmp_path / "s.h5", lambda file: None)
    store = TokenStore(path)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(InputError, match=r"s\.h5: damaged: .*make it again: dna-bigbird tokenize"):
        store.document(0)
