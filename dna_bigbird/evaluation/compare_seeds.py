"""`dna-bigbird compare-seeds`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame, dataframe_of_rows
from dna_bigbird.core.paths import InputPath, JsonOutput, check_paths
from dna_bigbird.core.results import Rows
from dna_bigbird.core.settings import Range
from dna_bigbird.core.shared_options import BootstrapSeed


@dataclass(frozen=True)
class SeedComparison(Rows):
    """Mean scores over trainings with several seeds, and differences to baselines."""

    output: Path
    values: dict
    """As in the file."""

    def to_dataframe(self) -> DataFrame:
        """Return a row per score of the model and of each baseline: source, score, mean, low, high, sd."""
        sources = {"model": self.values, **self.values["baselines"]}
        return dataframe_of_rows(
            [
                {"source": source, "score": name, "mean": own[name]}
                | {end: own.get(f"{name}_{end}") for end in ("low", "high", "sd")}
                for source, own in sources.items()
                for name in own
                if f"{name}_sd" in own
            ]
        )

    def summary(self) -> str:
        """Return the mean of the first score, and its difference to each baseline."""
        name = next(key for key in self.values if f"{key}_sd" in self.values)
        lines = [f"{name}: {_shown(self.values, name)}, {self.values['n_seeds']} seeds"]
        for baseline, values in self.values["baselines"].items():
            gain = _shown(self.values, f"{name.removeprefix('macro_')}_gain_over_{baseline}")
            lines.append(
                f"{baseline}: {_shown(values, name)}, {values['n_seeds']} seeds; difference {gain}"
            )
        return "\n".join(lines)


def _shown(values: dict, name: str) -> str:
    low, high = values[f"{name}_low"], values[f"{name}_high"]
    return f"{values[name]:.4f} [{low:.4f}, {high:.4f}]"


@checked()
def compare_seeds(
    data: InputPath,
    scores: list[InputPath],
    output: JsonOutput,
    baselines: list[str] = [],  # noqa: B006 - --help shows the default
    seed: BootstrapSeed = 0,
    replicates: Annotated[int, Range(2)] = 1000,
    block_bp: int = 0,
) -> SeedComparison:
    """Average the test scores of trainings that differ in the seed, and compare them with baselines.

    Every training is scored on its own, with its own threshold; the mean is one of scores, not of
    probabilities as in an ensemble. 95 % t intervals cover test rows and seeds. A difference is taken on
    the same bootstrap draws of the test rows.

    Examples:
        dna-bigbird compare-seeds --data promoters.h5 --scores seed0.report/scores.h5 seed1.report/scores.h5 \\
            --baselines kmer=kmer.h5 deepromoter=cnn0.h5 deepromoter=cnn1.h5 --output seeds.json

    Args:
        data: Labelled set: an HDF5 file.
        scores: Scores to read: scores.h5 of `dna-bigbird evaluate`, one file per seed.
        output: Result to write: JSON with the mean of every score, its interval, the standard deviation
            over seeds and the value of each seed, and the same of each baseline.
        baselines: Score files of `dna-bigbird baseline` by name: `NAME=FILE`, as often as there are seeds;
            also scores.h5 of another model, such as a control.
        replicates: Bootstrap draws: of the test rows, for the part of the intervals that comes from them.
        block_bp: Bases in a block of the genome whose rows the bootstrap draws together; 0 as in
            `dna-bigbird evaluate`.
    """
    from dna_bigbird.core.writing import atomic_path, json_text
    from dna_bigbird.evaluation import compare_seeds_run as steps

    files = steps.named_files(scores, baselines)
    check_paths(
        compare_seeds, {"output": output}, also_read=[data, *(x for y in files.values() for x in y)]
    )
    values = steps.seed_comparison(data, files, seed=seed, replicates=replicates, block_bp=block_bp)
    with atomic_path(output) as path:
        path.write_text(json_text(values))
    return SeedComparison(output, values)
