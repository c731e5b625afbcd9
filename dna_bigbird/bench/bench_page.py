"""`dna-bigbird bench page`, and the table and page that `dna-bigbird bench` writes at its end."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import InputPath, OutputPath
from dna_bigbird.core.result_folders import BENCH_PAGE, atomic_directory
from dna_bigbird.core.results import Comparison
from dna_bigbird.metrics.task_results import TaskResult

if TYPE_CHECKING:
    from dna_bigbird.bench.report.results import SuiteFacts


@checked()
def bench_page(results: list[InputPath], output: Annotated[OutputPath, BENCH_PAGE]) -> Comparison:
    """Write one table and one page over the results of benchmark tasks.

    It reads task.json files only, so tasks that ran as jobs of their own, on other machines, or in several suites are shown together.

    Examples:
        dna-bigbird bench page --results bench/gue bench/genomic-benchmarks --output bench/page

    Args:
        results: Results folder: outputs of `dna-bigbird bench SUITE`, with TASK/task.json below them, or such
            files, in the order in which their tasks are shown. Each task may be there once.
        output: Result to write: a folder with the page (index.html), the table (table.md, table.tsv) and pictures.
    """
    from dna_bigbird.bench.report.results import read_results

    if not results:
        raise InputError("--results names no folder: expected the outputs of `dna-bigbird bench`")
    return write_bench(read_results(map(Path, results)), Path(output))


def write_bench(results: Sequence[TaskResult], output: Path) -> Comparison:
    """Write the table and the page of results, in their order; at least one."""
    from dna_bigbird.bench.report import claims, page

    facts = _suite_facts(result.suite for result in results)
    text, gallery = page.bench_report(results, facts)
    rows = claims.table_rows(results)
    texts = {
        "index.html": text,
        "table.md": page.bench_markdown(results, facts),
        "table.tsv": claims.table_tsv(rows),
    }
    with atomic_directory(output, BENCH_PAGE) as folder:
        for name, content in texts.items():
            (folder / name).write_text(content, encoding="utf-8")
        gallery.save_all(folder)
    return Comparison(output, rows, page.bench_findings(results))


def _suite_facts(names: Iterable[str]) -> "dict[str, SuiteFacts]":
    """Return what the page says of each suite; a name that this version does not know is left out."""
    from dna_bigbird.bench.report.results import SuiteFacts
    from dna_bigbird.bench.suites.suite import MODULES, find_suite

    suites = [find_suite(name) for name in dict.fromkeys(names) if name in MODULES]
    return {
        x.name: SuiteFacts(x.name, x.title, x.about, x.source, x.licence, x.faults) for x in suites
    }
