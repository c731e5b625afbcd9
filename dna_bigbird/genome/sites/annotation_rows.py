"""Rows of gene annotation, GTF and GFF3, and their attributes.

Both count from 1 and include the end. pybedtools reads the formats too, but its errors name neither
file nor line.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.genome.sites.start_site import position

_COLUMNS = 9
_GTF_ATTRIBUTE = re.compile(
    r"""\s*([^\s;"]+)                       # the key, alone for a flag
        (?:\s+(?:"((?:[^"\\]|\\.)*)"        # a quoted value with escapes, or else with
               |"([^"]*)"                   # backslashes that mean themselves
               |([^;"\s]+)))?
        \s*(?:;|\#.*|$)""",
    re.VERBOSE,
)
_GTF_END = re.compile(r"\s*(#|$)")
_FLAG = re.compile(r"[^\s\"]+")


def annotation_rows(path: Path | str) -> Iterator[tuple[list[str], int]]:
    """Yield the nine columns of each row as text, and its line number; comments and sequences are skipped.

    Raises:
        InputError: Naming file and line, for another number of columns, or a start or end that is not a position.
    """
    for number, line in numbered_lines(path):
        if line.startswith(("##FASTA", ">")):
            return
        if line.startswith("#") or not line.strip():
            continue
        fields = line.rstrip("\n").split("\t")
        while len(fields) > _COLUMNS and not fields[-1].strip():
            fields.pop()
        where = f"{path}:{number}"
        if len(fields) != _COLUMNS:
            raise InputError(
                f"{where}: {len(fields)} column{'s' * (len(fields) != 1)} between tabs, "
                f"expected {_COLUMNS}. Is this a GTF or GFF file?"
            )
        start, end = (position(fields[i], n, where) for i, n in ((3, "start"), (4, "end")))
        if start > end:
            raise InputError(f"{where}: start {start} is beyond end {end}")
        fields[3:5] = (
            str(start),
            str(end),
        )  # without what is white space for `strip` and no digit for `int`
        yield fields, number


def gtf_attributes(text: str, where: str) -> dict[str, str]:
    r"""Return the attributes of a GTF row; of a key that is repeated the first value.

    Raises:
        InputError: If the text is not `key "value";` pairs or flags.

    Example:
        >>> gtf_attributes(r'gene_id "G"; note "a; \"b\""; level 2; partial # made', "a.gtf:1")
        {'gene_id': 'G', 'note': 'a; "b"', 'level': '2', 'partial': ''}
    """
    attributes: dict[str, str] = {}
    at = 0
    while not _GTF_END.match(text, at):
        match = _GTF_ATTRIBUTE.match(text, at)
        if not match:
            raise _unreadable(text, where, 'key "value"; (GTF)')
        key, escaped, literal, bare = match.groups()
        value = re.sub(r"\\(.)", r"\1", escaped) if escaped is not None else literal or bare or ""
        attributes.setdefault(key, value)
        at = match.end()
    return attributes


def gff_attributes(text: str, where: str) -> dict[str, str]:
    """Return the attributes of a GFF3 row, decoded; Parent, a list of IDs, is for `parent_ids`.

    Raises:
        InputError: If the text is not `key=value` pairs or flags.

    Example:
        >>> gff_attributes("ID=gene:A;Name=a%3Bb;partial", "a.gff3:1")
        {'ID': 'gene:A', 'Name': 'a;b', 'partial': ''}
    """
    attributes: dict[str, str] = {}
    for part in map(str.strip, text.split(";")):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals and not _FLAG.fullmatch(key or "."):
            raise _unreadable(text, where, "key=value; (GFF3)")
        if part not in ("", "."):
            attributes[unquote(key)] = value if key == "Parent" else unquote(value)
    return attributes


def parent_ids(attributes: dict[str, str]) -> list[str]:
    """Return the IDs of the features that a GFF3 feature is part of.

    Example:
        >>> parent_ids(gff_attributes("ID=c;Parent=a%2C1,b", "a.gff3:1"))
        ['a,1', 'b']
    """
    return [unquote(each) for each in attributes.get("Parent", "").split(",") if each]


def _unreadable(text: str, where: str, expected: str) -> InputError:
    return InputError(
        f"{where}: cannot read the attributes (column 9) {text.strip()[:40]!r}; expected {expected}"
    )
