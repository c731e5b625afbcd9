"""The five classification sets and one's own, in their native layouts; and what is wrong with them."""

import csv
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.classification import READERS, ClassificationOptions
from dna_bigbird.text.data.classification_files import SPLITS, HashedSplits
from tests.text_readers import read_classification

SHARES = HashedSplits.parse("80/10/10", seed=0)


def read(name, path, split="train", splits=SHARES, **given):
    return read_classification(name, path, split, splits=splits, **given)[0]


def all_splits(name, path, splits=SHARES):
    """The ids of every split; those that are empty would be refused."""
    return {split: {each.id for each in read(name, path, split, splits)} for split in SPLITS}


def write_lines(path: Path, items: list[dict]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def packed(folder: Path, target: Path) -> Path:
    with tarfile.open(target, "w:gz") as archive:
        archive.add(folder, arcname=folder.name)
    return target


@pytest.fixture
def imdb(tmp_path):
    for part in ("train", "test"):
        for label in ("pos", "neg"):
            folder = tmp_path / "aclImdb" / part / label
            folder.mkdir(parents=True)
            for i in range(20):
                (folder / f"{i}_8.txt").write_text(f"{part} {label} {i}<br />é")
    unsup = tmp_path / "aclImdb/train/unsup"
    unsup.mkdir()
    (unsup / "0_0.txt").write_text("no label")
    return tmp_path / "aclImdb"


def test_imdb_holds_validation_out_of_its_training_reviews(imdb):
    found = all_splits("imdb", imdb)
    assert {id_.split("/")[0] for id_ in found["test"]} == {"test"}
    assert len(found["test"]) == 40
    assert found["train"] | found["validation"] == {
        f"train/{label}/{i}_8" for label in ("pos", "neg") for i in range(20)
    }
    assert not found["train"] & found["validation"]
    review = next(each for each in read("imdb", imdb, "test") if each.id == "test/neg/3_8")
    assert (review.text, review.label) == ("test neg 3<br />é", "neg")


def test_an_archive_gives_what_the_folder_gives(imdb, tmp_path):
    archive = packed(imdb, tmp_path / "aclImdb_v1.tar.gz")
    for split in SPLITS:
        assert read("imdb", archive, split) == read("imdb", imdb, split)
    assert read("imdb", imdb.parent, "train") == read("imdb", imdb, "train")


def test_without_shares_all_of_the_training_set_is_taken(imdb):
    assert (
        len(read("imdb", imdb, "train", None)) == len(read("imdb", imdb, "validation", None)) == 40
    )


def test_real_reviews(real_data):
    reviews = read("imdb", real_data / "nlp/imdb/imdb_3.jsonl", "test")
    assert [each.label for each in reviews] == ["pos", "pos", "neg"]
    assert reviews[0].id == "test_596"
    assert reviews[0].text.startswith("I have not seen this movie since 1979")


def test_yelp_undoes_its_escapes(tmp_path):
    r"""Quotes doubled, line ends as \n, no header."""
    text = 'She said "fine",\nand left.'
    with open(tmp_path / "test.csv", "w", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([["5", text.replace("\n", r"\n")], ["1", "bad"]])
    rows = [f'"{1 + i % 5}","train {i}"' for i in range(40)]
    (tmp_path / "train.csv").write_text("\n".join(rows) + "\n")
    assert [(each.id, each.text, each.label) for each in read("yelp5", tmp_path, "test")] == [
        ("test-1", text, "5"),
        ("test-2", "bad", "1"),
    ]
    found = all_splits("yelp5", tmp_path)
    assert len(found["train"] | found["validation"]) == len(found["train"]) + len(
        found["validation"]
    )
    assert len(read("yelp5", tmp_path / "train.csv", "validation")) == 40


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('"6","x"', r"train\.csv:2: found \['6', 'x'\]; expected two columns, 1 to 5 stars"),
        ('"3"', r"train\.csv:2: found \['3'\]; expected two columns"),
        ('"3","x', r"train\.csv:2: not valid CSV"),
    ],
)
def test_a_wrong_row_of_yelp_is_named(tmp_path, line, message):
    (tmp_path / "train.csv").write_text(f'"1","good"\n{line}')
    with pytest.raises(InputError, match=message):
        read("yelp5", tmp_path)


def test_a_paper_of_two_subjects_is_in_one_split(tmp_path):
    for subject in ("cs.AI", "math.GR"):
        (tmp_path / subject).mkdir()
        for i in range(60):
            (tmp_path / subject / f"1305.{i:04d}.txt").write_text(f"{subject} {i}")
    found = {split: read("arxiv-topics", tmp_path, split) for split in SPLITS}
    papers = {split: {each.id.split("/")[1] for each in found[split]} for split in SPLITS}
    assert sum(map(len, papers.values())) == 60
    assert sum(map(len, found.values())) == 120
    one = found["test"][0]
    assert one.id.startswith(f"{one.label}/")


def test_hyperpartisan_joins_text_and_truth(real_data):
    """Filler text in the published XML; 'Nunc gravida' is a link within a sentence."""
    archive = real_data / "nlp/format_only/hyperpartisan_byarticle_filler_text.tar.gz"
    found = read("hyperpartisan", archive, splits=None)
    assert [(each.id, each.label) for each in found] == [
        ("0000001", "true"), ("0000002", "true"), ("0000003", "true")
    ]  # fmt: skip
    assert found[2].text.startswith("Example article 3 This is a sample article which will contain")
    assert "sit amet nibh. Nunc gravida, tellus vel" in found[2].text
    assert "<" not in found[2].text


