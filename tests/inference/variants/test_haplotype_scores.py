"""Alleles on haplotypes: against whole haplotypes edited as strings, scored by `predict`."""

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval, reverse_complement
from dna_bigbird.genome.allele_form import allele_form
from dna_bigbird.prediction.predict import predict
from dna_bigbird.prediction.score_variants import score_variants
from tests.genome.test_haplotypes import HEADER, draw_records

LENGTH, WINDOW, SAMPLES = 900, 80, 4
NAMES = [f"S{i}" for i in range(SAMPLES)]


def write(path, bases, lines):
    path.with_suffix(".fa").write_text(f">chr1\n{bases}\n")
    path.write_text(HEADER.format(len(bases), "\t".join(NAMES)) + "".join(lines))
    return {"vcf": path, "fasta": path.with_suffix(".fa"), "window": WINDOW}


@pytest.fixture
def made(tmp_path, random_dna):
    bases = random_dna(LENGTH, 7)
    lines = draw_records(bases, np.random.default_rng(3), SAMPLES)
    return write(tmp_path / "x.vcf", bases, lines), bases, [x.rstrip().split("\t") for x in lines]


def edited(bases, records):
    """The chromosome with some records, and where each of them begins on it."""
    shift, starts = 0, {}
    for pos, ref, alt in records:
        start = pos - 1 + shift
        assert bases[start : start + len(ref)] == ref
        bases = bases[:start] + alt + bases[start + len(ref) :]
        starts[pos] = start
        shift += len(alt) - len(ref)
    return bases, starts


