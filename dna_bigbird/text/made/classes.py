"""Made documents of the five classification sets, in their native layouts.

The rule of all: a document has a few words of its class among filler, anywhere.
"""

import csv
import io
from random import Random
from xml.sax.saxutils import quoteattr

from dna_bigbird.corpus.made_words import drawing, filler, json_lines, placed, prose, sizes

CLASS_WORDS = {
    "neg": ("dreadful", "boring"),
    "pos": ("wonderful", "moving"),
    "1": ("filthy", "terrible"),
    "2": ("overpriced", "bland"),
    "3": ("average", "ordinary"),
    "4": ("friendly", "tasty"),
    "5": ("superb", "perfect"),
    "cs.AI": ("planner", "belief"),
    "cs.CE": ("finance", "bonds"),
    "cs.cv": ("pixel", "camera"),
    "cs.DS": ("queue", "sorting"),
    "cs.IT": ("channel", "entropy"),
    "cs.NE": ("neuron", "genetic"),
    "cs.PL": ("compiler", "syntax"),
    "cs.SY": ("feedback", "actuator"),
    "math.AC": ("ideal", "noetherian"),
    "math.GR": ("coset", "abelian"),
    "math.ST": ("estimator", "variance"),
    "A": ("plough", "seed"),
    "B": ("conveyor", "wheel"),
    "C": ("polymer", "acid"),
    "D": ("loom", "yarn"),
    "E": ("drill", "girder"),
    "F": ("piston", "turbine"),
    "G": ("sensor", "lens"),
    "H": ("antenna", "circuit"),
    "true": ("traitors", "shameful"),
    "false": ("reported", "committee"),
}
"""Two words for every class of every set."""
ARXIV_CLASSES = [label for label in CLASS_WORDS if "." in label]


def document(rng: Random, label: str, count: int = 8) -> str:
    """Return filler with three mentions of the words of a class."""
    said = [f"it is {rng.choice(CLASS_WORDS[label])} there" for _ in range(3)]
    return prose(placed(rng, filler(rng, count), *said))


def documents(rng: Random, labels: list[str], count: int) -> list[tuple[str, str]]:
    """Return (label, text) pairs, the classes in turn."""
    return [(label, document(rng, label)) for label in (labels * count)[:count]]


def imdb(seed: int, examples: int) -> dict[str, bytes]:
    """The official `aclImdb` folder: `train` and `test`, `pos` and `neg`, `ID_RATING.txt`."""
    files = {}
    for split in ("train", "test"):
        rng = drawing(seed, f"imdb/{split}")
        for i, (label, text) in enumerate(documents(rng, ["neg", "pos"], sizes(examples)[split])):
            rating = rng.choice((7, 8, 9, 10) if label == "pos" else (1, 2, 3, 4))
            text = text.replace(". ", ".<br /><br />", 1)
            files[f"imdb/aclImdb/{split}/{label}/{i // 2}_{rating}.txt"] = text.encode()
    return files


def yelp5(seed: int, examples: int) -> dict[str, bytes]:
    """The official `train.csv` and `test.csv`: quoted stars and text, no header."""
    files = {}
    for split in ("train", "test"):
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
        pairs = documents(
            drawing(seed, f"yelp5/{split}"), list("12345"), max(5, sizes(examples)[split])
        )
        writer.writerows((label, said.replace(". ", r".\n", 1)) for label, said in pairs)
        files[f"yelp5/{split}.csv"] = text.getvalue().encode()
    return files


def arxiv_topics(seed: int, examples: int) -> dict[str, bytes]:
    """One folder per class with one text file per paper, as He et al. 2019 give them; no splits."""
    pairs = documents(drawing(seed, "arxiv-topics"), ARXIV_CLASSES, sum(sizes(examples).values()))
    return {
        f"arxiv-topics/{label}/{1000 + i}.{i:05d}.txt": text.encode()
        for i, (label, text) in enumerate(pairs)
    }


def patents(seed: int, examples: int) -> dict[str, bytes]:
    """JSON lines with `id`, `text` and `label`, one file per split: the paper names no format."""
    files = {}
    for split, count in sizes(examples).items():
        pairs = documents(drawing(seed, f"patents/{split}"), list("ABCDEFGH"), count)
        rows = [
            {"id": f"US-{split}-{i}", "text": text, "label": label}
            for i, (label, text) in enumerate(pairs)
        ]
        files[f"patents/{split}.jsonl"] = json_lines(rows)
    return files


def hyperpartisan(seed: int, examples: int) -> dict[str, bytes]:
    """Articles and their ground truth as two XML files, as the task's by-article set."""
    head = '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n<articles>\n'
    articles, truth = [head], [head]
    pairs = documents(
        drawing(seed, "hyperpartisan"), ["true", "false"], sum(sizes(examples).values())
    )
    for i, (label, text) in enumerate(pairs, 1):
        title = quoteattr(" ".join(text.split()[:4]))
        articles.append(
            f'<article id="{i:07d}" published-at="2020-01-01" title={title}><p>{text}</p></article>\n'
        )
        truth.append(
            f'<article hyperpartisan="{label}" id="{i:07d}" labeled-by="article" '
            f'url="http://www.example.com/{i}"/>\n'
        )
    return {
        f"hyperpartisan/{name}-training-byarticle-20181122.xml": "".join(
            [*lines, "</articles>\n"]
        ).encode()
        for name, lines in (("articles", articles), ("ground-truth", truth))
    }
