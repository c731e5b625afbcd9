"""Inputs as they come: well made, nearly well made, and damaged."""

import copy
import gzip
import json
import struct
from pathlib import Path

from hypothesis import strategies as st

SNIPPETS = [
    b"\n", b"\r\n", b"\r", b"\t", b" ", b"\0", b">", b">x\n", b"#", b"@", b";", b",", b".", b"*", b"-",
    b"+", b"N", b"n", b"R", b"U", b"acgt", b"ACGT" * 10, b"A" * 300, b"<DEL>", b"[1:5[", b"chr1", b"1",
    b"0", b"-1", b"1e3", b"1.5", b"99999999999", b"9" * 5000, b"nan", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf",
    "é".encode(), "\u2028".encode(), "\u0663".encode(), "\u00a0".encode(), b"\x0b", b"\x0c", b"\x1c",
    b"\x85", b"\x1a", b"\x1f\x8b", b"track\n", b"browser x\n", b"##x\n", b"",
]  # fmt: skip
"""What damaged or foreign files hold: line ends of all systems, blanks of all kinds, NUL, numbers that
are none, a byte-order mark, Arabic digits, the starts of other formats."""
NAMES = st.from_regex(r"[A-Za-z0-9_.:|()é-]{1,12}", fullmatch=True)
ENDS = st.sampled_from(["\n", "\n", "\r\n", "\r"])


@st.composite
def edited(draw, contents) -> bytes:
    """Some valid content with one to four edits."""
    content = draw(contents)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(content)))
        end = min(len(content), place + draw(st.sampled_from([0, 1, 1, 2, 5, 40])))
        kind = draw(st.sampled_from(["snippet", "byte", "delete", "repeat", "cut"]))
        if kind == "snippet":
            content = content[:place] + draw(st.sampled_from(SNIPPETS)) + content[end:]
        elif kind == "byte":
            content = content[:place] + bytes([draw(st.integers(0, 255))]) + content[place + 1 :]
        elif kind == "delete":
            content = content[:place] + content[end:]
        elif kind == "repeat":
            content = content[:end] + content[place:end] + content[end:]
        elif draw(st.booleans()):
            content = content[:place]
    return content


@st.composite
def packed(draw, contents) -> bytes:
    """Content as it is, in gzip, in two members of gzip, cut or changed there, or in UTF-16."""
    content = draw(contents)
    kind = draw(st.sampled_from(["plain"] * 6 + ["gzip", "members", "cut", "changed", "utf-16"]))
    if kind == "plain":
        return content
    if kind == "utf-16":
        return content.decode("utf-8", "replace").encode("utf-16")
    whole = gzip.compress(content, mtime=0)
    if kind == "members":
        half = len(content) // 2
        return gzip.compress(content[:half], mtime=0) + gzip.compress(content[half:], mtime=0)
    place = draw(st.integers(0, len(whole) - 1))
    if kind == "cut":
        return whole[:place]
    if kind == "changed":
        return whole[:place] + bytes([draw(st.integers(0, 255))]) + whole[place + 1 :]
    return whole


def damaged(valid) -> st.SearchStrategy[bytes]:
    """Content of all kinds around some valid one."""
    return packed(st.one_of(valid, edited(valid), edited(valid), st.binary(max_size=60)))


@st.composite
def fastas(draw) -> bytes:
    """A FASTA file that is well made: records, lines and blanks as programs write them."""
    end = draw(ENDS)
    lines = []
    for name in draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)):
        lines.append(f">{name}" + draw(st.sampled_from(["", " text", "\tlength=3", " "])))
        bases = draw(st.text("ACGTACGTacgtNnRYu", min_size=1, max_size=90))
        width = draw(st.sampled_from([7, 60, 1000]))
        lines += [bases[i : i + width] for i in range(0, len(bases), width)]
        lines += [""] * draw(st.integers(0, 1))
    last = draw(st.sampled_from(["", end]))
    mark = draw(st.sampled_from(["", "", "", "\ufeff"]))
    return (mark + end.join(lines) + last).encode()


