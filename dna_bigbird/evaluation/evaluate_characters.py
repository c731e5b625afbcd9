"""`dna-bigbird evaluate-characters`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import InputPath, JsonOutput
from dna_bigbird.core.progress import shows_progress
from dna_bigbird.core.results import Rows
from dna_bigbird.core.settings import Count, Positive
from dna_bigbird.core.shared_options import BootstrapSeed, Progress, Threads


@dataclass(frozen=True)
class CharacterEvaluation(Rows):
    """Bits per character of a model and of baselines, on the same characters."""

    output: Path
    rows: list[dict]
    """A row per predictor: name, bits, low, high, n."""

    def summary(self) -> str:
        """Return a line per predictor."""
        return "\n".join(
            f"{row['predictor']}: {row['bits']:.4f}{_interval(row)} bits per character, n = {row['n']:,}"
            for row in self.rows
        )


def _interval(row: dict) -> str:
    return "" if row["low"] is None else f" [{row['low']:.4f}, {row['high']:.4f}]"


@checked()
@shows_progress
def evaluate_characters(
    model: InputPath,
    input: InputPath,
    output: JsonOutput,
    split: Literal["test", "validation"] = "test",
    max_tokens: Positive = 32_256,
    stride: Positive = 512,
    most_characters: Count = 0,
    with_baselines: bool = True,
    batch_size: Positive = 1,
    seed: BootstrapSeed = 0,
    threads: Threads = 0,
    progress: Progress = True,
) -> CharacterEvaluation:
    """Score a character model on held-out text or bases, next to counts.

    Bits per character: negative log-likelihood over ln 2, by overlapping windows, each scored on its last
    characters, in float32. The first character and N of DNA are not scored. The interval (95 %) is a bootstrap over
    pieces of 10,000 characters.

    Examples:
        dna-bigbird evaluate-characters --model models/text8 --input text8 --output text8.json
        dna-bigbird evaluate-characters --model models/bases --input hg19.fa --output bases.json \\
            --max_tokens 8192 --stride 2048

    Args:
        model: Model bundle: a folder of `dna-bigbird train-characters`.
        input: File to read: the one that the model was trained on; its parts are those of the training.
        output: Result to write: a JSON file with the scores of the model and of each baseline.
        split: Part of the set: the one to score.
        max_tokens: Longest sequence in tokens: characters of a window.
        stride: Step between windows: characters, at least 1; so many of each are scored.
        most_characters: Characters scored at most, the first ones of the part; 0: all.
        with_baselines: Score counts too: of characters, and for DNA an adaptive mixture of counts.
        batch_size: Examples computed at once: windows.
    """
    import torch

    from dna_bigbird.bundles.character_model import load_character_model
    from dna_bigbird.core.limits import use_threads
    from dna_bigbird.core.writing import atomic_path, json_text
    from dna_bigbird.evaluation.evaluate_characters_run import baselines_of, score_characters
    from dna_bigbird.training.character_phases import predictor_rows, read_parts

    if stride > max_tokens:
        raise InputError(f"--stride {stride}: expected at most --max_tokens {max_tokens}")
    use_threads(threads)
    network, description = load_character_model(model)
    characters = read_parts(input, description.source, description.split)
    if characters.sha256 != description.input_sha256:
        raise InputError(
            f"{input}: not the file that {model} was trained on: its sha256 is {characters.sha256[:12]}, "
            f"the model names {description.input_sha256[:12]}"
        )
    scored = characters.parts[split][: most_characters or None]
    if len(scored) < 2:
        raise InputError(f"--most_characters {most_characters}: expected at least 2")
    nats = {
        "model": score_characters(
            network,
            scored,
            window=max_tokens,
            stride=stride,
            batch_size=batch_size,
            device="cuda" if torch.cuda.is_available() else "cpu",
        )
    }
    if with_baselines:
        nats |= {name: predict(scored) for name, predict in baselines_of(characters).items()}
    rows = predictor_rows(nats, scored, characters.unscored, seed)
    values = {
        "predictors": rows,
        "split": split,
        "max_tokens": max_tokens,
        "stride": stride,
        "n_counted": len(characters.parts["train"]),
        "seed": seed,
    }
    with atomic_path(output) as path:
        path.write_text(json_text(values))
    return CharacterEvaluation(output, rows)
