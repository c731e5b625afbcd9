"""Reading `data_specs/`: one YAML file says where an input comes from and how to know it.

An input is one file (`url`) or a table of files (`files`, a TSV next to the YAML with the columns
of `SHEET_COLUMNS`), which becomes a sample sheet. A checksum that nobody here could verify is
marked `verified: false`; one that is not known is null, never invented.
"""

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from dna_bigbird.core.choices import near
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import open_text
from dna_bigbird.core.resources import resource_folder
from dna_bigbird.core.yaml_files import read_yaml

SHEET_COLUMNS = ("label", "group", "cell", "url", "sha256")
SAMPLE_COLUMNS = ("label", "group", "cell", "path")
REQUIRED = {"name", "title", "assembly", "format", "licence", "citation", "verified"}
OPTIONAL = {"url", "files", "filename", "sha256", "size_bytes", "notes"}
TEXTS = {"name", "title", "assembly", "format", "licence", "citation", "url", "files", "notes"}
_HOST_LABEL = re.compile(r"[A-Za-z0-9_-]{1,63}")


@dataclass(frozen=True)
class RemoteFile:
    """One file to download."""

    url: str
    filename: str
    sha256: str | None = None
    size_bytes: int | None = None
    """Exact size, if known; more is never downloaded."""
    labels: tuple[str, str, str] | None = None
    """label, group and cell type of a peak file."""


@dataclass(frozen=True)
class DataSpec:
    """What one input is."""

    path: Path
    name: str
    title: str
    assembly: str
    format: str
    licence: str
    citation: str
    verified: bool
    files: tuple[RemoteFile, ...]
    is_sheet: bool
    notes: str = ""

    @property
    def output_name(self) -> str:
        """Path of the fetched input below the folder of inputs."""
        return f"{self.name}/samples.tsv" if self.is_sheet else self.files[0].filename


def find_spec(name: str) -> Path:
    """Return the description of an input: of data_specs/ in the working folder, else of the package.

    Example:
        >>> find_spec("grch37_genome").name
        'grch37_genome.yaml'
    """
    folders = [Path("data_specs"), resource_folder("data_specs")]
    for folder in folders:
        if (folder / f"{name}.yaml").is_file():
            return folder / f"{name}.yaml"
    known = sorted({path.stem for folder in folders for path in folder.glob("*.yaml")})
    raise InputError(
        f"{shortened(name)!r} is not a description in data_specs/ (there are: {', '.join(known)})"
        f"{near(name, tuple(known))}"
    )


def read_spec(path: Path) -> DataSpec:
    """Read and check one description."""
    values = _read_yaml(path)
    _check_keys(path, values)
    if values["verified"] is not True and values["verified"] is not False:
        raise InputError(f"{path}: verified is {values['verified']!r}; expected true or false")
    is_sheet = "files" in values
    if is_sheet:
        files = _read_sheet(path.parent / str(values["files"]))
    else:
        url = _checked_url(str(path), values["url"])
        filename = values.get("filename")
        filename = Path(urlsplit(url).path).name if filename is None else filename
        filename = _checked_name(path, filename)
        sha256 = _checked_sha(str(path), values["sha256"])
        files = (RemoteFile(url, filename, sha256, _checked_size(path, values.get("size_bytes"))),)
    if values["verified"] and any(file.sha256 is None for file in files):
        raise InputError(
            f"{path}: verified is true, but there is no sha256; expected the checksum or "
            "`verified: false`"
        )
    texts = {key: str(values[key]).strip() for key in REQUIRED - {"verified"}}
    return DataSpec(
        path=path,
        verified=values["verified"],
        files=files,
        is_sheet=is_sheet,
        notes=str(values.get("notes", "")).strip(),
        **texts,
    )


def _read_yaml(path: Path) -> dict:
    if not path.exists():
        raise InputError(
            f"{path}: no such file; a description that comes with dna-bigbird is found by its name, such "
            "as grch37_genome"
        )
    return read_yaml(path).values()


