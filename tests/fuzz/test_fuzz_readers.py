"""Any bytes as a file of any text reader, bigWig, Parquet or list of labels: an answer, or one line with its name."""

import itertools
import warnings
from collections.abc import Callable

import pytest
from hypothesis import strategies as st

from dna_bigbird.bench.suites.tables import read_table
from dna_bigbird.core.errors import InputError
from dna_bigbird.labelled.sequences.files import SequenceColumns, SequenceFile
from dna_bigbird.labelled.sequences.labels import encode_labels
from tests.bgzip_blocks import bgzip
from tests.fuzz.harness import few, many, run_to_file
from tests.fuzz.inputs import damaged, edited
from tests.report.browser_files import RUNS, write_bigwig, write_files
from tests.test_text_readers import GTF, READERS, Reader

GFF = "##gff-version 3\nchr1\tx\tgene\t5\t90\t.\t-\t.\tID=G;Name=N%20x\nchr1\tx\tmRNA\t5\t90\t.\t-\t.\tID=T;Parent=G\n"
TABLE = 'sequence,label\nACGT,a\n"ACGG",b\nTTGT,a\nNNNN,b\n'


def labels(path):
    return encode_labels(list(SequenceFile(path).rows(SequenceColumns(), None)), ["label"])


TEXTS = READERS | {
    "label table": Reader(TABLE, labels),
    "genes": Reader(GTF.replace("transcript\t", "gene\t", 1) + GTF, READERS["GTF"].read),
    "GFF3 genes": Reader(GFF, READERS["GFF3"].read),
}


def refusal(read: Callable[[], object]) -> str:
    """Return the line of a refused file, empty for one that is read; a warning is an error."""
    try:
        with warnings.catch_warnings(action="error"):
            read()
    except InputError as error:
        return str(error)
    return ""


@pytest.fixture(params=TEXTS)
def check(request, tmp_path):
    reader = TEXTS[request.param]
    path = tmp_path / f"y.{reader.name}"

    def check_file(content: bytes):
        path.write_bytes(content)
        message = refusal(lambda: reader.read(path))
        assert not message or path.name in message
        assert len(message) < 1000

    content = reader.content.encode()
    return check_file, damaged(st.one_of(st.just(content), st.just(bgzip(content, 30)[0])))


def test_any_text(check):
    check_file, contents = check
    few(check_file, contents, examples=60)


@pytest.mark.slow
def test_thousands_of_texts(check, start):
    check_file, contents = check
    many(check_file, contents, examples=3000, start=start)


@pytest.fixture(scope="module")
def browser(folders):
    """A function that shows one file, or the files of a folder, and the content of each format."""
    read, written = folders
    files = write_files(read)
    tracks = read / "tracks"
    tracks.mkdir()
    write_bigwig(tracks / "a.bw", RUNS)

    def show(path):
        outcome = run_to_file(
            "view", "--fasta", files.fasta, "--region", "chr1:101-1900", "--tracks", path,
            output=written / "page.html",
        )  # fmt: skip
        assert outcome.status == 0 or str(path) in outcome.error
        return outcome

    def check_file(name: str, content: bytes):
        if name == "labels.tsv":
            (tracks / name).write_bytes(content)
            return show(tracks)
        (read / f"changed{name}").write_bytes(content)
        return show(read / f"changed{name}")

    contents = {
        ".bw": files.runs.read_bytes(), ".bigwig": files.bases.read_bytes(), ".bed.gz": files.bed.read_bytes(),
        ".vcf": files.vcf.read_bytes(), ".gtf": files.gtf.read_bytes(), ".gff3": GFF.encode(),
        "labels.tsv": b"label\tfile\nA\ta.bw\nB b\ta.bw\n",
    }  # fmt: skip
    return check_file, contents


def changed(contents: dict[str, bytes]) -> st.SearchStrategy[tuple[str, bytes]]:
    """Name and content of one file; one of two is a bigWig."""
    bigwigs = {name: content for name, content in contents.items() if "w" in name}
    return st.one_of(
        *(
            st.tuples(st.just(name), edited(st.just(content)))
            for name, content in itertools.chain(contents.items(), bigwigs.items())
        )
    )


def test_every_good_file_is_shown(browser):
    check_file, contents = browser
    for name, content in contents.items():
        assert check_file(name, content).status == 0


def test_any_track(browser):
    check_file, contents = browser
    few(lambda file: check_file(*file), changed(contents), examples=60)


@pytest.mark.slow
def test_thousands_of_tracks(browser, start):
    check_file, contents = browser
    many(lambda file: check_file(*file), changed(contents), examples=2000, start=start)


@pytest.fixture
def parquet_file(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "x.parquet"
    table = {"sequence": ["ACGT", "AC", "é"] * 20, "label": list(range(60))}
    parquet.write_table(pyarrow.table(table), path)
    content = path.read_bytes()

    def check_file(content: bytes):
        path.write_bytes(content)
        message = refusal(lambda: list(read_table(path, ("sequence", "label"))))
        assert not message or path.name in message

    return check_file, edited(st.just(content))


def test_any_parquet(parquet_file):
    check_file, contents = parquet_file
    few(check_file, contents, examples=150)


@pytest.mark.slow
def test_thousands_of_parquet(parquet_file, start):
    check_file, contents = parquet_file
    many(check_file, contents, examples=3000, start=start)
