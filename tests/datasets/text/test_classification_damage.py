"""Damaged files of classification and GLUE give documents or one line, whatever was damaged."""

import io
import random
import tarfile
import zipfile
from pathlib import Path

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.glue import read_glue
from tests.text_readers import read_classification

SIGNS = [b"\t", b"\n", b"\r", b'"', b"\0", b"\xff", b"<", b"&x;", b"{", b"[]", b",", b"9" * 30]
ARTICLES = "".join(f'<article id="{i}" title="T"><p>a {i}</p></article>\n' for i in range(9))
TRUTH = "".join(f'<article id="{i}" hyperpartisan="true"/>\n' for i in range(9))
XML = {
    f"{name}-x.xml": f'<?xml version="1.0" encoding="UTF-8"?>\n<articles>\n{body}</articles>\n'.encode()
    for name, body in (("articles", ARTICLES), ("ground-truth", TRUTH))
}
ROWS = "index\tsentence1\tsentence2\tlabel\n" + "0\tthe king\ta river\tentailment\n" * 9
LINES = '{"text": "the king", "label": "pos"}\n' * 9
STARS = '"5","she said ""fine"""\n' * 9


def zipped() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in XML.items():
            archive.writestr(name, content)
    return written.getvalue()


def tarred() -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        member = tarfile.TarInfo("RTE/train.tsv")
        member.size = len(ROWS)
        archive.addfile(member, io.BytesIO(ROWS.encode()))
    return written.getvalue()


def read_documents(name: str, path: Path) -> list:
    return read_classification(name, path, "train", splits=None)[0]


def read_rte(_: str, path: Path) -> list:
    return read_glue("rte", path, "train")[0]


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Cut, repeat, put in or change some bytes."""
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 3, 20))):
        place, choice = rng.randrange(len(changed) + 1), rng.random()
        if choice < 0.3:
            del changed[place : place + rng.randrange(1, 9)]
        elif choice < 0.6:
            changed[place:place] = rng.choice(SIGNS)
        elif choice < 0.8 and changed:
            changed[place % len(changed)] = rng.randrange(256)
        elif choice < 0.9:
            del changed[place:]
        else:
            changed[place:place] = changed[:200]
    return bytes(changed)


CASES = {
    "JSON lines": ("imdb", {"train.jsonl": LINES.encode()}, "train.jsonl", read_documents),
    "CSV": ("yelp5", {"train.csv": STARS.encode()}, "train.csv", read_documents),
    "XML": ("hyperpartisan", XML, "", read_documents),
    "zip": ("hyperpartisan", {"a.zip": zipped()}, "a.zip", read_documents),
    "zip in a folder": ("hyperpartisan", {"a.zip": zipped()}, "", read_documents),
    "TSV": ("rte", {"train.tsv": ROWS.encode()}, "", read_rte),
    "tar": ("rte", {"glue.tar.gz": tarred()}, "glue.tar.gz", read_rte),
}


@pytest.mark.parametrize("case", CASES)
def test_whatever_is_damaged(tmp_path, case):
    name, files, path, read = CASES[case]
    told, num_read = [], 0
    for seed in range(120):
        rng = random.Random(seed)
        for file, content in files.items():
            (tmp_path / file).write_bytes(damaged(content, rng) if seed else content)
        try:
            found = read(name, tmp_path / path)
        except InputError as error:
            told.append(str(error))
        else:
            num_read += len(found) > 0
        if not seed:
            assert num_read == 1  # undamaged
    assert num_read + len(told) == 120
    assert all(line.startswith(str(tmp_path)) and "\n" not in line for line in told)
    assert len(told) > 10
