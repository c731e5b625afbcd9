"""`dna-bigbird compare-attention`."""

from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError
from dna_bigbird.paths import OutputFolder
from dna_bigbird.pipeline.long_attention.names import CORES, Core, Part
from dna_bigbird.pipeline.results import Comparison
from dna_bigbird.progress import shows_progress

LEAST_TOKENS, LEAST_ROUNDS = 256, 3


@shows_progress
@checked()
def compare_attention(
    output: OutputFolder,
    comparisons: list[Part] = ["cost"],  # noqa: B006 - jsonargparse shows the default
    cores: list[Core] = list(CORES),  # noqa: B006
    lengths: list[int] = [512, 1024, 4096, 16384],  # noqa: B006
    rounds: int = 7,
    only: list[str] = [],  # noqa: B006
    progress: bool = False,
) -> Comparison:
    """Compare the attention cores with each other: full, BigBird, BigBird-ETC, Longformer and Performer.

    Comparison `cost` measures one attention layer of each on one thread: what it reads, how exact it is, and its time and
    memory, forward and backward, in one run in which the cores take turns. A complete job in the folder is kept, so
    the same command goes on after it was stopped. See docs/long-attention.md.

    Examples:
        dna-bigbird compare-attention --output results/attention
        dna-bigbird compare-attention --output results/attention --cores full bigbird --lengths 1024 4096

    Args:
        output: Result to write: a folder with jobs/NAME/result.json of each job, and over all of them results.json, a TSV
            per part, page.md and comparison.png.
        comparisons: What is compared: `cost` of a layer.
        cores: Attention cores to compare, in the order of the rows.
        lengths: Lengths of the sequence in tokens: of cost.
        rounds: Rounds of the measurement of time: of cost, whose medians are shown.
        only: Jobs to do, by name; no table is written then. All if not given.
        progress: Whether to show a progress bar.
    """
    from dna_bigbird.pipeline.long_attention import plan
    from dna_bigbird.pipeline.long_attention.jobs import read_result, run_jobs
    from dna_bigbird.pipeline.long_attention.tables import tables_of, write_tables

    for name, values in (("comparisons", comparisons), ("cores", cores), ("lengths", lengths)):
        _check_list(name, values)
    for length in lengths:
        if length < LEAST_TOKENS:
            raise InputError(f"--lengths {length}: expected at least {LEAST_TOKENS} tokens")
    if rounds < LEAST_ROUNDS:
        raise InputError(
            f"--rounds {rounds}: expected at least {LEAST_ROUNDS}; medians of fewer mislead"
        )
    work = plan.work_of(comparisons, cores, lengths, rounds)
    plan.check_names(only, work)
    run_jobs({name: work[name] for name in work if not only or name in only}, output, 1)
    if only:
        return Comparison(output, [], [])
    results = {name: read_result(output, name, settings) for name, (_, settings) in work.items()}
    write_tables(output, results)
    rows = [row for table in tables_of(results).values() for row in table]
    return Comparison(
        output, rows, [f"{output / 'page.md'}: the tables; comparison.png: the picture"]
    )


def _check_list(name: str, values: list) -> None:
    if not values:
        raise InputError(f"--{name} []: expected at least one")
    for value in values:
        if values.count(value) > 1:
            raise InputError(f"--{name} {value}: is there twice; name it once")
