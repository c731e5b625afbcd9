"""A demo on disk, and a second reading of its files that shares no code with the package."""

import csv
import gzip
from pathlib import Path

import pytest

from dna_bigbird import genome
from dna_bigbird.demo.build import DemoConfig, build_demo
from dna_bigbird.demo.demo_files import write_demo

DATA = Path(genome.__file__).parent / "data"
PARTNER = str.maketrans("ACGT", "TGCA")


def read_fasta(text: str) -> str:
    return "".join(line for line in text.splitlines() if not line.startswith(">"))


def other_strand(sequence: str) -> str:
    return sequence.translate(PARTNER)[::-1]


def read_truth(folder: Path) -> list[dict]:
    """The rows of truth.tsv, coordinates as numbers."""
    with open(folder / "truth.tsv", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    return [row | {"start": int(row["start"]), "end": int(row["end"])} for row in rows]


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "demo"
    write_demo(build_demo(DemoConfig(seed=0)), path)
    return path


@pytest.fixture(scope="session")
def sequence(folder) -> str:
    return read_fasta((folder / "demo.fa").read_text())


@pytest.fixture(scope="session")
def real_sequence() -> str:
    packed = DATA / "hg19_chr22_20000001-21000000.fa.gz"
    return read_fasta(gzip.decompress(packed.read_bytes()).decode())


@pytest.fixture(scope="session")
def truth(folder) -> list[dict]:
    """Rows of truth.tsv; `note` as a dictionary."""
    rows = []
    with open(folder / "truth.tsv", newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            pairs = [item.split("=") for item in row["note"].split(";") if "=" in item]
            row |= {"start": int(row["start"]), "end": int(row["end"]), "note": dict(pairs)}
            row["centre"] = (row["start"] + row["end"]) // 2
            rows.append(row)
    return rows


@pytest.fixture(scope="session")
def sites(truth) -> dict[str, list[dict]]:
    """Intact sites by factor."""
    found = {}
    for row in truth:
        if row["kind"] == "site":
            found.setdefault(row["name"], []).append(row)
    return found


@pytest.fixture(scope="session")
def promoters(truth) -> list[dict]:
    return [row for row in truth if row["kind"] == "promoter"]


@pytest.fixture(scope="session")
def peaks(folder) -> dict[str, list[tuple[int, int, list[str]]]]:
    """Peaks by label: start, end, elements."""
    found = {}
    for path in (folder / "peaks").iterdir():
        rows = [line.split("\t") for line in path.read_text().splitlines()]
        found[path.stem] = [(int(s), int(e), names.split(",")) for _, s, e, names in rows]
    return found


@pytest.fixture(scope="session")
def variants(folder) -> list[dict]:
    rows = []
    for line in (folder / "variants.vcf").read_text().splitlines():
        if not line.startswith("#"):
            chrom, position, name, ref, alt, _, _, info = line.split("\t")
            pairs = dict(item.split("=") for item in info.split(";"))
            rows.append(
                {"chrom": chrom, "pos": int(position), "name": name, "ref": ref, "alt": alt} | pairs
            )
    return rows


@pytest.fixture(scope="session")
def score():
    """Score a site by matrix id, from the counts in the shipped file, base by base."""
    from math import log2

    matrices = {}
    for line in (DATA / "jaspar_selection.jaspar").read_text().splitlines():
        if line.startswith(">"):
            rows = matrices[line[1:].split()[0]] = {}
        else:
            base, _, *values, _ = line.split()
            rows[base] = [float(value) for value in values]

    def of_site(matrix: str, site: str) -> float:
        rows = matrices[matrix]
        assert len(site) == len(rows["A"])
        total = 0.0
        for column, base in enumerate(site):
            share = rows[base][column] / sum(rows[b][column] for b in "ACGT")
            total += log2((0.96 * share + 0.01) / 0.25)
        return total

    def best(matrix: str) -> float:
        rows = matrices[matrix]
        columns = range(len(rows["A"]))
        return of_site(matrix, "".join(max("ACGT", key=lambda b: rows[b][c]) for c in columns))

    of_site.best = best
    return of_site
