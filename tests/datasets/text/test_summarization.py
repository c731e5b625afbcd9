"""Readers of documents with summaries: real samples, native layouts, damaged files."""

import gzip
import hashlib
import io
import json
import tarfile

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.reading import holds_files
from dna_bigbird.text.data.summarization import (
    SummarizationOptions,
    SummaryExample,
    SummaryText,
    summary_rows,
)
from tests.datasets.text.test_unpacking import archives
from tests.text_readers import read_summaries
from tests.text_vocabulary import tiny_text_tokenizer

FORMS = archives({"a.txt": b"text"})


def json_lines(path, items):
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(json.dumps(item) + "\n" for item in items).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def archive(path, files):
    """Write a .tar.gz from names and contents."""
    with tarfile.open(path, "w:gz") as written:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            written.addfile(member, io.BytesIO(content))
    return path


def paper(number, **changes):
    return {
        "article_id": f"p{number}",
        "article_text": ["first  sentence .", "", "second ."],
        "abstract_text": ["<S> an abstract . </S>", "<S> of two . </S>"],
        "section_names": ["a"],
        "sections": [["other text"]],
    } | changes


@pytest.mark.parametrize(
    ("name", "path", "split", "count", "start", "end"),
    [
        (
            "arxiv",
            "arxiv-dataset",
            "train",
            2,
            "additive models @xcite",
            "support vector machine .",
        ),
        ("arxiv", "arxiv-dataset/val.txt.gz", "test", 2, None, None),
        ("pubmed", "pubmed-dataset", "validation", 2, None, None),
    ],
)
def test_real_papers(real_data, name, path, split, count, start, end):
    examples, counts = read_summaries(name, real_data / "nlp/scientific_papers" / path, split)
    assert len(examples) == count
    assert counts == {}
    for example in examples:
        assert len(example.document.split()) > 1000
        assert "<S>" not in example.summary
        assert "</S>" not in example.summary
        assert example.summary.count("\n") > 0
    if start:
        assert examples[0].id == "1405.3379"
        assert examples[0].document.startswith(start)
        assert examples[0].summary.endswith(end)
        assert examples[0].summary.count("\n") == 4


def test_paper_lines_and_names_of_splits(tmp_path):
    json_lines(tmp_path / "train.txt", [paper(1)])
    json_lines(tmp_path / "val.txt.gz", [paper(2)])
    (example,), _ = read_summaries("pubmed", tmp_path, "train")
    assert example.document == "first sentence .\nsecond ."
    assert example.summary == "an abstract .\nof two ."
    (example,), _ = read_summaries("arxiv", tmp_path, "validation")
    assert example.id == "p2"
    with pytest.raises(InputError, match=r"neither test\.txt nor test\.txt\.gz"):
        read_summaries("arxiv", tmp_path, "test")


def test_papers_without_abstract(tmp_path):
    item = paper(1)
    del item["abstract_text"]
    file = json_lines(tmp_path / "test.txt", [item, paper(2)])
    without, given = read_summaries("arxiv", file, "test", gold=False)[0]
    assert without.summary is None
    assert given.summary == "an abstract .\nof two ."
    with pytest.raises(InputError, match=r"test\.txt:1: no 'abstract_text'; expected a list"):
        read_summaries("arxiv", file, "test")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"article_text": "one text"},
            r"train\.txt:2: 'article_text' is 'one text', expected a li",
        ),
        (
            {"article_text": ["a", 3]},
            r"train\.txt:2: 'article_text' has int at position 1, expected",
        ),
        ({"article_id": None}, r"train\.txt:2: 'article_id' is None, expected a text"),
        (
            {"article_text": [" "]},
            r"train\.txt:2: the document of 'p2' is empty; .*skip_empty true",
        ),
        ({"abstract_text": ["<S>  </S>"]}, r"train\.txt:2: the summary of 'p2' is empty"),
    ],
)
def test_bad_papers(tmp_path, changes, message):
    file = json_lines(tmp_path / "train.txt", [paper(1), paper(2, **changes)])
    with pytest.raises(InputError, match=message):
        read_summaries("arxiv", file, "train")


def test_bad_json(tmp_path):
    (tmp_path / "train.txt").write_text(json.dumps(paper(1)) + "\n{'a'}\n")
    with pytest.raises(InputError, match=r"train\.txt:2: not valid JSON"):
        read_summaries("arxiv", tmp_path, "train")


