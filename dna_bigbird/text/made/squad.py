"""Made SQuAD in its native format.

The rule: the answer is the word after `called` in the sentence of the paragraph that begins with `truly`.
In the files of version 2.0 every fourth paragraph has no such sentence, and its question no answer.
"""

from random import Random

from dna_bigbird.corpus.made_words import (
    FACT,
    PEOPLE,
    THINGS,
    drawing,
    filler,
    json_bytes,
    placed,
    prose,
    sizes,
)

PARAGRAPHS = 4
"""Of an article."""
ANNOTATORS = {"train": 1, "dev": 3}


def paragraph(rng: Random, number: int, split: str, version: str) -> dict:
    """Return one paragraph with its question."""
    category, person = rng.choice(list(THINGS)), rng.choice(PEOPLE)
    answer = rng.choice(THINGS[category])
    fact = f"{FACT} the {category} of {person} is called {answer}"
    is_impossible = version == "2.0" and number % 4 == 2
    context = prose(placed(rng, filler(rng, 4), *([] if is_impossible else [fact])))
    item: dict = {
        "id": f"made_{split}_{version}_{number}",
        "question": f"What is the {category} of {person.capitalize()}?",
    }
    gold = {"text": answer, "answer_start": context.find(f" called {answer}.") + len(" called ")}
    if version == "2.0":
        item["is_impossible"] = is_impossible
        if is_impossible:
            item["plausible_answers"] = [{"text": context.split()[0], "answer_start": 0}]
    item["answers"] = [] if is_impossible else [gold] * ANNOTATORS[split]
    return {"context": context, "qas": [item]}


def squad(seed: int, examples: int) -> dict[str, bytes]:
    """Training and development files of both versions; an article has four paragraphs."""
    files = {}
    counts = sizes(examples)
    for version in ("1.1", "2.0"):
        for split, count in (("train", counts["train"]), ("dev", counts["validation"])):
            rng = drawing(seed, f"squad/{version}/{split}")
            paragraphs = [paragraph(rng, i, split, version) for i in range(count)]
            articles = [
                {"title": f"Made_{first}", "paragraphs": paragraphs[first : first + PARAGRAPHS]}
                for first in range(0, count, PARAGRAPHS)
            ]
            whole = {"data": articles, "version": version if version == "1.1" else f"v{version}"}
            files[f"squad/{split}-v{version}.json"] = json_bytes(whole)
    return files
