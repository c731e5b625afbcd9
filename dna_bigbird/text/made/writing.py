"""Writing all made sets into one folder; equal settings give equal bytes."""

from pathlib import Path

from dna_bigbird.bundles.text_tasks import synthetic_text
from dna_bigbird.core.lazy_names import load
from dna_bigbird.core.result_folders import MADE_TEXT, atomic_directory
from dna_bigbird.corpus.made_words import TOPICS, drawing, json_lines, prose
from dna_bigbird.text.made import classes, questions, summaries


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
    for synthetic in synthetic_text().values():
        files |= load(synthetic.write)(seed, examples)
    files["README.md"] = readme(seed, examples).encode()
    return files


def write_made_text(folder: Path, *, seed: int, examples: int) -> dict[str, int]:
    """Write all sets into a folder; one that another call wrote is replaced.

    Returns:
        How many files each set has.

    Raises:
        InputError: If the folder holds files that no call wrote.
    """
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
