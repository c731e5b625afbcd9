"""`dna-bigbird bench SUITE`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame, dataframe_of_rows
from dna_bigbird.core.errors import check_named
from dna_bigbird.core.paths import GenomePath, InputPath, OutputFolder
from dna_bigbird.core.progress import shows_progress
from dna_bigbird.core.result_folders import BENCH_PAGE
from dna_bigbird.core.results import Rows
from dna_bigbird.core.settings import Positive, Range
from dna_bigbird.core.shared_options import BenchData, BootstrapSeed, ProcessThreads, Progress
from dna_bigbird.training.label_config import LabelHeadConfig, LabelTrainConfig

if TYPE_CHECKING:
    from dna_bigbird.metrics.task_results import TaskResult


@dataclass(frozen=True)
class BenchResult(Rows):
    """Results of the tasks of a suite."""

    output: Path
    """Folder with TASK/task.json, and the table and page of all tasks in page/."""
    results: "list[TaskResult]"
    """In the order of the suite; empty for a dry run."""
    text: str
    """What the command prints: a line per task."""

    def to_dataframe(self) -> DataFrame:
        """Return a row per task, subset and source: the published score, its interval, sd and n."""
        return dataframe_of_rows(
            [
                {"task": result.task, "subset": subset, "source": source.name}
                | {"score": result.metric, "n": result.n[subset]}
                | {
                    key: getattr(scores[result.metric], key)
                    for key in ("value", "low", "high", "sd")
                }
                for result in self.results
                for source in result.sources
                for subset, scores in source.scores.items()
            ]
        )


@checked()
@shows_progress
def bench(
    suite: str,
    data: BenchData | None = None,
    output: OutputFolder | None = None,
    tasks: list[str] = [],  # noqa: B006 - --help shows the default
    model: InputPath | None = None,
    genome: dict[str, GenomePath] = {},  # noqa: B006
    chain: InputPath | None = None,
    pieces: bool = False,
    method: Literal["full", "lora", "probe"] = "full",
    seeds: Positive = 5,
    head: LabelHeadConfig = LabelHeadConfig(),  # noqa: B008 - --help shows the default
    training: LabelTrainConfig = LabelTrainConfig(),  # noqa: B008
    seed: BootstrapSeed = 0,
    replicates: Annotated[int, Range(2)] = 1000,
    threads: ProcessThreads = 0,
    page: bool = True,
    dry_run: bool = False,
    progress: Progress = True,
) -> BenchResult:
    """Run the tasks of a published benchmark suite: model, baselines, and a leak-free score.

    Each task is fine-tuned once per seed from the encoder of the model, and from random weights; k-mer
    counts, GC content, composition, for one length bases by position, a small CNN, the sequence length and
    the majority class are next to it. Killed and started again with the same command, it continues.
    docs/reference/bench.md describes suites, scores and files; nothing is downloaded.

    Examples:
        dna-bigbird bench {suite} --data files --output bench
        dna-bigbird bench {suite} --data files --genome GRCh37=hg19.fa --chain hg38ToHg19.over.chain.gz \\
            --method probe --seeds 3 --output bench

    Args:
        suite: Name of the suite; `dna-bigbird bench list` shows them.
        output: Result to write: a folder with TASK/task.json for each task, table and page of all tasks in
            page/, and finished parts, from which a later call continues.
        tasks: Tasks: those to run, by name or pattern. If not given, all whose files are there; subsets of
            TraitGym are run only by name.
        model: Model bundle: a pretrained encoder, or a classifier whose encoder is taken; if not given, the
            bundled encoder.
        genome: Genome: FASTA files by assembly, for tasks with coordinates: `GRCh38=hg38.fa
            transcripts=cdna.fa`.
        chain: UCSC chain file from the assembly of the input to that of the output: from that of the suite to that
            of --genome, whose intervals are lifted.
        pieces: The FASTA has only the first part of its chromosomes: rows elsewhere are left out and counted.
        method: Method: what is trained: all weights (full), low-rank updates of the encoder (lora), or a
            regression on what the encoder gives as it is (probe).
        seeds: Number of trainings: with seeds 0, 1, ...
        head: How labels are read off the encoder.
        training: How it is trained; what is not given is chosen as in `dna-bigbird finetune`.
        replicates: Bootstrap draws: of the test rows.
        page: Also write table and page of all tasks in the output; jobs of one task each leave that to `bench page`.
        dry_run: Dry run: list tasks, rows and expected minutes, and run nothing.
    """
    from dna_bigbird.bench import suite_run as steps
    from dna_bigbird.bench.task_scores import TrainingChoice
    from dna_bigbird.core.limits import use_threads

    check_named(output=output)
    use_threads(threads)
    suite_run = steps.SuiteRun(
        suite,
        data,
        output,
        tasks,
        model,
        steps.genomes(genome, chain, pieces=pieces),
        TrainingChoice(method, tuple(range(seeds)), training, head, threads, seed, replicates),
    )
    if dry_run:
        return BenchResult(output, [], steps.plan_text(suite_run))
    if page:
        BENCH_PAGE.check_replaceable(Path(output) / steps.PAGE)
    results = suite_run.results()
    return BenchResult(output, results, suite_run.page() if page else "")
