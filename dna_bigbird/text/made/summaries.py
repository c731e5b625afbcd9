"""Made documents with summaries, in the native layouts of the five sets.

The rule of all: the summary is the key sentence of the document, which names its topic and the one
adjective that belongs to the topic. The topic word is in further sentences, too.
"""

import hashlib
from random import Random

from dna_bigbird.corpus.made_words import (
    TOPICS,
    drawing,
    filler,
    json_lines,
    placed,
    prose,
    sizes,
    zipped,
)

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


def arxiv(seed: int, examples: int) -> dict[str, bytes]:
    """See `papers`."""
    return papers(seed, examples, "arxiv")


def pubmed(seed: int, examples: int) -> dict[str, bytes]:
    """See `papers`."""
    return papers(seed, examples, "pubmed")


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