def windows_by_hand(bases, genome, focal, others):
    """Both strands of four windows: reference, allele alone, haplotype without it, haplotype."""
    pos, ref, alt = focal
    form = allele_form(genome, Interval("chr1", pos - 1, pos - 1 + len(ref)), ref, alt, WINDOW // 2)
    half = WINDOW // 2 - form.interval.length // 2
    before = half + pos - 1 - form.interval.start  # bases before REF as the file writes it
    after = half + form.interval.end - (pos - 1 + len(ref))
    found = []
    for records in ([], [focal], others, sorted([*others, focal])):
        text, starts = edited(bases, records)
        first = starts.get(pos)
        if first is None:
            first = pos - 1 + sum(len(a) - len(r) for p, r, a in records if p < pos)
        stop = first + len(alt if focal in records else ref)
        pad = "N" * WINDOW
        begin = WINDOW + first - before
        end = WINDOW + stop + after
        padded = pad + text + pad
        found.append(
            (padded[begin : begin + WINDOW], reverse_complement(padded[end - WINDOW : end]))
        )
    return found


def test_effects_are_those_of_whole_haplotypes(made, bundle_folder):
    settings, bases, records = made
    genome = Genome(settings["fasta"])
    found = score_variants(**settings, model=bundle_folder, haplotypes=True)
    expected, texts = [], []
    for record in records:
        for column, name in enumerate(NAMES, start=9):
            for side in (0, 1):
                carried = [
                    (int(r[1]), r[3], r[4]) for r in records if r[column].split("|")[side] == "1"
                ]
                focal = (int(record[1]), record[3], record[4])
                if focal in carried:
                    others = [x for x in carried if x != focal]
                    expected.append((focal[0], name, side + 1))
                    texts += [
                        x for pair in windows_by_hand(bases, genome, focal, others) for x in pair
                    ]
    rows = zip(found.pos.tolist(), found.sample, found.haplotype.tolist(), strict=True)
    order = {row: index for index, row in enumerate(rows)}
    assert sorted(order) == sorted(expected)
    p = predict(
        sequences=texts, model=bundle_folder, window=WINDOW, strand="forward", precision="32-true"
    ).probabilities.astype(float)
    logit = (np.log(p) - np.log1p(-p)).reshape(len(expected), 4, 2, -1).mean(axis=2)
    reference, alone, without, whole = logit.transpose(1, 0, 2)
    index = [order[row] for row in expected]
    close = {"atol": 2e-4, "rtol": 0}  # the logit of a probability in float32
    np.testing.assert_allclose(found.alone[index], alone - reference, **close)
    np.testing.assert_allclose(found.in_background[index], whole - without, **close)
    np.testing.assert_allclose(found.together[index], whole - reference, **close)
    by_hand = whole - without - alone + reference
    np.testing.assert_allclose(found.interaction[index], by_hand, **close)
    assert np.abs(by_hand).max() > 0.05
    usual = score_variants(**settings, model=bundle_folder)
    of_record = dict(zip(usual.pos.tolist(), usual.log_odds, strict=True))
    np.testing.assert_allclose(found.alone, [of_record[x] for x in found.pos.tolist()], atol=2e-5)


def test_backgrounds_are_the_variants_that_change_the_window(made, bundle_folder):
    """Taken out one by one: the windows differ for those that are named, for no others."""
    settings, bases, records = made
    genome = Genome(settings["fasta"])
    found = score_variants(**settings, model=bundle_folder, haplotypes=True)
    for pos, name, side, text in list(
        zip(
            found.pos.tolist(),
            found.sample,
            found.haplotype.tolist(),
            found.background,
            strict=True,
        )
    )[::5]:
        carried = [
            (int(r[1]), r[3], r[4])
            for r in records
            if r[9 + NAMES.index(name)].split("|")[side - 1] == "1"
        ]
        (focal,) = [x for x in carried if x[0] == pos]
        others = [x for x in carried if x[0] != pos]
        named = [x for x in others if f"{x[0]}:{x[1]}>{x[2]}" in text.split(";")]
        assert len(named) == (0 if text == "." else text.count(";") + 1)
        whole = windows_by_hand(bases, genome, focal, others)
        assert windows_by_hand(bases, genome, focal, named) == whole


def test_a_haplotype_that_several_have_is_computed_once(tmp_path, random_dna, bundle_folder):
    bases = random_dna(LENGTH, 7)
    other = {"A": "C", "C": "G", "G": "T", "T": "A"}
    calls = {300: "0|1 1|1 0|1 0|0", 310: "0|1 1|0 1|0 0|1", 600: "1|0 0|0 0|0 0|0"}
    lines = [
        f"chr1\t{pos}\tv{pos}\t{bases[pos - 1]}\t{other[bases[pos - 1]]}\t.\t.\t.\tGT\t"
        + call.replace(" ", "\t") + "\n"
        for pos, call in calls.items()
    ]  # fmt: skip
    settings = write(tmp_path / "x.vcf", bases, lines)
    summary = score_variants(
        **settings, model=bundle_folder, haplotypes=True, output=tmp_path / "out.tsv"
    )
    assert any("9 alleles on haplotypes of samples have 5 distinct" in x for x in summary.notes)
    rows = [line.split("\t") for line in (tmp_path / "out.tsv").read_text().splitlines()]
    assert rows[0][5:10] == [
        "sample",
        "haplotype",
        "background",
        "CTCF_alone",
        "CTCF_in_background",
    ]
    with_other = f"310:{bases[309]}>{other[bases[309]]}"
    assert {(row[5], row[6]): row[7] for row in rows[1:] if row[2] == "v300"} == {
        ("S0", "2"): with_other, ("S1", "1"): with_other, ("S1", "2"): ".", ("S2", "2"): ".",
    }  # fmt: skip
    alone = [row for row in rows[1:] if row[7] == "."]
    assert all(row[8] == row[9] and row[11] == "0" for row in alone)
    in_memory = score_variants(**settings, model=bundle_folder, haplotypes=True).to_dataframe()
    assert list(in_memory.columns) == rows[0]
    np.testing.assert_allclose(
        in_memory["DNase_interaction"], [float(row[15]) for row in rows[1:]], atol=1e-4
    )


def test_phase_sets_and_genotypes_without_phase(tmp_path, random_dna, bundle_folder):
    bases = random_dna(LENGTH, 7)
    other = {"A": "C", "C": "G", "G": "T", "T": "A"}

    def scored(calls, **more):
        lines = [
            f"chr1\t{pos}\t.\t{bases[pos - 1]}\t{other[bases[pos - 1]]}\t.\t.\t.\tGT:PS\t{call}"
            + "\t.:." * (SAMPLES - 1) + "\n"
            for pos, call in calls.items()
        ]  # fmt: skip
        settings = write(tmp_path / "x.vcf", bases, lines)
        found = score_variants(**settings, model=bundle_folder, haplotypes=True, **more)
        pairs = zip(found.pos.tolist(), found.haplotype.tolist(), found.background, strict=True)
        return {(pos, side): text.split(":")[0] for pos, side, text in pairs}

    same = scored({300: "0|1:5", 310: "0|1:5"})
    assert same == {(300, 2): "310", (310, 2): "300"}
    apart = {300: "0|1:5", 310: "0|1:9"}
    with pytest.raises(
        InputError, match=r"x.vcf:6: GT of S0 is of another phase set than in line 5"
    ):
        scored(apart)
    assert scored(apart, unphased="reference") == {(300, 2): ".", (310, 2): "."}
    swapped = {300: "0|1:5", 310: "1|0:9"}
    assert scored(swapped, unphased="both") == {(300, 2): "310", (310, 1): "300"}
    without = {300: "0/1:.", 310: "1|1:."}
    with pytest.raises(InputError, match=r"x.vcf:5: GT of S0 is 0/1, heterozygous without phase"):
        scored(without)
    assert scored(without, unphased="reference") == {(310, 1): ".", (310, 2): "."}
    assert scored(without, unphased="both") == {
        (300, 1): "310", (300, 2): "310", (310, 1): "300", (310, 2): "300",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"shifts": 3}, r"^haplotypes: shifts 3 is for alleles in the reference"),
        ({"score": "embedding"}, r"^haplotypes: score embedding is for"),
        ({"breakpoints": True}, r"^haplotypes: breakpoints is for"),
        ({"output": "out.vcf"}, r"^haplotypes: an allele has a row for each haplotype"),
    ],
)
def test_what_haplotypes_do_not_have(made, bundle_folder, more, message):
    settings, _, _ = made
    with pytest.raises(InputError, match=message):
        score_variants(**settings, model=bundle_folder, haplotypes=True, **more)
