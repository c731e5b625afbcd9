"""`dna-bigbird bench page`, and the table and page that `dna-bigbird bench` writes at its end."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import read_json
from dna_bigbird.core.paths import InputPath, OutputPath
from dna_bigbird.core.result_folders import BENCH_PAGE, atomic_directory
from dna_bigbird.core.results import Comparison
from dna_bigbird.metrics.task_results import (
    MODEL,
    PROTOCOLS,
    PUBLISHED,
    SUBSETS,
    TASK_FILE,
    Score,
    TaskResult,
)


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
    if not results:
        raise InputError("--results names no folder: expected the outputs of `dna-bigbird bench`")
    return write_bench(read_results(map(Path, results)), Path(output))


def write_bench(results: Sequence[TaskResult], output: Path) -> Comparison:
    """Write the table and the page of results, in their order; at least one."""
    from dna_bigbird.bench.report import claims, page

    text, gallery = page.bench_report(results)
    rows = claims.table_rows(results)
    texts = {
        "index.html": text,
        "table.md": page.bench_markdown(results),
        "table.tsv": claims.table_tsv(rows),
    }
    with atomic_directory(output, BENCH_PAGE) as folder:
        for name, content in texts.items():
            (folder / name).write_text(content, encoding="utf-8")
        gallery.save_all(folder)
    return Comparison(output, rows, page.bench_findings(results))


# Reads task.json files, the results of benchmark tasks: docs/reference/bench.md lists their keys.


def read_results(paths: Iterable[Path]) -> list[TaskResult]:
    """Read the results in files and folders: in the order of the paths, within a folder by name."""
    sources: dict[tuple[str, str], Path] = {}
    results = []
    for file in (file for path in paths for file in _files_of(path)):
        result = read_result(file)
        key = (result.suite, result.task)
        if key in sources:
            raise InputError(
                f"{file}: {shortened(result.task)} of {shortened(result.suite)} is also the result in "
                f"{sources[key]}; expected one result per task: name only one of the two"
            )
        sources[key] = file
        results.append(result)
    return results


def _files_of(path: Path) -> list[Path]:
    """Return the results at a path; folders whose name starts with a dot are unfinished outputs."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    names = sorted(file.relative_to(path) for file in path.rglob(TASK_FILE))
    files = [path / name for name in names if not any(x.startswith(".") for x in name.parts)]
    if not files:
        raise InputError(
            f"{path}: no {TASK_FILE} below it; expected the output of `dna-bigbird bench`"
        )
    return files


def read_result(path: Path) -> TaskResult:
    """Read one task.json."""
    values = read_json(path)
    try:
        result = TaskResult.from_json(values)
        problem = _problem(result)
    except KeyError as error:
        problem = f"no {error.args[0]!r}"
    except (TypeError, AttributeError, ValueError) as error:
        problem = _in_words(error)
    if problem:
        raise InputError(
            f"{path}: {problem}; expected the result of a task as this version of `dna-bigbird bench` "
            "writes it. Run the task again"
        )
    return result


def _in_words(error: Exception) -> str:
    """Return what Python says of a wrong key as a reader of the file sees it."""
    if unknown := re.search(r"unexpected keyword argument '(.+)'", str(error)):
        return f"unknown key {shortened(unknown[1])!r}"
    if missing := re.search(r"missing .* arguments?: '(.+?)'", str(error)):
        return f"no {missing[1]!r}"
    return "a part of it has another form"


def _problem(result: TaskResult) -> str:
    """Return the first thing that is not as in a result; nothing if all is."""
    texts = {name: getattr(result, name) for name in ("suite", "task", "metric", "assembly")}
    texts |= {f"metric of the published score of {x.model}": x.metric for x in result.published}
    for name, value in texts.items():
        if not isinstance(value, str):
            return f"{shortened(name)} is {shortened(repr(value))}"
    if result.protocol not in PROTOCOLS:
        return f"protocol is {shortened(repr(result.protocol))}"
    if not isinstance(result.settings, Mapping):
        return f"settings is {shortened(repr(result.settings))}"
    names = [source.name for source in result.sources]
    if names.count(MODEL) != 1:
        return f"{names.count(MODEL)} sources with the name {MODEL!r}"
    if PUBLISHED not in result.n:
        return f"n has no {PUBLISHED!r}"
    for name, count in {**result.n, **result.leaks, **result.counts}.items():
        if type(count) is not int:
            return f"the count {shortened(name)} is {shortened(repr(count))}"
    numbers = {f"published score of {x.model}": x.value for x in result.published}
    for source in result.sources:
        unknown = sorted(set(source.scores) - set(SUBSETS))
        if unknown:
            return f"scores of {shortened(source.name)} are for {shortened(unknown[0])!r}"
        numbers |= {f"{source.name} {key}": x for key, x in source.strands.items()}
        for scores in (*source.scores.values(), source.minus):
            numbers |= _numbers_of(source.name, scores)
    wrong = (name for name, x in numbers.items() if not isinstance(x, int | float | None))
    return next((f"{shortened(name)} is {shortened(repr(numbers[name]))}" for name in wrong), "")


def _numbers_of(source: str, scores: Mapping[str, Score]) -> dict[str, object]:
    return {
        f"{source} {name} {part}": value
        for name, score in scores.items()
        for part, value in (
            *((x, getattr(score, x)) for x in ("value", "low", "high", "sd")),
            *((f"seed {i}", x) for i, x in enumerate(score.by_seed)),
        )
    }
