"""The VCF is valid, and its variants do to the sites what it says."""

import pytest

COMPLEMENT = {"A": "T", "C": "G", "G": "C", "T": "A"}


def read(sequence: str, row: dict) -> str:
    bases = sequence[row["start"] : row["end"]]
    if row["strand"] == "+":
        return bases
    return "".join(COMPLEMENT[base] for base in reversed(bases))


def of_effect(variants, effect):
    return [v for v in variants if v["EFFECT"] == effect]


def site_at(truth, kind, variant):
    position = variant["pos"] - 1
    (row,) = [r for r in truth if r["kind"] == kind and r["start"] <= position < r["end"]]
    return row


def with_alt(sequence, variant):
    position = variant["pos"] - 1
    assert sequence[position] == variant["ref"]
    return sequence[:position] + variant["alt"] + sequence[position + 1 :]


def test_header_names_the_version_and_the_contig(folder):
    header = [line for line in (folder / "variants.vcf").read_text().splitlines() if line[0] == "#"]
    assert header[0] == "##fileformat=VCFv4.2"
    assert "##contig=<ID=demo22,length=1000000>" in header
    assert " ".join(header[-1].split("\t")) == "#CHROM POS ID REF ALT QUAL FILTER INFO"
    used = {"EFFECT", "LABEL", "FACTOR", "ELEMENT", "COPIES", "DELTA_BITS"}
    declared = {h.split("ID=")[1].split(",")[0] for h in header if h.startswith("##INFO")}
    assert declared == used


def test_records_are_sorted_distinct_substitutions(variants, sequence):
    positions = [v["pos"] for v in variants]
    assert positions == sorted(set(positions))
    for v in variants:
        assert v["chrom"] == "demo22"
        assert sequence[v["pos"] - 1] == v["ref"]
        assert v["alt"] in "ACGT"
        assert v["alt"] != v["ref"]


def test_there_are_enough_of_each_kind(variants):
    assert len(of_effect(variants, "break")) == 300
    assert len(of_effect(variants, "create")) >= 50
    assert len(of_effect(variants, "none")) == 300


def test_breaking_lowers_the_score(variants, truth, sequence, score):
    for v in of_effect(variants, "break"):
        row = site_at(truth, "site", v)
        assert (row["name"], row["belongs_to"]) == (v["FACTOR"], v["ELEMENT"])
        matrix = row["note"]["matrix"]
        after = score(matrix, read(with_alt(sequence, v), row))
        delta = after - score(matrix, read(sequence, row))
        assert delta == pytest.approx(float(v["DELTA_BITS"]), abs=2e-3)
        assert delta <= -3


def test_creating_restores_the_site(variants, truth, sequence, score):
    for v in of_effect(variants, "create"):
        row = site_at(truth, "decoy", v)
        matrix = row["note"]["matrix"]
        repaired = read(with_alt(sequence, v), row)
        assert repaired == row["note"]["intact"]
        delta = score(matrix, repaired) - score(matrix, read(sequence, row))
        assert delta == pytest.approx(float(v["DELTA_BITS"]), abs=2e-3)
        assert delta > 0
        assert v["LABEL"] == v["FACTOR"] == row["name"]


def test_labels_of_broken_sites_have_a_peak_there(variants, peaks):
    partners = {"IRF1": "STAT1", "RUNX1": "GATA1", "HNF4A": "FOXA1"}
    seen = set()
    for v in of_effect(variants, "break"):
        seen.add(v["FACTOR"])
        for label in v["LABEL"].split(","):
            if partners.get(v["FACTOR"]) == label or (v["FACTOR"], label) == ("TEAD1", "MEF2A"):
                continue  # a partner may stand in an element of its own
            names = {n for s, e, ns in peaks[label] if s <= v["pos"] - 1 < e for n in ns}
            assert v["ELEMENT"] in names
    assert set(partners) <= seen  # variants in partners are there
    assert len(seen) >= 15


def test_copies_counts_the_sites_of_the_element(variants, truth):
    for v in of_effect(variants, "break"):
        same = [
            r
            for r in truth
            if r["kind"] == "site" and (r["name"], r["belongs_to"]) == (v["FACTOR"], v["ELEMENT"])
        ]
        assert int(v["COPIES"]) == len(same)


def test_neutral_variants_touch_no_site(variants, truth, sequence, score):
    planted = [r for r in truth if r["kind"] in ("site", "decoy")]
    matrices = {r["note"]["matrix"]: r["end"] - r["start"] for r in planted}
    matrices = {m: w for m, w in matrices.items() if m.startswith("MA")}
    inside = 0
    for v in of_effect(variants, "none"):
        position = v["pos"] - 1
        assert not any(r["start"] <= position < r["end"] for r in planted)
        inside += "LABEL" in v
    assert inside == 150
    for v in of_effect(variants, "none")[:40]:
        position = v["pos"] - 1
        for text in (sequence, with_alt(sequence, v)):
            for matrix, width in matrices.items():
                for start in range(position - width + 1, position + 1):
                    for strand in "+-":
                        row = {"start": start, "end": start + width, "strand": strand}
                        assert score(matrix, read(text, row)) < 0.7 * score.best(matrix)
