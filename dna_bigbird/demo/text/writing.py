"""Writing all made sets into one folder; equal settings give equal bytes."""

from pathlib import Path

from dna_bigbird.demo.text import classes, glue, pages, questions, summaries
from dna_bigbird.demo.text.words import TOPICS, drawing, json_lines, prose
from dna_bigbird.errors import InputError
from dna_bigbird.writing import atomic_directory

SETS = {
    "imdb": (classes.imdb, "words of the class among filler, anywhere"),
    "yelp5": (classes.yelp5, "the same"),
    "arxiv-topics": (classes.arxiv_topics, "the same"),
    "patents": (classes.patents, "the same"),
    "hyperpartisan": (classes.hyperpartisan, "the same"),
    "glue": (
        glue.glue,
        "SST-2: words of the class; CoLA: an unacceptable sentence has its first two words swapped; "
        "STS-B: how often the second sentence says `same`; the others: one word of the second sentence",
    ),
    "hotpotqa": (
        questions.hotpotqa,
        "sentences that begin with `truly` are the facts; the answer follows `called`; `indeed` is "
        "yes, `never` no",
    ),
    "natural-questions": (
        pages.natural_questions,
        "the paragraph with `truly` is the long answer, the word after `called` the short one; "
        "`indeed` is yes, `never` no; an eighth of the pages has none",
    ),
    "triviaqa": (pages.triviaqa, "the word after `called` in sentences that begin with `truly`"),
    "wikihop": (
        questions.wikihop,
        "the only candidate that begins with `royal`; a document with `truly` says it, too",
    ),
    **{
        name: (
            lambda seed, examples, name=name: summaries.papers(seed, examples, name),
            "the key sentence, one of eight; the words `in short` begin it",
        )
        for name in ("arxiv", "pubmed")
    },
    "bigpatent": (summaries.bigpatent, "the same"),
    "cnn-dailymail": (summaries.cnn_dailymail, "the same, and that the topic is here"),
    "xsum": (summaries.xsum, "the key sentence"),
}
"""By folder: what makes the files, and the rule planted in them."""


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
            told = prose(summaries.document(rng, topics[i % len(topics)]))
            rows.append({"text": " ".join([said, told, prose(questions.facts(rng))])})
        files[f"corpus/{split}.jsonl"] = json_lines(rows)
    return files


def made_files(seed: int, examples: int) -> dict[str, bytes]:
    """Return the files of all sets by their path below the folder."""
    files = corpus(seed, examples)
    for make, _ in SETS.values():
        files |= make(seed, examples)
    files["README.md"] = readme(seed, examples).encode()
    return files


def write_made_text(folder: Path, *, seed: int, examples: int) -> dict[str, int]:
    """Write all sets into a folder, which is replaced as a whole.

    Returns:
        How many files each set has.

    Raises:
        InputError: If the folder holds files that are not of made text; they would be lost.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: this is a file; expected a folder to write made text into")
    known = {*SETS, "corpus", "README.md", ".snakemake_timestamp"}
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.name not in known:
            raise InputError(
                f"{folder}: the folder holds {path.name}, which is no part of made text and would "
                "be lost; name a new or empty folder"
            )
    counts: dict[str, int] = {}
    with atomic_directory(folder) as out:
        for name, content in made_files(seed, examples).items():
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            counts[name.split("/")[0]] = counts.get(name.split("/")[0], 0) + 1
    return counts


def readme(seed: int, examples: int) -> str:
    """Return the README that travels with the files."""
    rows = "\n".join(f"| `{name}/` | {rule} |" for name, (_, rule) in SETS.items())
    return f"""\
# Made text

**Nothing here is a measurement, and no sentence says anything.** A program put words together and
planted a rule into each set, so that a tiny model can learn it in minutes. Scores reached on it say that
reading, training, decoding and scoring work, not that a model understands text.

Made by `dna-bigbird text made-data --output DIR --seed {seed} --examples {examples}`. Every set is in the
layout of its originals: {examples} examples to train on, a quarter of that for validation and for the test
where the originals have them; Arxiv topics and Hyperpartisan come unsplit, as they do.

| folder | planted rule |
|---|---|
| `corpus/` | none: plain documents for pretraining |
{rows}

The key sentence of a document to summarise is "in short this text is about ADJECTIVE TOPIC", with one of
{len(TOPICS)} pairs: {", ".join(f"{a} {t}" for t, a in TOPICS.items())}.
"""
