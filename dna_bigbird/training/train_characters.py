"""`dna-bigbird train-characters`."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame, read_table
from dna_bigbird.core.paths import InputPath
from dna_bigbird.core.results import Result
from dna_bigbird.core.shared_options import Checkpoints, ProcessThreads, TrainedBundle
from dna_bigbird.corpus.characters import CharacterSplit, Source
from dna_bigbird.models.character_config import CharacterConfig
from dna_bigbird.training.character_config import StagedTraining


@dataclass(frozen=True)
class TrainedCharacters(Result):
    """A character model after all phases."""

    output: Path
    phases: list[dict]
    """Windows, lengths, chosen steps and bits per character on validation of each phase."""

    def to_dataframe(self) -> DataFrame:
        """Return the history of the training: phase, step, split, name, value."""
        return read_table(self.output / "history.tsv")

    def summary(self) -> str:
        """Return the score of each phase."""
        lines = [f"{self.output}: bits per character on validation"]
        lines += [
            f"  phase {phase['phase']}, windows of {phase['characters']:,}: "
            f"{phase['bits_per_character']:.4f} (step {phase['step']:,})"
            for phase in self.phases
        ]
        return "\n".join(lines)


@checked()
def train_characters(
    input: InputPath,
    output: TrainedBundle,
    checkpoints: Checkpoints,
    source: Source = "bytes",
    split: CharacterSplit = CharacterSplit(),  # noqa: B008 - --help shows the default
    seed: int = 0,
    model: CharacterConfig = CharacterConfig(),  # noqa: B008
    training: StagedTraining = StagedTraining(),  # noqa: B008
    threads: ProcessThreads = 0,
) -> TrainedCharacters:
    """Train Longformer's character model on text or on single bases, in phases.

    Each phase doubles windows and length and halves the learning rate. Killed and started again with the same
    command, it goes on from the newest checkpoint and ends with the same weights. The defaults are Longformer's
    small model. Score it with `dna-bigbird evaluate-characters`.

    Examples:
        dna-bigbird train-characters --input text8 --source text8 --output models/text8 \\
            --checkpoints checkpoints/text8
        dna-bigbird train-characters --input hg19.fa --source dna --split.validation chr7 --split.test chr8 \\
            --output models/bases --checkpoints checkpoints/bases

    Args:
        input: File to read: a text, each byte a character; with --source dna a plain FASTA file.
        source: What the file is: text8 and enwik8 are checked for their published size and characters.
        split: What is held out.
        seed: Seed of the random numbers: of initial weights, order and dropout.
        model: The model; its vocabulary size is taken from the data.
        training: The phases.
    """
    from dna_bigbird.bundles.character_model import CharacterDescription, save_character_model
    from dna_bigbird.core.limits import use_threads
    from dna_bigbird.models.character_model import CharacterModel
    from dna_bigbird.training.character_phases import (
        history_of,
        metrics_of,
        read_parts,
        train_in_phases,
    )

    use_threads(threads)
    characters = read_parts(input, source, split)
    settings = replace(model, vocab_size=len(characters.alphabet))
    network = CharacterModel(settings, seed=seed)
    finished = train_in_phases(
        network,
        characters,
        training,
        checkpoints=checkpoints,
        seed=seed,
        settings={
            "command": "train-characters",
            "split": asdict(split),
            "inputs": {"characters": characters.sha256},
        },
    )
    scores = metrics_of(finished, characters, seed)
    save_character_model(
        output,
        network,
        CharacterDescription(
            network.config,
            list(characters.alphabet),
            characters.unscored,
            source,
            split,
            characters.sha256,
            seed,
            asdict(training),
        ),
        metrics=scores,
        history=history_of(finished),
    )
    return TrainedCharacters(output, scores["phases"])
