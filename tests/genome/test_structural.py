"""Structural alleles against chromosomes edited as strings."""

import numpy as np
import pytest

from dna_bigbird.genome import Genome, reverse_complement
from dna_bigbird.genome.structural import Edit, structural_edit
from dna_bigbird.genome.variants import Variant

BASES = "GATTACAGGCATCGTTAGCCATGCAAGTCCGA"
AT, TO = 8, 20
"""0-based: the bases CATCGTTAGCCA... that change; the base before them is POS."""


def record(alt, pos=AT, info=".", ref=None):
    ref = BASES[pos - 1] if ref is None else ref
    line = f"chr1\t{pos}\t.\t{ref}\t{alt}\t.\t.\t{info}"
    return Variant("chr1", pos, ".", ref, tuple(alt.split(",")), 1, line)


@pytest.fixture
def edited(tmp_path):
    """Function (variant, number) -> the whole edited chromosome."""
    (tmp_path / "toy.fa").write_text(f">chr1\n{BASES}\n")
    genome = Genome(tmp_path / "toy.fa")

    def _edited(variant, number=0):
        edit = structural_edit(variant, number)
        assert isinstance(edit, Edit)
        size = len(BASES) - edit.interval.length + edit.length
        trimmed = edit.trimmed(genome)
        assert trimmed.fetch(genome, -3, size + 2) == f"NNN{edit.fetch(genome, 0, size)}NN"
        return edit.fetch(genome, 0, size)

    return _edited


DELETED = BASES[:AT] + BASES[TO:]
COPIED = BASES[:TO] + BASES[AT:]
TURNED = BASES[:AT] + reverse_complement(BASES[AT:TO]) + BASES[TO:]
T, LAST, NEXT = BASES[AT - 1], BASES[TO - 1], BASES[TO]


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        (record("<DEL>", info=f"SVTYPE=DEL;END={TO}"), DELETED),
        (record("<DEL>", info=f"SVLEN=-{TO - AT}"), DELETED),
        (record("<DEL:ME>", info=f"SVLEN={TO - AT}"), DELETED),
        (record("<DUP>", info=f"END={TO}"), COPIED),
        (record("<dup:tandem>", info=f"END={TO};SVLEN=99"), COPIED),
        (record("<INV>", info=f"END={TO}"), TURNED),
        (record("<INS>", info="SVINSSEQ=acgt"), BASES[:AT] + "ACGT" + BASES[AT:]),
        (record("<INS:ME>", info="END=8;SEQ=ACGT"), BASES[:AT] + "ACGT" + BASES[AT:]),
        (record(f"{T}[chr1:{TO + 1}["), DELETED),
        (record(f"]chr1:{AT}]{NEXT}", pos=TO + 1), DELETED),
        (record(f"{T}AC[1:{TO + 1}["), BASES[:AT] + "AC" + BASES[TO:]),
        (record(f"]1:{AT}]AC{NEXT}", pos=TO + 1), BASES[:AT] + "AC" + BASES[TO:]),
        (record(f"{LAST}[chr1:{AT + 1}[", pos=TO), COPIED),
        (record(f"]chr1:{TO}]{BASES[AT]}", pos=AT + 1), COPIED),
        (record(f"]chr1:{TO}]GG{BASES[AT]}", pos=AT + 1), BASES[:TO] + "GG" + BASES[AT:]),
        (record(f"{T}]chr1:{TO}]"), TURNED),
        (record(f"{LAST}]chr1:{AT}]", pos=TO), TURNED),
        (record(f"[chr1:{TO + 1}[{BASES[AT]}", pos=AT + 1), TURNED),
        (record(f"[chr1:{AT + 1}[{NEXT}", pos=TO + 1), TURNED),
        (record("<DEL>", pos=0, info="END=4", ref="N"), BASES[4:]),
    ],
)
def test_every_way_to_write_it(edited, variant, expected):
    assert edited(variant) == expected


def test_lengths_of_several_alleles(edited):
    variant = record("<DEL>,<DUP>,G", info="END=20;SVLEN=-3,5,.")
    assert edited(variant) == BASES[:8] + BASES[11:]
    assert edited(variant, 1) == BASES[:13] + BASES[8:]
    assert edited(variant, 2) == BASES[:7] + "G" + BASES[8:]


