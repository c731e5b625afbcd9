"""`dna-bigbird compare-attention`."""

from collections.abc import Sequence
from typing import Annotated

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import OutputFolder
from dna_bigbird.core.progress import shows_progress
from dna_bigbird.core.results import Comparison
from dna_bigbird.core.settings import NotNegative, Positive, Range
from dna_bigbird.evaluation.long_attention.jobs import CORES, PARTS, Core, Part

LEAST_TOKENS = 256


@shows_progress
@checked()
def compare_attention(
    output: OutputFolder,
    comparisons: list[Part] = list(PARTS),  # noqa: B006 - --help shows the default
    cores: list[Core] = list(CORES),  # noqa: B006
    seeds: Positive = 3,
    lengths: list[Annotated[int, Range(LEAST_TOKENS)]] = [512, 1024, 4096, 16384],  # noqa: B006
    rounds: Annotated[int, Range(3)] = 7,
    longest_tokens: Annotated[int, Range(2 * LEAST_TOKENS)] = 4608,
    training_steps: Annotated[int, Range(2)] = 1000,
    seconds: NotNegative = 60.0,
    test_sequences: Annotated[int, Range(2)] = 150,
    processes: Positive = 1,
    only: list[str] = [],  # noqa: B006
    progress: bool = False,
) -> Comparison:
    """Compare the attention cores with each other: full, BigBird, BigBird-ETC, Longformer and Performer.

    `cost` measures one attention layer of each on one thread: what it reads, how exact it is, and its time and
    memory, forward and backward, in one run in which the cores take turns. The other comparisons train a small model
    of each core, with equal initial weights where shapes agree, and score it after equal steps (and positions) and
    after equal processor time. A complete job in the folder is kept, so the same command goes on after it was
    stopped. See docs/long-attention.md.

    Examples:
        dna-bigbird compare-attention --output results/attention --processes 2
        dna-bigbird compare-attention --output results/attention --cores full bigbird etc --seeds 1 --processes 2
        dna-bigbird compare-attention --output results/attention --comparisons cost --lengths 1024 4096

    Args:
        output: Result to write: a folder with jobs/NAME/result.json of each job, and over all of them results.json,
            cost.tsv, learning.tsv, curves.tsv, page.md and comparison.png.
        comparisons: What is compared: `cost` of a layer, hidden words of real `dna`, the planted `partner` task,
            the same `pretrained` on sequences of its own, and evidence in `text`.
        cores: Attention cores to compare, in the order of the rows.
        seeds: Number of trainings: of each core, with seeds 0, 1 and so on.
        lengths: Lengths of the sequence in tokens: of cost.
        rounds: Rounds of the measurement of time: of cost, whose medians are shown.
        longest_tokens: Longest sequence of the trainings in tokens; distances that do not fit are left out.
        training_steps: Optimizer steps after which the cores are compared.
        seconds: Processor time after which they are compared again: of the steps, without scoring.
        test_sequences: Sequences that each score is computed on.
        processes: Jobs at the same time, each on one thread; cost runs alone.
        only: Jobs to do, by name; no table is written then. All if not given.
        progress: Whether to show a progress bar.
    """
    from dna_bigbird.evaluation.long_attention.jobs import COST, read_result, run_jobs
    from dna_bigbird.evaluation.long_attention.plan import Plan, check_names
    from dna_bigbird.evaluation.long_attention.tables import write_tables

    _check(comparisons=comparisons, cores=cores, lengths=lengths)
    plan = Plan(
        comparisons,
        cores,
        seeds,
        lengths,
        rounds,
        longest_tokens,
        training_steps,
        seconds,
        test_sequences,
    )
    work = plan.work()
    check_names(only, work)
    chosen = {name: work[name] for name in work if not only or name in only}
    run_jobs({name: job for name, job in chosen.items() if name == COST}, output, 1)
    run_jobs({name: job for name, job in chosen.items() if name != COST}, output, processes)
    if only:
        return Comparison(output, [], [])
    results = {name: read_result(output, name, settings) for name, (_, settings) in work.items()}
    tables = write_tables(output, {name: x for name, x in results.items() if x is not None})
    rows = [row for table in tables.values() for row in table]
    return Comparison(
        output, rows, [f"{output / 'page.md'}: the tables; comparison.png: the picture"]
    )


def _check(**lists: list) -> None:
    """Raise InputError for an empty list or a repeated value."""
    for name, values in lists.items():
        if not values:
            raise InputError(f"--{name} []: expected at least one")
        _check_once(name, values)


def _check_once(name: str, values: Sequence) -> None:
    for value in values:
        if list(values).count(value) > 1:
            raise InputError(f"--{name} {value}: is there twice; name it once")
