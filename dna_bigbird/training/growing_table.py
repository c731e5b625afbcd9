"""A table on disk that grows while a run goes on."""

import re
from collections.abc import Iterable
from pathlib import Path

from dna_bigbird.core.writing import atomic_path


class GrowingTable:
    """Tab-separated rows, the first cell of each a step.

    It is rewritten as a whole when a run begins or continues; later rows are added at the end in
    one write, since to rewrite it each time would cost ever more. What a kill leaves half written
    the next start replaces.

    Args:
        header: Names of the columns.
    """

    def __init__(self, path: Path, header: str) -> None:
        self.path = path
        self.header = header

    def rows_until(self, step: int) -> list[str]:
        """Return the whole rows of the file up to a step; none if there is no such file."""
        if not self.path.exists():
            return []
        lines = self.path.read_text(errors="replace").split("\n")
        if lines[0] != self.header:
            return []
        columns = self.header.count("\t")
        number = rf"\d{{1,12}}(\t[^\t]*){{{columns}}}"
        whole = [line for line in lines[1:-1] if re.fullmatch(number, line, re.ASCII)]
        return [line for line in whole if int(line.partition("\t")[0]) <= step]

    def begin(self, rows: Iterable[str]) -> None:
        """Write the whole file with these rows."""
        with atomic_path(self.path) as partial:
            partial.write_text("\n".join([self.header, *rows]) + "\n")

    def add(self, rows: Iterable[str]) -> None:
        """Add rows at the end."""
        text = "".join(f"{row}\n" for row in rows)
        with open(self.path, "ab", buffering=0) as stream:
            stream.write(text.encode())
