"""`dna-bigbird compare-attention`."""

from typing import Annotated, Any

from dna_bigbird.core.choices import checked
from dna_bigbird.core.paths import OutputFolder
from dna_bigbird.core.progress import shows_progress
from dna_bigbird.core.results import Comparison
from dna_bigbird.core.settings import Positive
from dna_bigbird.evaluation.long_attention.names import AttentionComparison


@shows_progress
@checked()
def compare_attention(
    output: OutputFolder,
    processes: Positive = 1,
    only: list[str] = [],  # noqa: B006
    progress: bool = False,
    **settings: Annotated[Any, AttentionComparison],
) -> Comparison:
    """Compare the attention cores with each other: full, BigBird, BigBird-ETC, Longformer and Performer.

    `cost` measures one attention layer of each on one thread: what it reads, how exact it is, and its time and
    memory, forward and backward, in one run in which the cores take turns. The other comparisons train a small model
    of each core, with equal initial weights where shapes agree, and score it after equal steps (and positions) and
    after equal processor time. A complete job in the folder is kept, so the same command goes on after it was
    stopped. See docs/explanation/longformer-and-performer.md.

    Examples:
        dna-bigbird compare-attention --output results/attention --processes 2
        dna-bigbird compare-attention --output results/attention --cores full bigbird etc --seeds 1 --processes 2
        dna-bigbird compare-attention --output results/attention --comparisons cost --lengths 1024 4096

    Args:
        output: Result to write: a folder with jobs/NAME/result.json of each job, and over all of them results.json,
            cost.tsv, learning.tsv, curves.tsv, page.md and comparison.png.
        processes: Jobs at the same time, each on one thread; cost runs alone.
        only: Jobs to do, by name; no table is written then. All if not given.
        progress: Whether to show a progress bar.
    """
    from dna_bigbird.evaluation.long_attention.names import COST
    from dna_bigbird.evaluation.long_attention.plan import (
        check_names,
        read_result,
        run_jobs,
        work_of,
    )
    from dna_bigbird.evaluation.long_attention.tables import write_tables

    work = work_of(AttentionComparison(**settings))
    check_names(only, work)
    chosen = {name: work[name] for name in work if not only or name in only}
    run_jobs({name: job for name, job in chosen.items() if name == COST}, output, 1)
    run_jobs({name: job for name, job in chosen.items() if name != COST}, output, processes)
    if only:
        return Comparison(output, [], [])
    results = {name: read_result(output, name, of_job) for name, (_, of_job) in work.items()}
    tables = write_tables(output, {name: x for name, x in results.items() if x is not None})
    rows = [row for table in tables.values() for row in table]
    return Comparison(
        output, rows, [f"{output / 'page.md'}: the tables; comparison.png: the picture"]
    )