@st.composite
def beds(draw, lengths: dict[str, int], reach: int = 0) -> bytes:
    """A BED file on a genome; with `reach`, rows may leave their chromosome by so many bases."""
    end = draw(ENDS)
    lines = draw(st.sampled_from([[], ["track name=x"], ["# comment", ""], ["browser position 1"]]))
    for _ in range(draw(st.integers(1, 5))):
        chrom = draw(st.sampled_from(sorted(lengths)))
        start = draw(st.integers(-min(reach, 2), lengths[chrom] - 1 + reach))
        stop = draw(st.integers(start + (reach == 0), lengths[chrom] + reach))
        fields = [chrom, str(start), str(stop)]
        more = ["name", "0", draw(st.sampled_from("+-."))]
        blank = draw(st.sampled_from(["\t", "\t", "\t", " "]))
        lines = [*lines, blank.join(fields + more[: draw(st.integers(0, 3))])]
    return (end.join(lines) + draw(st.sampled_from(["", end]))).encode()


VCF_COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
ALTS = ["A", "C", "G", "T", "a", "AC", "ACGTACGT", "A" * 40, "*", ".", "<DEL>", "<*>", "N", "AN",
        "G]chr1:5]", ".A", "A,C", "T,<DEL>", "A,A", "*,G"]  # fmt: skip


@st.composite
def vcfs(draw, genome: dict[str, str]) -> bytes:
    """A VCF file whose records fit a genome: any alleles, any order."""
    end = draw(ENDS)
    lines = ["##fileformat=VCFv4.2"] * draw(st.sampled_from([0, 1, 1, 1]))
    samples = draw(st.sampled_from(["", "", "\tFORMAT\tone"]))
    lines.append(VCF_COLUMNS + samples)
    for number in range(draw(st.integers(0, 5))):
        chrom = draw(st.sampled_from(sorted(genome)))
        pos = draw(st.integers(1, len(genome[chrom])))
        ref = genome[chrom][pos - 1 : pos - 1 + draw(st.sampled_from([1, 1, 1, 2, 5, 30]))]
        alt = draw(st.sampled_from(ALTS))
        fields = [chrom, str(pos), f"v{number}", ref, alt, ".", "PASS", "."]
        lines.append("\t".join(fields) + ("\tGT\t0|1" if samples else ""))
    return (end.join(lines) + draw(st.sampled_from(["", end]))).encode()


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([10**9, 10**12, 10**30, 10**400, -(10**9)]),
    st.floats(), st.text(max_size=5), st.just([]), st.just({}), st.just(["CTCF", "CTCF"]),
    st.just(["../../x", "/x"]), st.just([[[["deep"]]]]), st.just("pretraining"), st.just("\ud800"),
)  # fmt: skip


def places_in(value: object, path: tuple = ()) -> list[tuple]:
    """Every key and index of a JSON value, as paths."""
    found = [path] if path else []
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            found += places_in(child, (*path, key))
    return found


@st.composite
def changed_json(draw, text: str) -> bytes:
    """A config with one to three values replaced, removed or added."""
    config = json.loads(text)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places_in(config)))
        target = config
        for key in path[:-1]:
            target = target[key]
        kind = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
        if kind == "replace":
            target[path[-1]] = copy.deepcopy(draw(SCALARS))
        elif kind == "remove":
            del target[path[-1]]
        elif isinstance(target, dict):
            target[draw(st.text(max_size=8))] = copy.deepcopy(draw(SCALARS))
        if not config:
            break
    return json.dumps(config).encode()


@st.composite
def changed_header(draw, content: bytes) -> bytes:
    """A safetensors file with changes in its header alone."""
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    path = draw(st.sampled_from(places_in(header)))
    target = header
    for key in path[:-1]:
        target = target[key]
    if draw(st.booleans()):
        target[path[-1]] = copy.deepcopy(draw(SCALARS))
    else:
        del target[path[-1]]
    text = json.dumps(header).encode()
    claimed = draw(st.sampled_from([len(text), len(text), len(text) - 1, 2**63, 0]))
    return struct.pack("<Q", claimed) + text + content[8 + length :]


def changed_files(folder: Path) -> st.SearchStrategy[tuple[str, bytes]]:
    """Name and new content of one file of a bundle, or of a Hugging Face folder."""
    read = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    config, weights = read["config.json"].decode(), read["model.safetensors"]
    return st.one_of(
        st.tuples(st.just("config.json"), changed_json(config)),
        st.tuples(st.just("model.safetensors"), changed_header(weights)),
        *(st.tuples(st.just(name), edited(st.just(content))) for name, content in read.items()),
        st.tuples(st.sampled_from(sorted(read)), st.binary(max_size=40)),
    )
