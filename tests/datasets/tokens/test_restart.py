"""A killed run goes on with its finished parts and ends with the bytes of an undisturbed one."""

import subprocess
import sys
from pathlib import Path

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.locks import kernel_lock
from dna_bigbird.corpus import token_store_writer
from dna_bigbird.corpus.document_file import write_documents
from dna_bigbird.corpus.token_store_writer import write_token_store


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(token_store_writer, "DOCUMENTS_PER_PART", 8)


@pytest.fixture
def made(monkeypatch) -> list[int]:
    """The number of documents of every part that is made in this process."""
    found = []
    make = token_store_writer.tokenize_documents

    def counted(documents, *inputs):
        found.append(len(documents))
        return make(documents, *inputs)

    monkeypatch.setattr(token_store_writer, "tokenize_documents", counted)
    return found


def write(corpus, path: Path, documents=None, **options) -> bytes:
    documents = corpus.documents if documents is None else documents
    write_token_store(path, documents, corpus.genome, corpus.tokenizer, **options)
    return path.read_bytes()


def interrupted(documents, count):
    yield from documents[:count]
    raise KeyboardInterrupt("on purpose")


def interrupt(corpus, path: Path, count: int, key: str = "k") -> Path:
    with pytest.raises(KeyboardInterrupt, match="on purpose"):
        write(corpus, path, interrupted(corpus.documents, count), restart_key=key)
    assert not path.exists()
    return path.with_name(f".{path.name}.parts")


def parts_of(documents) -> int:
    return -(-len(documents) // 8)


def test_an_interrupted_run_goes_on(toy_corpus, tmp_path, small_parts, made):
    whole = write(toy_corpus, tmp_path / "whole.h5")
    parts = interrupt(toy_corpus, tmp_path / "s.h5", 27)
    assert sorted(p.name for p in parts.glob("*.npz")) == ["000000.npz", "000001.npz", "000002.npz"]
    made.clear()
    assert write(toy_corpus, tmp_path / "s.h5", restart_key="k") == whole
    assert len(made) == parts_of(toy_corpus.documents) - 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.h5", "whole.h5"]


@pytest.mark.parametrize("key", ["other", ""])
def test_parts_of_other_inputs_are_not_used(toy_corpus, tmp_path, small_parts, made, capsys, key):
    interrupt(toy_corpus, tmp_path / "s.h5", 16)
    made.clear()
    write(toy_corpus, tmp_path / "s.h5", restart_key=key)
    assert len(made) == parts_of(toy_corpus.documents)
    assert "s.h5.parts: 2 parts of another run deleted" in capsys.readouterr().err


def test_parts_of_another_size_are_not_used(toy_corpus, tmp_path, small_parts, monkeypatch):
    whole = write(toy_corpus, tmp_path / "whole.h5")
    interrupt(toy_corpus, tmp_path / "s.h5", 24)
    monkeypatch.setattr(token_store_writer, "DOCUMENTS_PER_PART", 5)
    again = write(toy_corpus, tmp_path / "s.h5", restart_key="k")
    assert len(again) == len(whole)


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_part_is_made_again(toy_corpus, tmp_path, small_parts, made, damage):
    whole = write(toy_corpus, tmp_path / "whole.h5")
    path = interrupt(toy_corpus, tmp_path / "s.h5", 16) / "000001.npz"
    content = bytearray(path.read_bytes())
    content[400] ^= 1
    path.write_bytes({"cut": content[:300], "changed": content, "empty": b""}[damage])
    made.clear()
    assert write(toy_corpus, tmp_path / "s.h5", restart_key="k") == whole
    assert len(made) == parts_of(toy_corpus.documents) - 1


def test_a_part_of_another_key_that_comes_late_is_not_used(toy_corpus, tmp_path, small_parts, made):
    """As a worker whose parent was killed may still write it."""
    whole = write(toy_corpus, tmp_path / "whole.h5")
    old = interrupt(toy_corpus, tmp_path / "s.h5", 16, key="old") / "000001.npz"
    late = old.read_bytes()
    folder = interrupt(toy_corpus, tmp_path / "s.h5", 8, key="new")
    (folder / "000001.npz").write_bytes(late)
    made.clear()
    assert write(toy_corpus, tmp_path / "s.h5", restart_key="new") == whole
    assert len(made) == parts_of(toy_corpus.documents) - 1


def test_a_second_process_is_refused(toy_corpus, tmp_path):
    with (
        kernel_lock(tmp_path / ".s.h5.parts" / ".lock", "busy"),
        pytest.raises(InputError, match=r"s\.h5: another process writes this file now"),
    ):
        write(toy_corpus, tmp_path / "s.h5")
    write(toy_corpus, tmp_path / "s.h5")


SCRIPT = """
import sys
from pathlib import Path
from dna_bigbird.corpus.document_file import iter_document_file
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.corpus import token_store_writer
from dna_bigbird.corpus.token_store_writer import write_token_store
from dna_bigbird.genome import Genome

def documents():
    for number, document in enumerate(iter_document_file(Path("d.bed.gz"))):
        if number % 8 == 0:
            print(number // 8, flush=True)
        yield document

if __name__ == "__main__":
    token_store_writer.DOCUMENTS_PER_PART = 8
    genome, tokenizer = Genome(sys.argv[1]), DnaTokenizer.from_file("m.model")
    write_token_store(
        Path("s.h5"), documents(), genome, tokenizer, workers=int(sys.argv[2]), restart_key="k"
    )
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_several_moments(toy_corpus, tmp_path, small_parts, made, workers):
    """Each kill comes when another part is begun; each run goes further with the parts before."""
    documents = toy_corpus.documents * 4
    whole = write(toy_corpus, tmp_path / "whole.h5", documents)
    write_documents(tmp_path / "d.bed.gz", documents)
    (tmp_path / "m.model").write_bytes(toy_corpus.tokenizer.model_bytes)
    (tmp_path / "script.py").write_text(SCRIPT)
    folder, found = tmp_path / ".s.h5.parts", 0
    total = parts_of(documents)
    for moment in (0, total // 4, total // 2, total - 1):
        command = [sys.executable, "script.py", toy_corpus.genome.path, str(workers)]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
            for _ in range(moment + 1):
                process.stdout.readline()
            process.kill()
            process.stdout.read()  # ends when the last worker has gone
        assert not (tmp_path / "s.h5").exists()
        before, found = found, len(list(folder.glob("*.npz")))
        assert found >= before
    assert found >= total // 2 - 1
    made.clear()
    assert write(toy_corpus, tmp_path / "s.h5", documents, restart_key="k") == whole
    assert len(made) == total - found
    assert not folder.exists()
