"""Reading result files, with messages that name the rule that makes them."""

import csv
import math
from pathlib import Path

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.config_file import read_config
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import open_text, parse_json_object
from dna_bigbird.core.plain_numbers import decimal_number, whole_number


def read_text(path: Path, advice: str) -> str:
    """Return the text of a file; `advice` ends the message if there is none."""
    _check_exists(path, advice)
    with open_text(path) as stream:
        return stream.read()


def read_model_config(bundle: Path, rule: str) -> BundleConfig:
    """Return the settings of a bundle."""
    path = bundle / "config.json"
    _check_exists(path, f"{rule} makes it. Run the workflow to its end first")
    return read_config(path)


def read_json_object(path: Path, rule: str) -> dict:
    """Return the object of a JSON file."""
    text = read_text(path, f"{rule} makes it. Run the workflow to its end first")
    return parse_json_object(text, path, f". Run {rule} again")


def optional_json(path: Path) -> dict:
    """Return the object of a JSON file, empty if there is none."""
    return read_json_object(path, "its rule") if path.is_file() else {}


def read_table(path: Path, columns: tuple[str, ...], rule: str) -> list[dict[str, str]]:
    """Read a TSV that must have at least these columns."""
    text = read_text(path, f"{rule} makes it. Run the workflow to its end first")
    reader = csv.DictReader(text.splitlines(), delimiter="\t")
    missing = [c for c in columns if c not in (reader.fieldnames or [])]
    if missing:
        raise InputError(
            f"{path}:1: no column {missing[0]!r}; expected {', '.join(columns)}. Run {rule} again"
        )
    rows = list(reader)
    for line, row in enumerate(rows, start=2):
        if any(row[c] is None for c in columns):
            raise InputError(f"{path}:{line}: the line is cut off. Run {rule} again")
    return rows


def as_float(text: str, path: Path, line: int) -> float:
    """Return a number of a table; nothing, NA and - are NaN."""
    number = math.nan if text in ("", "NA", "-") else decimal_number(text)
    if number is None:
        raise InputError(f"{path}:{line}: {shortened(text)!r} is not a number")
    return number


def as_int(text: str, path: Path, line: int) -> int:
    """Return a whole number of a table."""
    number = whole_number(text)
    if number is None:
        raise InputError(f"{path}:{line}: {shortened(text)!r} is not a whole number")
    return number


def _check_exists(path: Path, advice: str) -> None:
    if not path.is_file():
        raise InputError(f"{path}: no such file; {advice}")
