"""Made text: the layouts, the planted rules, read with json, csv, xml and gzip, not with our readers."""

import csv
import gzip
import hashlib
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from dna_bigbird.bundles.text_tasks import synthetic_text
from dna_bigbird.core.errors import InputError
from dna_bigbird.text.made.writing import made_files, write_made_text

EXAMPLES = 48
TWO_WORDS = {"neg": {"dreadful", "boring"}, "pos": {"wonderful", "moving"}}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "text"
    write_made_text(folder, seed=0, examples=EXAMPLES)
    return folder


def lines_of(path: Path) -> list[dict]:
    content = path.read_bytes()
    content = gzip.decompress(content) if path.suffix == ".gz" else content
    return [json.loads(line) for line in content.decode().splitlines()]


def test_equal_settings_give_equal_bytes_and_another_seed_others():
    first, again, other = (made_files(seed, EXAMPLES) for seed in (0, 0, 1))
    assert first == again
    changed = {name for name in first if first[name] != other.get(name)}
    assert {name.split("/")[0] for name in changed} >= set(synthetic_text())


def test_a_folder_of_other_files_is_not_replaced(tmp_path):
    (tmp_path / "letters.txt").write_text("mine")
    with pytest.raises(InputError, match=r"the folder holds letters\.txt, which no run"):
        write_made_text(tmp_path, seed=0, examples=EXAMPLES)


