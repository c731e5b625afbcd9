"""`dna-bigbird bench list`."""

from dataclasses import dataclass
from typing import Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame, dataframe_of_rows
from dna_bigbird.core.results import Result

SHOWN = ("about", "source", "where", "licence", "layout", "faults")


@dataclass(frozen=True)
class SuiteList(Result):
    """The suites, where their files are published, and what these look like."""

    rows: list[dict[str, str]]
    text: str

    def to_dataframe(self) -> DataFrame:
        """Return a row per suite."""
        return dataframe_of_rows(self.rows)


@checked()
def bench_list(format: Literal["text", "json"] = "text") -> SuiteList:
    """List the benchmark suites: what they ask, where to get them, licence, files and known faults.

    Examples:
        dna-bigbird bench list

    Args:
        format: Format of the output: 'json' for programs.
    """
    from dna_bigbird.bench.suites.suite import all_suites
    from dna_bigbird.core.writing import json_text

    rows = [
        {"name": suite.name, "title": suite.title} | {key: getattr(suite, key) for key in SHOWN}
        for suite in all_suites()
    ]
    if format == "json":
        return SuiteList(rows, json_text(rows).rstrip())
    blocks = []
    for row in rows:
        lines = [f"{row['name']}  ({row['title']})"]
        lines += [f"  {key:<8} {row[key]}" for key in SHOWN if row[key]]
        blocks.append("\n".join(lines))
    return SuiteList(rows, "\n\n".join(blocks))
