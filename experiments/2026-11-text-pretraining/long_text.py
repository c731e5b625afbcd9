"""What long input is worth where the evidence is thousands of tokens after the question.

    python experiments/2026-11-text-pretraining/long_text.py --output results/long-text

Everything is planted. Questions in WikiHop's native format: four colours as candidates, always in
the same order, and one document of random filler words. One sentence of it repeats a word that goes
with one of the colours (two words a colour; no colour itself occurs in a document); where that
sentence is, nothing else shows. In training its distance from the question is anything from
some tokens to 3,800, short ones most often, for tiny models learn from those first. Two test sets
have documents of about 3,800 tokens: `near` with the sentence in the first 300 words, `far` with it
2,000 to 3,700 words away.

The same tiny model is trained twice from random weights of one seed, for equally many steps on the
same file: as BigBird over 4,096 tokens, and with full attention over 512, for which what does not
fit is cut off. Every step is a command of `dna-bigbird text`; those whose output is there are left
out. Writes long_text.tsv: accuracy with 95 % bootstrap intervals, next to a guess and the candidate
that is mentioned most.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from dna_bigbird.cli.main import main as dna_bigbird
from dna_bigbird.core.writing import atomic_path

_WORDS = """the of and river castle bridge winter garden stone paper light night harbour letter music
travel people under over while many quiet old road wall"""
FILLER = _WORDS.split()
CLUES = {
    "crimson": ("sunset", "ember"),
    "teal": ("lagoon", "glacier"),
    "amber": ("honey", "desert"),
    "violet": ("orchid", "plum"),
}
REPEATS = 8
SENTENCE_WORDS = 18
SHORTEST = 10
"""Words in front of the nearest evidence."""
COLUMNS = ("model", "test", "n", "accuracy", "low", "high", "guess", "most_mentioned")


def question(rng: np.random.Generator, number: int, words: int, distance: int) -> dict:
    """Return one item of WikiHop's native format.

    Args:
        words: Of filler, about.
        distance: Words in front of the evidence, about.
    """
    answer = str(rng.choice(list(CLUES)))
    clue = str(rng.choice(CLUES[answer]))
    # A capital letter after a full stop: what is cut off are whole sentences.
    lines = [
        " ".join(["Then", *rng.choice(FILLER, SENTENCE_WORDS - 1)]) + "."
        for _ in range(words // SENTENCE_WORDS)
    ]
    lines.insert(distance // SENTENCE_WORDS, " ".join(["Then", *[clue] * REPEATS]) + ".")
    return {
        "id": f"planted_{number}",
        "query": "which colour",
        "candidates": list(CLUES),
        "answer": answer,
        "supports": [" ".join(lines)],
    }


def make_sets(folder: Path, seed: int, train: int, test: int, longest: int) -> None:
    """Write train, validation, near and far as JSON, and plain text to learn a vocabulary from."""
    rng = np.random.default_rng(seed)

    def anywhere(count: int) -> list[dict]:
        positions = np.exp(rng.uniform(np.log(SHORTEST), np.log(longest), count)).astype(int)
        return [
            question(rng, i, position + 40, position)
            for i, position in enumerate(positions.tolist())
        ]

    def between(first: int, last: int) -> list[dict]:
        positions = rng.integers(first, last, test).tolist()
        return [question(rng, i, longest, position) for i, position in enumerate(positions)]

    sets = {
        "train": anywhere(train),
        "validation": anywhere(40),
        "near": between(SHORTEST, 300),
        "far": between(longest * 6 // 11, longest - 20),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, items in sets.items():
        with atomic_path(folder / f"{name}.json") as path:
            path.write_text(json.dumps(items))
    clues = " ".join(word for pair in CLUES.values() for word in pair)
    text = [{"text": item["supports"][0]} for item in sets["train"][:100]]
    text += [{"text": f"which colour {' '.join(CLUES)} {clues}"}] * 20
    with atomic_path(folder / "text.jsonl") as path:
        path.write_text("".join(json.dumps(item) + "\n" for item in text))


class Steps:
    """The commands of one run, in a folder."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.folder = args, args.output
        self.data = self.folder / "data"

    def call(self, command: str, last_file: Path | None = None, **options) -> None:
        """Run one command of `dna-bigbird text`, unless its output (or its last file) exists."""
        if (last_file or options["output"]).exists():
            return
        words = ["text", command]
        for name, value in options.items():
            words += [f"--{name.replace('__', '.')}", str(value)]
        print("dna-bigbird", *words, flush=True)
        dna_bigbird(words)

    def prepare(self) -> None:
        """Make the sets and the vocabulary."""
        args = self.args
        if not (self.data / "text.jsonl").exists():
            make_sets(self.data, args.seed, args.train, args.test, args.longest)
        vocabulary = self.folder / "spiece.model"
        self.call("vocabulary", input=self.data / "text.jsonl", output=vocabulary, size=330)

    def train(self, name: str, max_tokens: int, attention: str) -> Path:
        """Train one model and return its bundle.

        Only architecture and vocabulary of the pretrained bundle are used: its one step counts for
        nothing, the model starts from random weights.
        """
        args, text = self.args, self.data / "text.jsonl"
        start, trained = self.folder / f"start-{name}", self.folder / name
        tiny = {
            "hidden_size": 64, "num_layers": 2, "num_heads": 4, "ffn_size": 128, "dropout": 0.0,
            "block_size": 32, "num_random": 1, "init_std": 0.1,
        }  # fmt: skip
        shared = {"seed": args.seed, "threads": args.threads, "training__precision": "32-true"}
        self.call(
            "pretrain", train=text, validation=text, output=start,
            checkpoints=self.folder / "run" / f"start-{name}",
            tokenizer=self.folder / "spiece.model",
            model__max_tokens=max_tokens, model__attention=attention,
            **{f"model__{key}": value for key, value in tiny.items()},
            training__max_steps=1, training__validate_every=1, training__batch_size=1,
            training__validation_examples=1, **shared,
        )  # fmt: skip
        self.call(
            "train", task="wikihop", train=self.data / "train.json",
            validation=self.data / "validation.json", pretrained=start, from_scratch="true",
            output=trained, checkpoints=self.folder / "run" / name,
            options__max_tokens=max_tokens, options__max_sentences=1000, head__dropout=0.0,
            training__max_steps=args.steps, training__validate_every=args.steps,
            training__warmup_steps=max(1, args.steps // 10), training__batch_size=16,
            training__learning_rate=0.002, training__gradient_clip=1.0, **shared,
        )  # fmt: skip
        return trained

    def score(self, bundle: Path, test: str) -> dict:
        """Return the metrics of a model on a test set."""
        output = self.folder / "scored" / f"{bundle.name}-{test}"
        self.call(
            "evaluate", output / "metrics.json", model=bundle, data=self.data / f"{test}.json",
            output=output, seed=self.args.seed, threads=self.args.threads,
        )  # fmt: skip
        return json.loads((output / "metrics.json").read_text())


def compare(args: argparse.Namespace) -> list[tuple]:
    """Train and score both models; return the rows of the table."""
    steps = Steps(args)
    steps.prepare()
    rows = []
    for name, max_tokens, attention in (
        ("bigbird-4096", 4096, "bigbird"),
        ("full-512", 512, "full"),
    ):
        bundle = steps.train(name, max_tokens, attention)
        for test in ("near", "far"):
            metrics = steps.score(bundle, test)
            accuracy = [metrics[f"accuracy{end}"] for end in ("", "_low", "_high")]
            guesses = [
                metrics["baselines"][key]["accuracy"] for key in ("random", "most_mentioned")
            ]
            rows.append((name, test, metrics["n"], *accuracy, *guesses))
    return rows


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, required=True)
    for name, default in (
        ("train", 2000), ("test", 200), ("longest", 3700), ("steps", 150), ("seed", 0),
        ("threads", 1),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """Print and write the table."""
    args = parse(argv)
    rows = compare(args)
    text = "\n".join("\t".join(map(str, row)) for row in (COLUMNS, *rows)) + "\n"
    with atomic_path(args.output / "long_text.tsv") as path:
        path.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