def _check_keys(path: Path, values: dict) -> None:
    missing = sorted(REQUIRED - set(values))
    if missing:
        raise InputError(f"{path}: key {missing[0]!r} is missing")
    unknown = sorted(map(str, set(values) - REQUIRED - OPTIONAL))
    if unknown:
        known = ", ".join(sorted(REQUIRED | OPTIONAL))
        raise InputError(f"{path}: unknown key {shortened(unknown[0])!r}; the keys are {known}")
    for key in sorted(TEXTS & set(values)):
        if not isinstance(values[key], str | int | float) or isinstance(values[key], bool):
            raise InputError(f"{path}: {key} is {shortened(ascii(values[key]))}; expected a text")
    if ("url" in values) == ("files" in values):
        raise InputError(
            f"{path}: expected either 'url' or 'files' (a table next to the YAML file)"
        )
    if "url" in values and "sha256" not in values:
        raise InputError(f"{path}: key 'sha256' is missing; write null if it is not known")
    if values["name"] != path.stem:
        raise InputError(f"{path}: name is {values['name']!r}; expected {path.stem!r}, as the file")


def _checked_url(where: str, url: object) -> str:
    try:
        check_url(str(url))
    except ValueError as error:
        raise InputError(f"{where}: url is {shortened(ascii(url))}; {error}") from None
    return str(url)


def check_url(url: str) -> None:
    """Raise ValueError, with what was expected, for an address that no request can be made of."""
    if not re.fullmatch(r"[!-~]+", url):
        raise ValueError("expected ASCII without spaces; write other letters as %C3%A9")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port  # a port that is not a number
    except ValueError as error:
        raise ValueError(f"not an address ({error})") from None
    is_host = ":" in host or all(map(_HOST_LABEL.fullmatch, host.removesuffix(".").split(".")))
    if parts.scheme not in ("http", "https") or Path(parts.path).name in ("", ".", ".."):
        raise ValueError("expected http(s)://host/…/file")
    if "@" in parts.netloc or not is_host:
        raise ValueError("expected http(s)://host/…/file, without a user name")


def _checked_name(path: Path, name: object) -> str:
    if not isinstance(name, str) or Path(name).name != name or not name.isprintable():
        raise InputError(
            f"{path}: filename is {shortened(ascii(name))}; expected a name without folders"
        )
    return name


def _checked_size(path: Path, size: object) -> int | None:
    if size is None:
        return None
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise InputError(
            f"{path}: size_bytes is {shortened(ascii(size))}; expected a whole number of at least 1, "
            "or null"
        )
    return size


def _checked_sha(where: str, sha256: object) -> str | None:
    if sha256 in (None, "-", ""):
        return None
    if not re.fullmatch(r"[0-9a-f]{64}", str(sha256)):
        raise InputError(f"{where}: sha256 is {sha256!r}; expected 64 hexadecimal digits or null")
    return str(sha256)


def _read_sheet(path: Path) -> tuple[RemoteFile, ...]:
    sheet_files: list[RemoteFile] = []
    with open_text(path) as stream:
        try:
            rows = list(csv.reader(stream, delimiter="\t"))
        except csv.Error as error:
            raise InputError(f"{path}: not a table: {error}") from None
    header = tuple(rows[0]) if rows else ()
    if header != SHEET_COLUMNS:
        raise InputError(f"{path}:1: columns are {header}; expected {SHEET_COLUMNS}")
    for number, row in enumerate(rows[1:], start=2):
        where = f"{path}:{number}"
        if len(row) != len(SHEET_COLUMNS):
            raise InputError(f"{where}: {len(row)} columns; expected {len(SHEET_COLUMNS)}")
        label, group, cell, url, sha256 = row
        url = _checked_url(where, url)
        sheet_files.append(
            RemoteFile(
                url,
                Path(urlsplit(url).path).name,
                _checked_sha(where, sha256),
                labels=(label, group, cell),
            )
        )
    by_name: dict[str, str] = {}
    for file in sheet_files:
        if by_name.setdefault(file.filename, file.url) != file.url:
            raise InputError(f"{path}: two addresses end in {file.filename!r}")
    if not sheet_files:
        raise InputError(f"{path}: the table has no rows")
    return tuple(sheet_files)