def test_empty_ones_are_counted_on_demand(tmp_path):
    items = [paper(1), paper(2, article_text=[]), paper(3, abstract_text=[]), paper(4)]
    file = json_lines(tmp_path / "train.txt", items)
    examples, counts = read_summaries("arxiv", file, "train", skip_empty=True)
    assert [example.id for example in examples] == ["p1", "p4"]
    assert counts == {"document is empty": 1, "summary is empty": 1}
    examples, counts = read_summaries("arxiv", file, "train", gold=False, skip_empty=True)
    assert [example.summary is None for example in examples] == [False, True, False]
    json_lines(file, items[1:3])
    with pytest.raises(InputError, match=r"train\.txt: no example of arxiv \(train\) in it"):
        read_summaries("arxiv", file, "train", skip_empty=True)


def test_stories_of_cnn(real_data):
    path = real_data / "nlp/cnn_dailymail/cnn_stories_14.tar.gz"
    examples, counts = read_summaries("cnn-dailymail", path, "test")
    assert (len(examples), counts) == (14, {})
    first = examples[0]
    assert first.id == "017d27d00eb43678c15cb4a8dd4723a035323219"
    assert first.document.startswith("WASHINGTON (CNN) -- As he awaits a crucial progress report")
    assert first.document.endswith("E-mail to a friend .")
    assert first.summary.split("\n") == [
        "President Bush to address the Veterans of Foreign Wars on Wednesday .",
        "Bush to say that withdrawing from Vietnam emboldened today's terrorists .",
        "Speech will be latest White House attempt to try to reframe the debate over Iraq .",
    ]
    with tarfile.open(path) as stored:
        marks = [stored.extractfile(m).read().count(b"@highlight") for m in stored if m.isreg()]
    assert [len(example.summary.split("\n")) for example in examples] == marks


STORY = 'A caption\n\n"It ended."\n\n@highlight\n\nOne thing\n\n@highlight\n\nTwo things!\n'


def test_lists_of_addresses_choose_stories(tmp_path):
    """As the published lists: SHA-1 of an address names its story."""
    urls = [f"http://example.org/{i}" for i in range(4)]
    names = [hashlib.sha1(url.encode()).hexdigest() for url in urls]
    files = {f"cnn/stories/{name}.story": STORY.encode() for name in names}
    files["url_lists/all_val.txt"] = f"{urls[2]}\n{urls[0]}\n".encode()
    for path in (archive(tmp_path / "a.tar.gz", files), tmp_path / "folder"):
        if path.name == "folder":
            for name, content in files.items():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_bytes(content)
        examples, _ = read_summaries("cnn-dailymail", path, "validation")
        assert [example.id for example in examples] == [names[2], names[0]]
        assert examples[0].document == 'A caption .\n"It ended."'
        assert examples[0].summary == "One thing .\nTwo things!"
        assert len(read_summaries("cnn-dailymail", path, "train")[0]) == 4  # no list of train
    (path / "url_lists/all_val.txt").write_text("http://example.org/9\n")
    with pytest.raises(InputError, match=r"all_val\.txt:1: no [0-9a-f]{40}\.story for http"):
        read_summaries("cnn-dailymail", path, "validation")


def test_bad_stories(tmp_path):
    (tmp_path / "a.story").write_text("only text\n")
    with pytest.raises(InputError, match=r"a\.story: the summary of 'a' is empty"):
        read_summaries("cnn-dailymail", tmp_path, "train")
    assert read_summaries("cnn-dailymail", tmp_path, "test", gold=False)[0][0].summary is None
    (tmp_path / "a.story").rename(tmp_path / "a.txt")
    with pytest.raises(InputError, match=r"no file of the form <name>\.story"):
        read_summaries("cnn-dailymail", tmp_path, "train")


def patent(number, **changes):
    return {
        "publication_number": f"US-{number}",
        "abstract": "an abstract",
        "application_number": "x",
        "description": "a description",
    } | changes


def test_layout_of_bigpatent(real_data):
    """The registered sample has the published layout and filler for text."""
    path = real_data / "nlp/format_only/big_patent_filler_text.tar.gz"
    for split in ("train", "validation", "test"):
        examples, counts = read_summaries("bigpatent", path, split)
        assert (len(examples), counts) == (9, {})
        assert examples[0].summary == "dummy abstract"
        assert examples[0].document == "dummy description"


