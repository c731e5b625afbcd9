"""Reads damaged copies of our HDF5 files: the same content as the intact one, or one InputError.

`python -m tests.fuzz.hdf5_child FOLDER FORMAT SEED READS COMMANDS`, a process of its own because
the HDF5 library is C. Each input lies in FOLDER before it is read, so a process that dies leaves
the one that killed it.
"""

import contextlib
import io
import random
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

from dna_bigbird.cli.main import main as command_line
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import sha256_of
from dna_bigbird.corpus.documents import DocumentConfig
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.token_store_writer import write_token_store
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.labelled.deepsea.mat_files import MatFile
from dna_bigbird.labelled.labelled_set import LabelledData, LabelledSet, write_labelled_set
from dna_bigbird.labelled.scores import LabelScores, read_scores, write_scores
from dna_bigbird.prediction.writers.attributions import ATTRIBUTIONS, read_attributions
from dna_bigbird.text.data.store import TextStore, write_text_store
from tests.fuzz.crash_child import limit_memory
from tests.text_vocabulary import tiny_text_tokenizer
from tests.toy_corpus import build_documents


def genome_in(folder: Path) -> Genome:
    """A random genome of two chromosomes."""
    path = folder / "toy.fa"
    rng = np.random.default_rng(0)
    if not path.exists():
        bases = [(name, "".join(rng.choice(list("ACGTacgt"), 9000))) for name in ("chr1", "chr2")]
        path.write_text("".join(f">{name}\n{text}\n" for name, text in bases))
    return Genome(path)


def make_store(folder: Path, path: Path) -> None:
    genome = genome_in(folder)
    config = DocumentConfig(
        passes=2, max_start_bp=300, min_sentences=4, max_sentences=8,
        min_sentence_bp=50, max_sentence_bp=100,
    )  # fmt: skip
    documents = build_documents(genome, [], [], config, seed=0)
    texts = [text for document in documents for text in document.texts(genome)]
    model = train_tokenizer(texts, TokenizerConfig(vocab_size=100))
    (folder / "bpe.model").write_bytes(model)
    write_token_store(
        path, documents, genome, DnaTokenizer.from_bytes(model),
        assembly="toy", attributes={"genome_sha256": sha256_of(genome.path)},
    )  # fmt: skip


def read_store(path: Path, folder: Path) -> object:
    store = TokenStore(path)
    store.verify()
    numbers = range(store.num_documents)
    return (
        sorted((name, str(value)) for name, value in store.attributes.items()),
        [store.document(d).tolist() for d in numbers],
        [store.sentence_interval(d, store.num_sentences(d) - 1) for d in numbers],
    )


def make_text(folder: Path, path: Path) -> None:
    write_text_store(path, ["the sun is red", "a dog", ""], tiny_text_tokenizer(), "0" * 64)


def read_text(path: Path, folder: Path) -> object:
    store = TextStore(path)
    plain = (store.tokenizer_sha256, store.source_sha256, store.checksum, store.num_empty_documents)
    arrays = (store.document_offsets, store.counts, store.tokens(0, store.num_tokens))
    return plain, [array.tolist() for array in arrays]


