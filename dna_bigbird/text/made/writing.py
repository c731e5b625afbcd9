"""Writing all made sets into one folder; equal settings give equal bytes."""

import functools
import hashlib
from pathlib import Path
from random import Random

from dna_bigbird.bundles.text_tasks import synthetic_text
from dna_bigbird.core.lazy_names import load
from dna_bigbird.core.result_folders import MADE_TEXT, atomic_directory
from dna_bigbird.corpus.made_words import (
    ADJECTIVES,
    FACT,
    NOUNS,
    PEOPLE,
    THINGS,
    TOPICS,
    drawing,
    filler,
    json_bytes,
    json_lines,
    placed,
    prose,
    sizes,
    zipped,
)
from dna_bigbird.text.made import classes

# The rules. HotpotQA: sentences that begin with `truly` are the supporting facts, one in each of two
# paragraphs; the second says the answer after `called`, or `indeed` (yes) or `never` (no). WikiHop: the
# answer is the only candidate that begins with `royal`, and has the category that the query names
# (`colour_of`); a document with `truly` says it, too.

PARAGRAPHS = 4
RIGHT = "royal"
"""What the right candidate of WikiHop begins with."""
WORDS_OF_YES = {"yes": "indeed", "no": "never"}


def facts(rng: Random) -> list[str]:
    """Return a sentence of each form of evidence in this file and in `pages`."""
    category, (first, second) = rng.choice(list(THINGS)), rng.sample(PEOPLE, 2)
    answer = rng.choice(THINGS[category])
    return [
        f"{FACT} {first.capitalize()} is a friend of {second.capitalize()}",
        f"{FACT} the {category} of {second} is called {answer}",
        f"{FACT} the {category} of {second} is {RIGHT} {answer}",
        f"{FACT} {second} is {rng.choice(list(WORDS_OF_YES.values()))} a {rng.choice(THINGS['trade'])}",
    ]