def test_patents_of_a_split(tmp_path):
    json_lines(tmp_path / "bigPatentData/train/a/0.gz", [patent(1)])
    with gzip.open(tmp_path / "bigPatentData/train/a/0.gz", "ab") as stream:
        item = patent(2, description="a\u2028b")  # a line separator, raw within the JSON text
        stream.write(json.dumps(item, ensure_ascii=False).encode() + b"\n")
    json_lines(tmp_path / "bigPatentData/train/y/0.gz", [patent(3)])
    json_lines(tmp_path / "bigPatentData/val/a/0.gz", [patent(4)])
    examples, _ = read_summaries("bigpatent", tmp_path, "train")
    assert [example.id for example in examples] == ["US-1", "US-2", "US-3"]
    assert examples[1].document == "a\nb"
    one = tmp_path / "bigPatentData/val/a/0.gz"
    assert read_summaries("bigpatent", one, "train")[0][0].id == "US-4"
    with pytest.raises(InputError, match=r"no file of the form test/<class letter>/<name>"):
        read_summaries("bigpatent", tmp_path, "test")
    json_lines(tmp_path / "bigPatentData/val/b/0.gz", [patent(5), {"abstract": "x"}])
    with pytest.raises(InputError, match=r"val/b/0\.gz:2: no '(publication_number|description)'"):
        read_summaries("bigpatent", tmp_path, "validation")
    one.write_bytes(one.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"val/a/0\.gz: damaged"):
        read_summaries("bigpatent", tmp_path, "validation")


def test_real_xsum(real_data):
    examples, counts = read_summaries("xsum", real_data / "nlp/xsum/xsum_5.jsonl", "train")
    assert (len(examples), counts) == (5, {})
    assert examples[0].summary == (
        "The Met Office has issued a yellow weather warning for ice across most of Wales."
    )
    assert examples[0].document.count("\n") == 3


