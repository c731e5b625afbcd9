"""Any bytes as an archive of text: the documents that were packed, or one line of error and no file."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.datasets.text.test_unpacking import archives
from tests.fuzz.harness import bounded, many, run_to_file
from tests.fuzz.inputs import edited

FILES = {
    "aclImdb/train/pos/0_9.txt": b"a good film " * 20,
    "aclImdb/train/neg/1_2.txt": "never again, naïve 😀".encode(),
    "aclImdb/train/neg/2_3.txt": gzip.compress(b"dull and long " * 30, mtime=0),
    "aclImdb/train/unsup/3_0.txt": b"nobody reads this",
    "aclImdb/README": b"\xff\xfe no text",
}
TEXTS = ["a good film " * 20, "never again, naïve 😀", "dull and long " * 30]
FORMS = archives(FILES)
CHANGED = st.one_of(
    *(st.tuples(st.just(form), edited(st.just(content))) for form, content in FORMS.items())
)


def documents(data, output, set_name="imdb"):
    return run_to_file(
        "text", "documents", "--set", set_name, "--data", data,
        "--max_unpacked_gib", 0.01, output=output,
    )  # fmt: skip


def lines_of(output) -> list[str]:
    return [json.loads(line)["text"] for line in output.read_text().splitlines()]


@pytest.fixture(scope="module")
def check(folders):
    read, written = folders

    def check_archive(changed: tuple[str, bytes]):
        form, content = changed
        path, output = read / "archive", written / "documents.jsonl"
        path.write_bytes(content)
        outcome = documents(path, output)
        if outcome.status == 2:
            assert str(path) in outcome.error
        elif form != "tar":  # which alone has no checksum of its contents
            assert set(lines_of(output)) <= set(TEXTS)
            if form in ("gz", "bz2", "xz"):
                assert sorted(lines_of(output)) == sorted(TEXTS)

    return check_archive


@pytest.mark.parametrize("form", FORMS)
def test_unchanged(folders, form):
    read, written = folders
    (read / "archive").write_bytes(FORMS[form])
    assert documents(read / "archive", written / "documents.jsonl").status == 0
    assert sorted(lines_of(written / "documents.jsonl")) == sorted(TEXTS)


@bounded(100)
@given(changed=CHANGED)
def test_any_change_of_an_archive(check, changed):
    check(changed)


@pytest.mark.slow
def test_thousands_of_changes(check, start):
    many(check, CHANGED, examples=3000, start=start)
