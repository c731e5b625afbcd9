"""Folders that are results: written as a whole, and replaced only if a run wrote all that they hold.

Each has a record of its files, whose first line says what the folder is:

    .dna-bigbird        a folder with a comparison
                        table.md
                        table.tsv

A folder without a record was written by an earlier version, or is not a result. The type of a
parameter says what its folder is; `dna_bigbird.core.paths.check_paths` checks it before any work:

    def compare_lm(runs: list[InputPath], output: Annotated[OutputPath, COMPARISON]) -> Comparison: ...
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NoReturn

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.file_formats import Form
from dna_bigbird.core.paths import COMPANIONS
from dna_bigbird.core.scratch import real_path, replace_folder, scratch_folder
from dna_bigbird.core.writing import check_can_write, readable_write_error

RECORD = ".dna-bigbird"
UNLISTED = (RECORD, ".snakemake_timestamp")
"""Files of any result folder that its record does not name."""
AFTER_WORK = (
    "nothing was replaced; move it away and repeat the command (a training continues from its "
    "checkpoints, which are kept)"
)
"""Advice if the user has put a file into the folder since the start of the command."""


@dataclass(frozen=True)
class ResultFolder(Form):
    """What a folder holds. `what` is in the records on disk: it never changes."""

    required: tuple[str, ...] = ()
    """Files that every such folder of an earlier version has; such folders have no record."""
    others: tuple[str, ...] = ()
    """Names that it may have, as shell patterns."""
    listing: str = ""
    """Table of an earlier version whose last column names more of its files."""

    def check(self, option: str, path: Path | str) -> None:
        """Raise InputError for the suffix of a file, and as `check_replaceable`."""
        super().check(option, path)
        self.check_replaceable(Path(path))

    def check_replaceable(self, folder: Path, advice: str = "name a new folder") -> None:
        """Raise InputError if a folder holds anything that no run wrote: it would be deleted."""
        check_can_write(folder, folder=True)
        if entry := self._foreign_entry(folder):
            raise InputError(
                f"{folder}: the folder holds {shortened(entry)}, which no run of this command wrote; "
                f"{advice}"
            )

    def _foreign_entry(self, folder: Path) -> str | None:
        """Return the first file or folder inside that no run wrote, None if there is none."""
        target = real_path(folder)
        if not target.is_dir():
            return None
        is_own = self._names(target)
        for above, folders, files in os.walk(target, onerror=_raise):
            folders.sort()  # links among them are not followed
            for name in sorted(folders + files):
                entry = os.path.relpath(os.path.join(above, name), target)
                indexed = entry.removesuffix(next(filter(entry.endswith, COMPANIONS), ""))
                if entry not in UNLISTED and not is_own(entry) and not is_own(indexed):
                    return entry
        return None

    def record(self, folder: Path) -> None:
        """Write the names of all that a complete folder holds into it."""
        names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
        text = "\n".join([self.what, *names]) + "\n"
        (folder / RECORD).write_bytes(os.fsencode(text))

    def _names(self, folder: Path) -> Callable[[str], bool]:
        """Return a function that says whether a run wrote an entry of a folder."""
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            what, *names = os.fsdecode((folder / RECORD).read_bytes()).rstrip("\n").split("\n")
            return set(names if what == self.what else ()).__contains__
        if not all((folder / name).is_file() for name in self.required):
            return lambda entry: False
        listed = set(self.required)
        if self.listing:
            lines = os.fsdecode((folder / self.listing).read_bytes()).splitlines()
            listed |= {line.rpartition("\t")[2] for line in lines}
        return lambda entry: (
            entry in listed or any(fnmatchcase(entry, other) for other in self.others)
        )


def _raise(error: OSError) -> NoReturn:
    raise error


@contextlib.contextmanager
def atomic_directory(path: Path, result: ResultFolder) -> Iterator[Path]:
    """Yield an empty folder that replaces `path`, or what it links to, if the block succeeds."""
    # After a kill at any moment either the old or the new folder is whole.
    path = Path(path)
    result.check_replaceable(path, AFTER_WORK)
    try:
        with scratch_folder(path) as scratch:
            temporary = scratch / path.name
            temporary.mkdir()
            yield temporary
            result.record(temporary)
            result.check_replaceable(path, AFTER_WORK)
            replace_folder(temporary, real_path(path), scratch)
    except OSError as error:
        raise readable_write_error(path, error) from error


MODEL = ResultFolder(
    "a folder with a model",
    required=("config.json", "model.safetensors", "metrics.json", "README.md"),
    others=(
        "history.tsv", "search.tsv", "tokenizer.model", "tokenizer.json", "spiece.model",
        "special_tokens_map.json", "sequences_read.safetensors",
    ),
)  # fmt: skip
HUGGING_FACE = ResultFolder(
    "a folder with a model for the Hugging Face library",
    required=("config.json", "model.safetensors", "tokenizer_config.json", "README.md"),
    others=(
        "generation_config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer.model",
        "spiece.model",
    ),
)  # fmt: skip
FILE_PER_LABEL = ResultFolder(
    "a folder with a file per label", required=("labels.tsv",), listing="labels.tsv"
)
COMPARISON = ResultFolder(
    "a folder with a comparison",
    required=("table.md", "table.tsv"),
    others=(
        "index.html", "table.json", "figure.png", "parts.tsv", "pairs.tsv", "scores_[0-9].png",
        "scores_[0-9][0-9].png",
    ),
)  # fmt: skip
MOTIFS = ResultFolder(
    "a folder with motifs",
    required=("motifs.tsv", "motifs.meme", "hits.bed", "index.html"),
    others=("logos", "logos/*.png"),
)
DESIGNS = ResultFolder("a folder with designed sequences")
RANKING = ResultFolder(
    "a folder with a ranking of variants",
    required=("metrics.json", "ranked.tsv"),
    others=("sources.tsv",),
)
BENCH_PAGE = ResultFolder(
    "a folder with a page of benchmark results",
    required=("index.html", "table.md", "table.tsv", "bench_summary.png"),
    others=("*_[0-9][0-9]_*.png",),
)
DEMO = ResultFolder(
    "a folder with demo data",
    required=("demo.fa", "peaks.tsv", "truth.tsv", "README.md"),
    others=("promoters.bed", "variants.vcf", "peaks", "peaks/*.bed"),
)
MADE_TEXT = ResultFolder("a folder with made text")
REPEATED_RUNS = ResultFolder("a folder with the mean of several runs", required=("metrics.json",))