@pytest.mark.parametrize("split", ["train", "test"])
def test_imdb_says_words_of_its_class_only(made, split):
    files = sorted((made / "imdb/aclImdb" / split).rglob("*.txt"))
    assert len(files) == {"train": EXAMPLES, "test": EXAMPLES // 4}[split]
    for file in files:
        label, rating = file.parent.name, int(file.stem.split("_")[1])
        assert (rating > 5) == (label == "pos")
        words = set(file.read_text().replace(".", " ").split())
        other = "pos" if label == "neg" else "neg"
        assert words & TWO_WORDS[label]
        assert not words & TWO_WORDS[other]


def test_yelp_has_quoted_stars_and_texts(made):
    with open(made / "yelp5/train.csv", newline="") as stream:
        assert stream.read(3) == '"1"'
        stream.seek(0)
        rows = list(csv.reader(stream))
    assert {stars for stars, _ in rows} == set("12345")
    assert all(r"\n" in text for _, text in rows)


def test_articles_of_hyperpartisan_have_their_truth(made):
    articles, truth = (
        {
            x.get("id"): x
            for x in ET.parse(
                made / "hyperpartisan" / f"{name}-training-byarticle-20181122.xml"
            ).getroot()
        }
        for name in ("articles", "ground-truth")
    )
    assert articles.keys() == truth.keys()
    for name, article in articles.items():
        is_partisan = {"traitors", "shameful"} & set(
            "".join(article.itertext()).replace(".", " ").split()
        )
        assert bool(is_partisan) == (truth[name].get("hyperpartisan") == "true")


def test_columns_of_glue_are_those_of_the_real_rows(made, real_data, tmp_path):
    import tarfile

    with tarfile.open(real_data / "nlp/glue/glue_tiny.tar.gz") as archive:
        archive.extractall(tmp_path)
    compared = 0
    for mine in sorted((made / "glue").rglob("*.tsv")):
        theirs = tmp_path / "glue" / mine.parent.name / mine.name
        if theirs.exists():
            compared += 1
            first, real = (x.read_text().splitlines()[0].split("\t") for x in (mine, theirs))
            assert len(first) == len(real)
            if mine.parent.name != "CoLA":
                assert first == real
            widths = {len(line.split("\t")) for line in mine.read_text().splitlines()}
            assert widths == {len(first)}
    assert compared >= 20


def test_hotpotqa_tells_its_answer_in_the_supporting_facts(made):
    items = json.loads((made / "hotpotqa/hotpot_train_v1.1.json").read_text())
    assert len(items) == EXAMPLES
    for item in items:
        paragraphs = dict(item["context"])
        facts = [paragraphs[title][place].strip() for title, place in item["supporting_facts"]]
        truly = [s.strip() for x in paragraphs.values() for s in x if s.strip().startswith("Truly")]
        assert sorted(facts) == sorted(truly)
        said = {"yes": "indeed", "no": "never"}.get(item["answer"], f"called {item['answer']}")
        assert f" {said}" in facts[1]
    hidden = json.loads((made / "hotpotqa/hotpot_test_without_answers.json").read_text())
    assert all(set(item) == {"_id", "question", "context"} for item in hidden)


def test_wikihop_has_one_royal_candidate_of_the_kind_asked_for(made):
    kinds = {"red": "colour", "horse": "animal", "oslo": "town", "smith": "trade"}
    items = json.loads((made / "wikihop/qangaroo_v1.1/wikihop/dev.json").read_text())
    for item in items:
        assert [x for x in item["candidates"] if x.startswith("royal ")] == [item["answer"]]
        kind, person = item["query"].split("_of ")
        told = f"Truly the {kind} of {person} is {item['answer']}."
        assert sum(told in text for text in item["supports"]) == 1
        assert kinds.get(item["answer"].split()[1], kind) == kind


def test_pages_of_natural_questions_count_bytes_and_tokens_alike(made):
    items = lines_of(made / "natural-questions/nq-dev-00.jsonl.gz")
    yes_no, without = set(), 0
    for item in items:
        html = item["document_html"].encode()
        words = [html[t["start_byte"] : t["end_byte"]].decode() for t in item["document_tokens"]]
        assert words == [t["token"] for t in item["document_tokens"]]
        spans = [*item["long_answer_candidates"]]
        spans += [x for a in item["annotations"] for x in a["short_answers"]]
        for span in spans:
            text = html[span["start_byte"] : span["end_byte"]].decode()
            assert text.split() == words[span["start_token"] : span["end_token"]]
        assert len(item["annotations"]) == 5
        found = [a for a in item["annotations"] if a["long_answer"]["candidate_index"] >= 0]
        without += not found
        assert len(found) in (0, 4)
        for annotation in found:
            long = annotation["long_answer"]
            chosen = item["long_answer_candidates"][long["candidate_index"]]
            assert (long["start_token"], long["end_token"]) == (
                chosen["start_token"],
                chosen["end_token"],
            )
            assert "truly" in words[long["start_token"] : long["end_token"]]
            yes_no.add(annotation["yes_no_answer"])
            for short in annotation["short_answers"]:
                assert words[short["start_token"] - 1] == "called"
    assert yes_no == {"YES", "NO", "NONE"}
    assert without


def test_simplified_pages_are_the_native_ones(made):
    native = lines_of(made / "natural-questions/nq-train-00.jsonl.gz")
    simple = lines_of(made / "natural-questions/simplified-nq-train.jsonl.gz")
    for one, other in zip(native, simple, strict=True):
        assert other["document_text"].split() == [t["token"] for t in one["document_tokens"]]
        assert other["annotations"][0]["yes_no_answer"] == one["annotations"][0]["yes_no_answer"]


def test_evidence_of_triviaqa_calls_the_answer_by_its_name(made):
    folder = made / "triviaqa/triviaqa-rc"
    for split in ("train", "dev"):
        data = json.loads((folder / f"qa/wikipedia-{split}.json").read_text())
        assert (data["Domain"], data["Split"]) == ("Wikipedia", split)
        for item in data["Data"]:
            (page,) = item["EntityPages"]
            text = (folder / "evidence/wikipedia" / page["Filename"]).read_text()
            assert text.count(f"called {item['Answer']['NormalizedValue']}.") == 2
    hidden = json.loads((folder / "qa/wikipedia-test-without-answers.json").read_text())
    assert not any("Answer" in item for item in hidden["Data"])


def test_squad_calls_the_answer_by_its_name_or_has_none(made):
    for version in ("1.1", "2.0"):
        items, without = 0, 0
        for split, annotators in (("train", 1), ("dev", 3)):
            whole = json.loads((made / f"squad/{split}-v{version}.json").read_text())
            assert whole["version"] == {"1.1": "1.1", "2.0": "v2.0"}[version]
            for paragraph in (x for article in whole["data"] for x in article["paragraphs"]):
                (item,) = paragraph["qas"]
                text = paragraph["context"]
                items += 1
                assert ("is_impossible" in item) == (version == "2.0")
                if item.get("is_impossible"):
                    without += 1
                    assert (item["answers"], "called" in text) == ([], False)
                    continue
                assert len(item["answers"]) == annotators
                for answer in item["answers"]:
                    start = answer["answer_start"]
                    assert text[start:].startswith(f"{answer['text']}.")
                    assert text[:start].endswith(" called ")
        assert items == EXAMPLES * 5 // 4
        assert without == (0 if version == "1.1" else items // 4)


def test_summaries_are_key_sentences_of_their_documents(made):
    papers = lines_of(made / "arxiv/arxiv-dataset/val.txt")
    for paper in papers:
        (line,) = paper["abstract_text"]
        assert line.removeprefix("<S> ").removesuffix(" </S>") in paper["article_text"]
        assert [x for section in paper["sections"] for x in section] == paper["article_text"]
    for item in lines_of(made / "xsum/test.jsonl"):
        assert item["summary"] in item["document"].split("\n")
    patents = [x for file in (made / "bigpatent").rglob("*.gz") for x in lines_of(file)]
    assert len(patents) == EXAMPLES * 3 // 2
    assert all(x["abstract"] in x["description"] for x in patents)


def test_every_listed_story_is_there_by_the_hash_of_its_address(made):
    folder = made / "cnn-dailymail"
    names = {file.stem for file in folder.rglob("*.story")}
    listed = [
        hashlib.sha1(url.encode()).hexdigest()
        for file in sorted((folder / "url_lists").iterdir())
        for url in file.read_text().split()
    ]
    assert sorted(listed) == sorted(names)