@pytest.mark.parametrize(
    ("variant", "reason"),
    [
        (record("<INS>", info="END=8;SVLEN=300"), "symbolic insertion without its sequence"),
        (record("<INS:ME:ALU>"), "symbolic insertion without its sequence"),
        (record("<INS>", info="SEQ=ACNT"), "symbolic insertion without its sequence"),
        (record("<DEL>"), "symbolic"),
        (record("<DEL>", info="END=8"), "symbolic"),
        (record("<DUP:DISPERSED>", info="END=20"), "symbolic"),
        (record("<CNV>", info="END=20"), "symbolic"),
        (record("<NON_REF>", info="END=20"), "symbolic"),
        (record(f"{T}[chr2:20["), "breakend"),
        (record(f"{T}[<ctg>:20["), "breakend"),
        (record(f"{T}[chr1:{AT + 1}["), "breakend"),
        (record(f"{T}AC]chr1:{TO}]"), "breakend"),
        (record(f"{T}."), "breakend"),
        (record(f"{T}[chr1:20]"), "breakend"),
        (record("*"), "overlapping deletion (*)"),
    ],
)
def test_what_cannot_be_built(variant, reason):
    assert structural_edit(variant, 0) == reason


def places(chromosome, changed):
    """All places where so many bases, taken from the longer text, leave the shorter one."""
    short, long = sorted((chromosome, changed), key=len)
    size = len(long) - len(short)
    found = [i for i in range(len(short) + 1) if long[:i] + long[i + size :] == short]
    return min(found), max(found), size


@pytest.mark.parametrize("kind", ["DEL", "DUP", "INS"])
@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_breakpoints_are_all_places_of_the_change(tmp_path, random_dna, kind, repeats):
    """Tried one after another; `repeats` copies of the deleted or copied bases, and a part of one more."""
    rng = np.random.default_rng(repeats)
    for seed in range(20):
        unit = random_dna(int(rng.integers(3, 90)), seed)
        bases = random_dna(150, seed) + unit * repeats + unit[:2] + random_dna(150, seed + 99)
        path = tmp_path / f"{kind}{repeats}{seed}.fa"
        path.write_text(f">chr1\n{bases}\n")
        start, end = 150, 150 + len(unit)
        text = {"DEL": "", "DUP": bases[start:end] * 2, "INS": bases[start:end] + "ACGTTC"}[kind]
        changed = bases[:start] + text + bases[end:]
        first, last, size = places(bases, changed)
        if kind == "INS":
            variant = record(bases[start] + text[1:], start + 1, ref=bases[start:end])
        else:
            variant = record(f"<{kind}>", start, f"END={end}", bases[start - 1])
        genome = Genome(path)
        found = structural_edit(variant, 0).trimmed(genome).breakpoints(genome)
        shared = last - first
        if shared < size:
            ends, middle = ((first, last), (first + size, last + size)), (first, last)
        else:  # tandem copies: the junction is between them
            stop = last - size
            ends, middle = ((first, stop), (first + size, stop + size)), (first + size, last)
        of_the_longer = ends if shared < size else (middle, middle)
        of_the_shorter = (middle, middle) if shared < size else ends
        on_reference, on_allele = (
            (of_the_longer, of_the_shorter) if kind == "DEL" else (of_the_shorter, of_the_longer)
        )
        assert [x for x, _ in found] == list(on_reference)
        assert [x for _, x in found] == list(on_allele)


def test_a_large_deletion_reads_a_few_bases(tmp_path, monkeypatch):
    """Of 200 kbp only those next to its ends."""
    bases = "ACGTTGCAAC" * 20000
    (tmp_path / "toy.fa").write_text(f">chr1\nGATTACA{bases}TTTTTTTT\n")
    genome = Genome(tmp_path / "toy.fa")
    read = []
    original = Genome.fetch
    monkeypatch.setattr(Genome, "fetch", lambda self, x: read.append(x.length) or original(self, x))
    variant = Variant("chr1", 7, ".", "A", ("<DEL>",), 1, "chr1\t7\t.\tA\t<DEL>\t.\t.\tEND=200007")
    edit = structural_edit(variant, 0).trimmed(genome)
    assert edit.breakpoints(genome) == (((7, 7), (7, 7)), ((200007, 200007), (7, 7)))
    assert sum(read) < 1000
