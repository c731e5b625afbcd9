"""`dna-bigbird text predict`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from dna_bigbird.core.choices import checked
from dna_bigbird.core.paths import FolderOutput
from dna_bigbird.core.results import Result
from dna_bigbird.core.shared_options import SetPart, TaskData, TaskModel
from dna_bigbird.text.set_options import SetOptions


@dataclass(frozen=True)
class PredictedText(Result):
    """Predictions of a text model."""

    output: Path
    files: tuple[str, ...]
    """Names of the official files in `output`."""
    predictions: list
    """One per example, decoded."""

    def summary(self) -> str:
        """Return how many predictions there are, and in which files."""
        return f"{self.output}: {len(self.predictions):,} predictions: {', '.join(self.files)}"


@checked()
def predict(
    model: TaskModel,
    data: TaskData,
    output: FolderOutput,
    split: SetPart = "test",
    **options: Annotated[Any, SetOptions],
) -> PredictedText:
    """Write the predictions of a fine-tuned text model in the official format of its set.

    Gold answers need not be in the data, and are not looked at.

    Args:
        output: Result to write: a folder of the official files.

    Examples:
        dna-bigbird text predict --model models/imdb --data aclImdb_v1.tar.gz --output predictions
    """
    settings = SetOptions(**options)
    from dna_bigbird.text.set_outputs import open_model, run_set, write_files

    output = Path(output)
    bundle, task = open_model(Path(model), settings.change)
    with run_set(task, bundle, Path(data), split, settings, gold=False, output=output) as ran:
        rows, outputs = ran
        predictions = task.decode(rows, outputs)
        files = task.submission(rows.examples, predictions)
    write_files(output, files)
    return PredictedText(output, tuple(files), predictions)