def make_set(folder: Path, path: Path) -> None:
    rng = np.random.default_rng(1)
    data = LabelledData(
        task="promoter", window_bp=60, label_names=["p"], label_groups=["promoter"],
        intervals=[Interval(f"chr{1 + i % 2}", 100 * i, 100 * i + 60, "+-"[i % 2]) for i in range(40)],
        names=[f"G_{i}" for i in range(40)], labels=(np.arange(40) % 2)[:, None],
        split=np.array([0, 0, 0, 0, 1, 1, 2, 2] * 5), negatives="random_base",
        sequences=np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (20, 60))],
        stored=np.array([i // 2 if i % 2 == 0 else -1 for i in range(40)]), pair=np.arange(40) // 2,
    )  # fmt: skip
    write_labelled_set(
        path, data, genome_in(folder), assembly="toy", command="x", inputs={"genome": "0"}
    )


def read_set(path: Path, folder: Path) -> object:
    data = LabelledSet(path, genome_in(folder))
    rows = range(len(data))
    plain = ("task", "assembly", "negatives", "window_bp", "bin_bp", "command", "counts", "inputs")
    names = ("label_names", "label_groups", "label_cells", "label_targets")
    return (
        [getattr(data, name) for name in (*plain, *names)],
        [(data.interval(i), data.name(i), data.sequence(i)) for i in rows],
        [array.tolist() for array in (data.labels, data.split, data.pairs)],
    )


def make_scores(folder: Path, path: Path) -> None:
    values = np.random.default_rng(2).random((50, 2), dtype=np.float32)
    write_scores(path, LabelScores("kmer", "text", ["a", "b"], np.arange(50), values, "0" * 64))


def read_all_scores(path: Path, folder: Path) -> object:
    scores = read_scores(path)
    plain = (scores.name, scores.description, scores.label_names, scores.set_sha256)
    return plain, scores.rows.tolist(), scores.values.tolist()


def make_mat(folder: Path, path: Path) -> None:
    with h5py.File(path, "w", userblock_size=512) as file:
        windows = np.zeros((1000, 4, 8), np.uint8)
        labels = np.random.default_rng(3).integers(0, 2, (919, 8), np.uint8)
        file.create_dataset("trainxdata", data=windows, chunks=(1000, 4, 2), compression="gzip")
        file.create_dataset("traindata", data=labels, chunks=(919, 4), compression="gzip")


def read_mat(path: Path, folder: Path) -> None:
    """The published file has no checksums, so another content is not noticed here."""
    file = MatFile(path, "train")
    for start, end in file.slabs():
        file.read(start, end)


def make_attributions(folder: Path, path: Path) -> None:
    rng = np.random.default_rng(4)
    with h5py.File(path, "w") as file:
        file.attrs.update(ATTRIBUTIONS.identity())
        file.attrs.update({"label": "a", "assembly": "toy"})
        bases = np.eye(4, dtype=np.int8)[rng.integers(0, 4, (9, 20))]
        arrays = {
            "input_seqs": bases, "hyp_scores": rng.random((9, 20, 4), dtype=np.float32),
            "rows/sequence": np.array([b"chr1"] * 9), "rows/start": np.arange(9), "rows/end": np.arange(9) + 20,
        }  # fmt: skip
        for name, values in arrays.items():
            file.create_dataset(name, data=values, chunks=True, compression="gzip", shuffle=True)


def read_one_attribution(path: Path, folder: Path) -> None:
    """These files have no checksums, so another content is not noticed."""
    windows = read_attributions(path, middle_bp=10)
    assert windows.scores.shape == (len(windows.sequences), windows.bases.shape[1])
    assert len(windows.starts) == len(windows.ends) == len(windows.sequences)


FORMATS = {
    "store": (make_store, read_store),
    "text": (make_text, read_text),
    "set": (make_set, read_set),
    "scores": (make_scores, read_all_scores),
    "mat": (make_mat, read_mat),
    "attributions": (make_attributions, read_one_attribution),
}
COMMANDS = {
    "store": [
        "info {path} --format json",
        "info {path} --verify",
        "token-statistics --store {path} --genome {folder}/toy.fa --tokenizer {folder}/bpe.model "
        "--output {folder}/out",
    ],
    "set": [
        "info {path} --format json",
        "leakage --genome {folder}/toy.fa --data {path} --output {folder}/out",
    ],
}
"""Commands that write nothing but `out`; others are tested with less in tests/cli."""


def changed(content: bytes, draw: random.Random) -> bytes:
    """Flip one bit, or cut the file off."""
    if draw.random() < 0.1:
        return content[: draw.randrange(len(content))]
    position = draw.randrange(len(content))
    # Half of them where the structure is: at the start.
    if draw.random() < 0.5:
        position = draw.randrange(min(len(content), 8000))
    flipped = bytearray(content)
    flipped[position] ^= 1 << draw.randrange(8)
    return bytes(flipped)


def run_command(line: str, folder: Path) -> tuple[int, str, bytes, list[str]]:
    """Return exit status, standard output, the file written, and lines of error."""
    output = folder / "out"
    output.unlink(missing_ok=True)
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            command_line(line.split())
        except SystemExit as stop:
            status = stop.code
    written = output.read_bytes() if output.exists() else b""
    errors = [x for x in err.getvalue().splitlines() if not x.startswith("dna-bigbird: note: ")]
    return status, out.getvalue(), written, errors


def check_commands(path: Path, folder: Path, lines: list[str]) -> Callable[[], bool]:
    """Return a function that runs the next command; it returns True if the file was refused."""
    lines = [line.format(path=path, folder=folder) for line in lines]
    intact = {line: run_command(line, folder)[:3] for line in lines}
    assert all(result[0] == 0 for result in intact.values()), intact
    turn = iter(range(10**9))

    def check() -> bool:
        line = lines[next(turn) % len(lines)]
        *result, errors = run_command(line, folder)
        if result[0] == 0:
            assert tuple(result) == intact[line], line
            return False
        assert result == [2, "", b""], (line, result, errors)
        assert len(errors) == 1, (line, errors)
        assert errors[0].startswith("dna-bigbird: error: "), (line, errors)
        assert str(path) in errors[0], (line, errors)
        return True

    return check


def check_reader(path: Path, folder: Path, read: Callable) -> Callable[[], bool]:
    """Return a function that reads the file; it returns True if the file was refused."""
    intact = read(path, folder)

    def check() -> bool:
        message = None
        try:
            content = read(path, folder)
        except InputError as error:
            message = str(error)
        if message is None:
            assert content == intact, "other content"
            return False
        assert str(path) in message, message
        assert "\n" not in message, message
        return True

    return check


def main() -> None:
    """Print how many inputs were refused."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    start, reads, commands = map(int, sys.argv[3:])
    make, read = FORMATS[name]
    path = folder / f"{name}.h5"
    make(folder, path)
    content, refused = path.read_bytes(), 0
    checks = [(check_reader(path, folder, read), reads)]
    if name in COMMANDS:
        checks.append((check_commands(path, folder, COMMANDS[name]), commands))
    limit_memory()
    for check, count in checks:
        for number in range(count):
            path.unlink()  # never in place: HDF5 may still have the file before open
            path.write_bytes(changed(content, random.Random(start + number)))
            refused += check()
    print(refused)


if __name__ == "__main__":
    main()
