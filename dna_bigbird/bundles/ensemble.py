"""`dna-bigbird ensemble`."""

from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.paths import InputPath
from dna_bigbird.core.results import Result
from dna_bigbird.core.shared_options import ModelOutput


@dataclass(frozen=True)
class Ensemble(Result):
    """A bundle whose probabilities are the mean of its members'."""

    output: Path
    num_models: int

    def summary(self) -> str:
        """Return the number of models."""
        return f"{self.output}: an ensemble of {self.num_models} models"


@checked()
def ensemble(models: list[InputPath], output: ModelOutput) -> Ensemble:
    """Join independently trained models into one whose probabilities are the mean of theirs.

    The result is a bundle like any other: predict and evaluate take it. The members must have the
    same labels, windows, architecture and tokenizer. Predicting takes the time and memory of all.

    Examples:
        dna-bigbird ensemble --models results/trained/chromatin results/trained/seed1 --output results/trained/both

    Args:
        models: Bundles of `dna-bigbird finetune`, two at least: --models seed0 seed1.
        output: Result to write: a bundle (a folder).
    """
    from dna_bigbird.bundles.ensemble_run import join_bundles

    join_bundles(models, output)
    return Ensemble(output, len(models))