ARTICLES = '<articles><article id="1" title="T"><p>a &amp; b</p><p>c</p></article></articles>'
TRUTH = '<articles><article id="1" hyperpartisan="false"/></articles>'


def test_hyperpartisan_from_the_published_zip_files(tmp_path):
    for name, content in (("articles-x", ARTICLES), ("ground-truth-x", TRUTH)):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            archive.writestr(f"{name}.xml", content)
    (found,) = read("hyperpartisan", tmp_path, splits=None)
    assert (found.text, found.label) == ("T a & b c", "false")


@pytest.mark.parametrize(
    ("articles", "truth", "message"),
    [
        (ARTICLES, None, "articles but no ground-truth-"),
        (None, TRUTH, "no articles-"),
        (
            ARTICLES,
            TRUTH.replace('"1"', '"2"'),
            r"articles-x\.xml: article '1' has no ground truth",
        ),
        (ARTICLES, TRUTH.replace("false", "no"), "hyperpartisan is 'no'; expected true or false"),
        (ARTICLES[:-9], TRUTH, r"articles-x\.xml:1: not valid XML"),
        ("<html/>", TRUTH, "found <html>; expected <articles>"),
        (ARTICLES.replace(' id="1"', ""), TRUTH, "article 0 has no id"),
    ],
)
def test_hyperpartisan_files_that_do_not_fit(tmp_path, articles, truth, message):
    for name, content in (("articles-x", articles), ("ground-truth-x", truth)):
        if content is not None:
            (tmp_path / f"{name}.xml").write_text(content)
    with pytest.raises(InputError, match=message):
        read("hyperpartisan", tmp_path, splits=None)


@pytest.mark.parametrize("split", SPLITS)
def test_documents_without_a_label_are_all_predicted(tmp_path, split):
    (tmp_path / "articles-x.xml").write_text(ARTICLES)
    (found,) = read("hyperpartisan", tmp_path, split, gold=False)
    assert found.label is None
    path = write_lines(tmp_path / "new.jsonl", [{"text": f"text {i}"} for i in range(9)])
    assert len(read("json-lines", path, split, gold=False)) == 9


def test_patents_of_the_published_folders(real_data):
    archive = real_data / "nlp/format_only/big_patent_filler_text.tar.gz"
    found = read("patents", archive, "validation")
    assert [each.label for each in found] == list("abcdefghy")
    assert found[0].text == "dummy description"


def test_json_lines_are_split_by_id_or_text(tmp_path):
    items = [{"text": f"text {i % 50}", "label": i % 3} for i in range(100)]
    path = write_lines(tmp_path / "all.jsonl", items)
    found = {split: read("json-lines", path, split) for split in SPLITS}
    texts = {split: {each.text for each in found[split]} for split in SPLITS}
    assert sum(map(len, texts.values())) == 50  # equal texts stay together
    assert found["train"][0].label in {"0", "1", "2"}
    # a file named after a split, and that file in its folder, are taken whole
    path.rename(tmp_path / "dev.jsonl")
    assert len(read("json-lines", tmp_path / "dev.jsonl")) == 100
    assert len(read("json-lines", tmp_path, "validation")) == 100


def test_a_hash_and_nothing_else_decides_a_split():
    names = [f"document {i}" for i in range(5000)]
    splits = [SHARES.split_of(name) for name in names]
    for split, share in zip(SPLITS, (0.8, 0.1, 0.1), strict=True):
        assert splits.count(split) / 5000 == pytest.approx(share, abs=0.02)
    assert SHARES.split_of("document 7") == HashedSplits((0.8, 0.1, 0.1), 0).split_of("document 7")
    other = [HashedSplits((0.8, 0.1, 0.1), 1).split_of(name) for name in names]
    assert other != splits
    within = SHARES.within_train()
    assert within.shares == pytest.approx((8 / 9, 1 / 9, 0))
    assert {within.split_of(name) for name in names} == {"train", "validation"}


@pytest.mark.parametrize("text", ["80/20", "80/10/20", "a/b/c", "110/-10/0", "0/50/50"])
def test_shares_that_are_none_are_refused(text):
    with pytest.raises(ValueError, match=r"--options\.split_shares .* expected the percentages"):
        ClassificationOptions(split_shares=text)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([{"text": "x", "label": "good"}], r"has the label 'good'; expected one of neg, pos"),
        ([{"text": " ", "label": "pos"}], "'line-1' is empty; expected text.*skip_empty true"),
        ([{"label": "pos"}], r"train\.jsonl:1: no 'text'; expected a text"),
        ([{"text": "x"}], r"train\.jsonl:1: no 'label'; expected a text or a whole number"),
        ([{"text": "x", "label": "pos", "id": 1}] * 2, "id '1' comes 2 times"),
        ([], "no document for the split 'train'"),
    ],
)
def test_wrong_lines_are_named(tmp_path, items, message):
    path = write_lines(tmp_path / "train.jsonl", items)
    with pytest.raises(InputError, match=message):
        read("imdb", path)


def test_empty_documents_are_counted_if_wanted(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", [{"text": t, "label": "pos"} for t in ("", "x", "\n")])
    documents, counts = read_classification("imdb", path, "train", splits=None, skip_empty=True)
    assert (len(documents), counts) == (1, {"document is empty": 2})


@pytest.mark.parametrize("name", READERS)
def test_other_files_give_one_line(tmp_path, name):
    with pytest.raises(InputError, match="no such file or folder"):
        read(name, tmp_path / "absent")
    with pytest.raises(InputError, match=r"expected|no file"):
        read(name, tmp_path)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n")
    with pytest.raises(InputError, match=r"expected|no file|cannot read it"):
        read(name, tmp_path / "picture.png")