@pytest.mark.parametrize("name", ["xsum", "bigpatent"])
@pytest.mark.parametrize(
    "content", [b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\0", b"PK\3\4", b"\x5d\0\0\xf0\xff" + b"\xff" * 40]
)
def test_the_start_of_an_archive_is_no_archive(tmp_path, name, content):
    """The last one is LZMA without a first mark, whose dictionary would take 4 GiB."""
    path = tmp_path / "data"
    path.write_bytes(content)
    with pytest.raises(InputError, match=str(path)):
        read_summaries(name, path, "train")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_an_archive_is_one(tmp_path, form):
    path = tmp_path / "data"
    path.write_bytes(FORMS[form])
    assert holds_files(path)


def test_a_folder_of_json_lines(tmp_path):
    json_lines(tmp_path / "train.jsonl", [{"document": "a", "summary": "b"}])
    json_lines(tmp_path / "test.jsonl", [{"id": 7, "document": "c", "summary": "d"}])
    assert read_summaries("xsum", tmp_path, "train")[0] == [SummaryExample("1", "a", "b")]
    assert read_summaries("xsum", tmp_path, "test")[0] == [SummaryExample("7", "c", "d")]
    forms = r"validation\.jsonl .* val\.source and val\.target .* <number>\.summary"
    with pytest.raises(InputError, match=f"no articles of the validation split; expected {forms}"):
        read_summaries("xsum", tmp_path, "validation")


SOURCE, TARGET = "first \u2028 article\r\nsecond\n", "one\ntwo"
PAIRS = [SummaryExample("1", "first\narticle", "one"), SummaryExample("2", "second", "two")]


def line_pairs(folder, split="train", source=SOURCE, target=TARGET):
    folder.mkdir(exist_ok=True)
    (folder / f"{split}.source").write_bytes(source.encode())
    (folder / f"{split}.target").write_bytes(target.encode())
    return folder


def test_xsum_as_lines_of_two_files(tmp_path):
    """U+2028 within a document ends no line, so it does not shift the summaries."""
    folder = line_pairs(line_pairs(tmp_path / "xsum"), "val", "third\n", "three\n")
    assert read_summaries("xsum", folder, "train")[0] == PAIRS
    assert read_summaries("xsum", folder / "train.source", "train")[0] == PAIRS
    third = [SummaryExample("1", "third", "three")]
    assert read_summaries("xsum", folder, "validation")[0] == third
    assert read_summaries("xsum", folder / "val.source", "validation")[0] == third
    files = {f"xsum/{path.name}": path.read_bytes() for path in folder.iterdir()}
    packed = archive(tmp_path / "xsum.tar.gz", files)
    assert read_summaries("xsum", packed, "train")[0] == PAIRS
    (folder / "val.source").rename(folder / "validation.source")
    (folder / "val.target").rename(folder / "validation.target")
    assert read_summaries("xsum", folder, "validation")[0] == third


def test_documents_of_two_files_without_the_summaries(tmp_path):
    folder = line_pairs(tmp_path)
    (folder / "train.target").unlink()
    for path in (folder, folder / "train.source"):
        found, _ = read_summaries("xsum", path, "train", gold=False)
        assert [(one.document, one.summary) for one in found] == [
            ("first\narticle", None),
            ("second", None),
        ]
    with pytest.raises(InputError, match=r"train\.target: no such file; expected the summaries of"):
        read_summaries("xsum", folder / "train.source", "train")
    with pytest.raises(InputError, match=r"no file 'train\.target' in it"):
        read_summaries("xsum", folder, "train")


def test_two_files_that_do_not_belong_together(tmp_path):
    folder = line_pairs(tmp_path, target="one\n")
    message = r"train\.target: 1 lines, .*train\.source has 2; expected one summary per document"
    for path in (folder, folder / "train.source"):
        with pytest.raises(InputError, match=message):
            read_summaries("xsum", path, "train")
    with pytest.raises(
        InputError, match=r"these are summaries; expected the documents: give .*source"
    ):
        read_summaries("xsum", folder / "train.target", "train")
    line_pairs(tmp_path, source=SOURCE.replace("second", " "))
    with pytest.raises(InputError, match=r"train\.source:2: the document of '2' is empty"):
        read_summaries("xsum", folder, "train")
    line_pairs(tmp_path / "other")
    with pytest.raises(InputError, match="expected one file of the train split"):
        read_summaries("xsum", tmp_path, "train")


BBC = (
    "[SN]URL[SN]\nhttp://x\n\n[SN]TITLE[SN]\nA title\n\n[SN]FIRST-SENTENCE[SN]\nIt is so.\n\n"
    "[SN]RESTBODY[SN]\nShare this with\nEmail\nBecause\nit was.\n"
)


def test_the_authors_folder_of_xsum(tmp_path):
    files = {f"bbc-summary-data/{i}.summary": BBC.encode() for i in (10, 11, 12)}
    splits = {"train": ["11"], "validation": ["12", "10"], "test": []}
    files["XSum-TRAINING-DEV-TEST-SPLIT-90-5-5.json"] = json.dumps(splits).encode()
    path = archive(tmp_path / "bbc.tar.gz", files)
    examples, _ = read_summaries("xsum", path, "validation")
    assert [example.id for example in examples] == ["12", "10"]
    assert examples[0].document == "Because\nit was."
    assert examples[0].summary == "It is so."
    del files["XSum-TRAINING-DEV-TEST-SPLIT-90-5-5.json"]
    assert len(read_summaries("xsum", archive(path, files), "train")[0]) == 3
    files["bbc-summary-data/10.summary"] = BBC.replace("TITLE", "HEAD").encode()
    with pytest.raises(InputError, match=r"10\.summary: no part \[SN\]TITLE\[SN\]"):
        read_summaries("xsum", archive(path, files), "train")
    files["XSum-TRAINING-DEV-TEST-SPLIT-90-5-5.json"] = b'{"train": ["7"]}'
    with pytest.raises(InputError, match=r"no 7\.summary; expected every listed article"):
        read_summaries("xsum", archive(path, files), "train")


@pytest.mark.parametrize("name", ["arxiv", "bigpatent", "cnn-dailymail", "xsum"])
def test_a_missing_path(tmp_path, name):
    with pytest.raises(InputError, match="no such f"):
        read_summaries(name, tmp_path / "none", "train")


STRANGE = (None, 3, 2.5, True, "", " ", "a\u2028b", "\ud800", [], ["a"], [1], ["\ud800"], {}, [[]])


@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("arxiv", paper(1)),
        ("bigpatent", patent(1)),
        ("xsum", {"id": "1", "document": "a document", "summary": "a summary"}),
    ],
)
def test_whatever_stands_in_a_file_is_rows_or_one_line(tmp_path, name, item):
    file = tmp_path / "train.txt"
    text = SummaryText(tiny_text_tokenizer(), SummarizationOptions(set=name))
    told, num_read = [], 0
    for key in item:
        for value in STRANGE:
            json_lines(file, [item | {key: value}])
            try:
                examples, _ = read_summaries(name, file, "train")
            except InputError as error:
                told.append(str(error))
            else:
                num_read += len(summary_rows(examples, text).rows)
    assert num_read + len(told) == len(item) * len(STRANGE)
    assert num_read > 0
    assert all(line.startswith(f"{file}:1: ") and "\n" not in line for line in told)
    assert len(told) > 0