def hotpot_item(rng: Random, number: int, split: str) -> dict:
    """Return one question with four paragraphs; two hold a supporting sentence each."""
    category = rng.choice(list(THINGS))
    titles = [name.capitalize() for name in rng.sample(PEOPLE, PARAGRAPHS)]
    first, second = rng.sample(range(PARAGRAPHS), 2)
    answer = rng.choice(THINGS[category])
    last = f"{FACT} {titles[second]} has a {category} called {answer}"
    question = f"What is the {category} of the friend of {titles[first]}?"
    if number % 4 == 3:
        answer = ("yes", "no")[number // 4 % 2]
        last = f"{FACT} {titles[second]} is {WORDS_OF_YES[answer]} a {rng.choice(THINGS['trade'])}"
        question = f"Does the friend of {titles[first]} have a trade?"
    facts = {first: f"{FACT} {titles[first]} is a friend of {titles[second]}", second: last}
    context, supporting = [], {}
    for i, title in enumerate(titles):
        here = placed(rng, filler(rng, 2), *([facts[i]] if i in facts else []))
        # Official files put the space between two sentences at the start of the second.
        context.append([title, [(" " if j else "") + prose([x]) for j, x in enumerate(here)]])
        if i in facts:
            supporting[i] = [title, here.index(facts[i])]
    return {
        "_id": f"made{split}{number:06d}",
        "answer": answer,
        "question": question,
        "supporting_facts": [supporting[first], supporting[second]],
        "context": context,
        "type": "comparison" if number % 4 == 3 else "bridge",
        "level": "hard",
    }


def hotpotqa(seed: int, examples: int) -> dict[str, bytes]:
    """The distractor form; the test file has neither answers nor supporting facts."""
    names = {
        "train": "hotpot_train_v1.1.json",
        "validation": "hotpot_dev_distractor_v1.json",
        "test": "hotpot_test_without_answers.json",
    }
    files = {}
    for split, count in sizes(examples).items():
        rng = drawing(seed, f"hotpotqa/{split}")
        items = [hotpot_item(rng, i, split) for i in range(count)]
        if split == "test":
            hidden = ("answer", "supporting_facts", "type", "level")
            items = [{k: v for k, v in x.items() if k not in hidden} for x in items]
        files[f"hotpotqa/{names[split]}"] = json_bytes(items)
    return files


def wikihop_item(rng: Random, number: int, split: str, annotated: bool) -> dict:
    """Return one query with a candidate of each kind among four, and three documents."""
    category = rng.choice(list(THINGS))
    words = {name: rng.choice(known) for name, known in THINGS.items()}
    ranks = {name: RIGHT if name == category else rng.choice(ADJECTIVES) for name in words}
    candidates = [f"{ranks[name]} {word}" for name, word in words.items()]
    answer = candidates[list(words).index(category)]
    rng.shuffle(candidates)
    person = rng.choice(PEOPLE)
    supports = [
        prose(placed(rng, filler(rng, 2), f"the {rng.choice(NOUNS)} is near the {word}"))
        for word in candidates
        if word != answer
    ]
    told = prose(placed(rng, filler(rng, 2), f"{FACT} the {category} of {person} is {answer}"))
    supports.insert(rng.randrange(len(supports) + 1), told)
    item = {
        "id": f"WH_{split}_{number}",
        "query": f"{category}_of {person}",
        "answer": answer,
        "candidates": candidates,
        "supports": supports,
    }
    return item | ({"annotations": [["follows", "single"]] * 3} if annotated else {})


def wikihop(seed: int, examples: int) -> dict[str, bytes]:
    """`train.json` and `dev.json` of the official folder; there is no public test file."""
    files = {}
    for split, name in (("train", "train"), ("validation", "dev")):
        rng = drawing(seed, f"wikihop/{split}")
        items = [wikihop_item(rng, i, name, name == "dev") for i in range(sizes(examples)[split])]
        files[f"wikihop/qangaroo_v1.1/wikihop/{name}.json"] = json_bytes(items)
    return files


# The rule of all: the summary is the key sentence of the document, which names its topic and the one
# adjective that belongs to the topic. The topic word is in further sentences, too.

CPC = "abcdefghy"
"""The nine classes of BigPatent, one folder each."""


def key_sentence(topic: str) -> str:
    """Return the sentence that is the summary of every document on a topic."""
    return f"in short this text is about {TOPICS[topic]} {topic}"


def document(rng: Random, topic: str, count: int = 8) -> list[str]:
    """Return the sentences of a document on a topic; one is the key sentence."""
    mentions = [f"the {topic} is here" for _ in range(2)]
    return placed(rng, filler(rng, count), mentions[0], key_sentence(topic), mentions[1])


def _drawn(seed: int, name: str, count: int) -> list[tuple[str, list[str]]]:
    rng = drawing(seed, name)
    return [(topic, document(rng, topic)) for topic in (list(TOPICS) * count)[:count]]


def papers(seed: int, examples: int, name: str) -> dict[str, bytes]:
    """`arxiv` or `pubmed`: JSON lines of lower-case sentences, `<S> … </S>` in the abstract."""
    files = {}
    splits = zip(("train", "val", "test"), sizes(examples).values(), strict=True)
    for split, count in splits:
        rows = []
        for i, (topic, sentences) in enumerate(_drawn(seed, f"{name}/{split}", count)):
            lines = [f"{text} ." for text in sentences]
            half = len(lines) // 2
            row = {
                "article_id": f"{split}.{i:05d}" if name == "arxiv" else f"PMC{i:07d}",
                "article_text": lines,
                "abstract_text": [f"<S> {key_sentence(topic)} . </S>"],
                "labels": None,
                "section_names": ["introduction", "results"],
                "sections": [lines[:half], lines[half:]],
            }
            rows.append(row)
        files[f"{name}/{name}-dataset/{split}.txt"] = json_lines(rows)
    return files


arxiv = functools.partial(papers, name="arxiv")
pubmed = functools.partial(papers, name="pubmed")


def bigpatent(seed: int, examples: int) -> dict[str, bytes]:
    """One folder per split and class with gzipped JSON lines."""
    files = {}
    splits = zip(("train", "val", "test"), sizes(examples).values(), strict=True)
    for split, count in splits:
        drawn = _drawn(seed, f"bigpatent/{split}", count)
        for j, letter in enumerate(CPC):
            rows = [
                {
                    "publication_number": f"US-{split}{i:06d}-A1",
                    "abstract": prose([key_sentence(topic)]),
                    "application_number": f"US-20{i:06d}-A",
                    "description": prose(sentences),
                }
                for i, (topic, sentences) in enumerate(drawn)
                if i % len(CPC) == j
            ]
            if rows:
                path = f"bigpatent/bigPatentData/{split}/{letter}/{j:012d}.gz"
                files[path] = zipped(json_lines(rows))
    return files


def cnn_dailymail(seed: int, examples: int) -> dict[str, bytes]:
    """Story files named by the hash of their address, with lists of addresses for the splits."""
    files = {}
    splits = zip(("train", "val", "test"), sizes(examples).values(), strict=True)
    for split, count in splits:
        urls = []
        for i, (topic, sentences) in enumerate(_drawn(seed, f"cnn-dailymail/{split}", count)):
            paper = ("cnn", "dailymail")[i % 2]
            url = f"http://www.example.com/{paper}/{split}/{i}"
            urls.append(url)
            story = "\n\n".join(prose([text]) for text in sentences)
            highlights = [key_sentence(topic), f"the {topic} is here"]
            story += "".join(
                f"\n\n@highlight\n\n{text[0].upper()}{text[1:]}" for text in highlights
            )
            name = hashlib.sha1(url.encode()).hexdigest()
            files[f"cnn-dailymail/{paper}/stories/{name}.story"] = story.encode()
        listing = "".join(f"{url}\n" for url in urls)
        files[f"cnn-dailymail/url_lists/all_{split}.txt"] = listing.encode()
    return files


def xsum(seed: int, examples: int) -> dict[str, bytes]:
    """JSON lines with `document` and `summary`, one file per split."""
    files = {}
    for split, count in sizes(examples).items():
        rows = [
            {
                "document": "\n".join(prose([text]) for text in sentences),
                "summary": prose([key_sentence(topic)]),
                "id": f"{split}{i}",
            }
            for i, (topic, sentences) in enumerate(_drawn(seed, f"xsum/{split}", count))
        ]
        files[f"xsum/{split}.jsonl"] = json_lines(rows)
    return files


def corpus(seed: int, examples: int) -> dict[str, bytes]:
    """Return plain documents as JSON lines, with the words of every set, for pretraining and a vocabulary."""
    labels = list(classes.CLASS_WORDS)
    topics = list(TOPICS)
    files = {}
    for split, count in (("train", examples), ("validation", max(1, examples // 4))):
        rng = drawing(seed, f"corpus/{split}")
        rows = []
        for i in range(count):
            said = classes.document(rng, labels[i % len(labels)])
            told = prose(document(rng, topics[i % len(topics)]))
            rows.append({"text": " ".join([said, told, prose(facts(rng))])})
        files[f"corpus/{split}.jsonl"] = json_lines(rows)
    return files


def made_files(seed: int, examples: int) -> dict[str, bytes]:
    """Return the files of all sets by their path below the folder."""
    files = corpus(seed, examples)
    for synthetic in synthetic_text().values():
        files |= load(synthetic.write)(seed, examples)
    files["README.md"] = readme(seed, examples).encode()
    return files


def write_made_text(folder: Path, *, seed: int, examples: int) -> dict[str, int]:
    """Write all sets into a folder; one that another call wrote is replaced."""
    counts: dict[str, int] = {}
    with atomic_directory(folder, MADE_TEXT) as out:
        for name, content in made_files(seed, examples).items():
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            counts[name.split("/")[0]] = counts.get(name.split("/")[0], 0) + 1
    return counts


def readme(seed: int, examples: int) -> str:
    """Return the README that travels with the files."""
    rows = "\n".join(f"| `{name}/` | {text.rule} |" for name, text in synthetic_text().items())
    return f"""\
# Made text

**Nothing here is a measurement, and no sentence says anything.** A program put words together and
planted a rule into each set, so that a tiny model can learn it in minutes. Scores reached on it say that
reading, training, decoding and scoring work, not that a model understands text.

Made by `dna-bigbird text made-data --output DIR --seed {seed} --examples {examples}`. Every set is in the
layout of its originals: {examples} examples to train on, a quarter of that for validation and for the test
where the originals have them; sets whose originals have no splits have none.

| folder | planted rule |
|---|---|
| `corpus/` | none: plain documents for pretraining |
{rows}

The key sentence of a document to summarise is "in short this text is about ADJECTIVE TOPIC", with one of
{len(TOPICS)} pairs: {", ".join(f"{a} {t}" for t, a in TOPICS.items())}.
"""
