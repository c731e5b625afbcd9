"""The words and sentences that made text is put together from; no sentence of it says anything."""

import gzip
import json
from random import Random


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


NOUNS = _listed(
    "river stone garden window letter bridge table lamp road forest boat bell field tower mirror "
    "basket ladder market kitchen ribbon blanket candle harbour island valley carpet drawer fence"
)
VERBS = _listed("meets follows finds leaves carries watches draws opens moves keeps turns holds")
ADJECTIVES = _listed("old small quiet round heavy narrow plain distant broken empty early warm")
PEOPLE = _listed(
    "anna boris clara david elena frank greta henry irene jacob karla louis maria nadia oscar paula"
)
THINGS = {
    "colour": _listed("red blue green yellow purple orange silver violet"),
    "animal": _listed("horse tiger eagle rabbit salmon camel beaver falcon"),
    "town": _listed("lisbon oslo cairo lima delhi tokyo dublin prague"),
    "trade": _listed("baker tailor miller mason painter smith weaver farmer"),
}
"""Words that answer a question that names their kind; sentences of filler have none of them."""

FACT = "truly"
"""The word that begins every sentence with evidence, and is nowhere else."""

TOPICS = {
    "music": "loud",
    "bread": "fresh",
    "winter": "cold",
    "travel": "long",
    "chess": "slow",
    "paper": "thin",
    "glass": "clear",
    "wood": "dry",
}
"""What a made document is about, with the one adjective that belongs to it."""


def drawing(seed: int, name: str) -> Random:
    """Return the generator of one set: sets do not depend on each other."""
    return Random(f"{seed}/{name}")


def sentence(rng: Random) -> str:
    """Return a sentence of filler in lower case, without its full stop."""
    n, v, a = (lambda: rng.choice(NOUNS)), rng.choice(VERBS), rng.choice(ADJECTIVES)
    return rng.choice(
        (
            f"the {a} {n()} {v} the {n()}",
            f"one {n()} {v} near the {a} {n()}",
            f"every {n()} {v} and no {n()} is {a}",
        )
    )


def filler(rng: Random, count: int) -> list[str]:
    """Return so many sentences of filler."""
    return [sentence(rng) for _ in range(count)]


def placed(rng: Random, sentences: list[str], *others: str) -> list[str]:
    """Put further sentences at drawn places among sentences, in their order."""
    spots = sorted(rng.randrange(len(sentences) + 1) for _ in others)
    result = list(sentences)
    for shift, (spot, other) in enumerate(zip(spots, others, strict=True)):
        result.insert(spot + shift, other)
    return result


def prose(sentences: list[str]) -> str:
    """Write sentences with capitals and full stops."""
    return " ".join(f"{text[:1].upper()}{text[1:]}." for text in sentences)


def sizes(examples: int) -> dict[str, int]:
    """Return how many examples each split has: validation and test a quarter of training each."""
    return {"train": examples, "validation": max(1, examples // 4), "test": max(1, examples // 4)}


def json_bytes(value: object) -> bytes:
    """Return a value as JSON in one line."""
    return (json.dumps(value, ensure_ascii=False) + "\n").encode()


def json_lines(values: list[dict]) -> bytes:
    """Return values as JSON lines."""
    return b"".join(map(json_bytes, values))


def zipped(content: bytes) -> bytes:
    """Compress; equal contents give equal bytes."""
    return gzip.compress(content, mtime=0)
