"""Structural alleles as symbols, as sequences and in the edited FASTA: one window and one score."""

import numpy as np
import pysam
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, reverse_complement
from dna_bigbird.prediction.predict import predict
from dna_bigbird.prediction.score_variants import score_variants
from dna_bigbird.prediction.variants.effects import WindowCutter
from dna_bigbird.prediction.variants.sites import VariantSites

HEADER = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
LENGTH, WINDOW, NUMBER = 3000, 60, 500


def drawn(bases, number):
    """Return so many of (kind, start, end, the whole edited chromosome), of 2 to 150 bases."""
    rng = np.random.default_rng(0)
    made = []
    while len(made) < number:
        kind = str(rng.choice(["DEL", "DUP", "INV"]))
        size = int(rng.integers(2, 150))
        start = int(rng.integers(1, LENGTH - size - 1))
        end = start + size
        own = bases[start:end]
        new = {"DEL": "", "DUP": own + own, "INV": reverse_complement(own)}[kind]
        changed = bases[:start] + new + bases[end:]
        if changed != bases:  # a palindrome
            made.append((kind, start, end, changed))
    return made


@pytest.fixture(scope="module")
def made(tmp_path_factory, random_dna):
    """The genome (half of it over A and T, where edits can be moved), edits, a VCF of symbols, one of sequences."""
    folder = tmp_path_factory.mktemp("structural")
    bases = random_dna(LENGTH // 2, 3)
    bases += random_dna(LENGTH // 2, 4).translate(str.maketrans("CG", "AT"))
    (folder / "toy.fa").write_text(f">chr1\n{bases}\n")
    edits = drawn(bases, NUMBER)
    symbols, sequences = [HEADER], [HEADER]
    for kind, start, end, changed in edits:
        first = bases[start - 1]
        symbols.append(f"chr1\t{start}\t.\t{first}\t<{kind}>\t.\t.\tSVTYPE={kind};END={end}\n")
        stop = end + len(changed) - len(bases)
        alt = changed[start - 1 : stop]
        sequences.append(f"chr1\t{start}\t.\t{bases[start - 1 : end]}\t{alt}\t.\t.\t.\n")
    (folder / "symbols.vcf").write_text("".join(symbols))
    (folder / "sequences.vcf").write_text("".join(sequences))
    return folder, bases, edits


def moves(bases, changed):
    """Where a change begins and ends, and how far it can be moved: tried one after another."""
    short, long = sorted((bases, changed), key=len)
    size = len(long) - len(short)
    if not size:
        differ = [i for i in range(len(bases)) if bases[i] != changed[i]] or [0]
        return differ[0], differ[-1] + 1, None
    found = [i for i in range(len(short) + 1) if long[:i] + long[i + size :] == short]
    return min(found), max(found), size


def cut(bases, start, end):
    """The window centred on a place of the forward strand, and on the same place of the other."""
    both = []
    for text, first, stop in (
        (bases, start, end),
        (reverse_complement(bases), len(bases) - end, len(bases) - start),
    ):
        padded = "N" * 200 + text + "N" * 200
        begin = 200 + first + (stop - first) // 2 - WINDOW // 2
        both.append(padded[begin : begin + WINDOW])
    return both


def by_hand(kind, bases, changed):
    """Pairs of windows (reference, allele) for both strands, of each place that is scored."""
    first, last, size = moves(bases, changed)
    if size is None:
        places = [((first, last), (first, last))]
        if last - first > WINDOW // 2:
            places = [((x, x), (x, x)) for x in (first, last)]
        return [list(zip(cut(bases, *a), cut(changed, *b), strict=True)) for a, b in places]
    most = WINDOW // 2
    # Of a repeat its middle is taken, so much that the longer allele has half of the window.
    less = min(max(0, size + last - first - most + 1) // 2, (last - first) // 2)
    if size + last - first - 2 * less <= most:
        first, last = first + less, last - less
        # One window: the same flank before the bases that change, on each strand.
        of_ref = last + size if kind == "DEL" else last
        begin = first + (of_ref - first) // 2 - WINDOW // 2
        mirror = len(bases) - of_ref
        back = mirror + (of_ref - first) // 2 - WINDOW // 2
        pairs = []
        for text, other, start in (
            (bases, changed, begin),
            (reverse_complement(bases), reverse_complement(changed), back),
        ):
            pad = "N" * 200
            start += 200
            pairs.append(tuple((pad + x + pad)[start : start + WINDOW] for x in (text, other)))
        return [pairs]
    if last - first < size:
        ends, middle = [(first, last), (first + size, last + size)], (first, last)
        places = [(end, middle) if kind == "DEL" else (middle, end) for end in ends]
    else:
        ends = [(first, last - size), (first + size, last)]
        middle = (first + size, last)
        places = [(middle, end) if kind == "DEL" else (end, middle) for end in ends]
    return [list(zip(cut(bases, *a), cut(changed, *b), strict=True)) for a, b in places]


def windows_of(vcf, fasta):
    genome = Genome(fasta)
    cut_windows = WindowCutter(genome, WINDOW, "both")
    with VariantSites(vcf, genome, window_bp=WINDOW).open() as (_, sites):
        return [[windows for _, windows in cut_windows(site)] for site in sites]


def test_a_symbol_a_sequence_and_the_edited_genome_have_one_score(made, bundle_folder):
    folder, bases, edits = made
    fasta = folder / "toy.fa"
    of_symbols = windows_of(folder / "symbols.vcf", fasta)
    assert of_symbols == windows_of(folder / "sequences.vcf", fasta)
    expected = [by_hand(kind, bases, changed) for kind, _, _, changed in edits]
    flat = [[[w for pair in place for w in pair] for place in places] for places in expected]
    assert of_symbols == flat
    settings = {"fasta": fasta, "model": bundle_folder, "window": WINDOW}
    symbols = score_variants(folder / "symbols.vcf", **settings)
    sequences = score_variants(folder / "sequences.vcf", **settings)
    assert len(symbols.diff) == NUMBER
    np.testing.assert_allclose(symbols.diff, sequences.diff, atol=1e-6, rtol=0)
    np.testing.assert_allclose(symbols.log_odds, sequences.log_odds, atol=1e-6, rtol=0)
    texts = [w for places in flat for place in places for w in place]
    p = predict(
        sequences=texts, model=bundle_folder, window=WINDOW, strand="forward", precision="32-true"
    ).probabilities.astype(float)
    diff = np.empty((NUMBER, 2))
    position = 0
    for row, places in enumerate(flat):
        both = p[position : position + 4 * len(places)].reshape(
            -1, 2, 2, 2
        )  # place, strand, allele, label
        position += 4 * len(places)
        logit = np.log(both) - np.log1p(-both)
        size = np.abs((logit[:, :, 1] - logit[:, :, 0]).mean(axis=1))
        changes = (both[:, :, 1] - both[:, :, 0]).mean(axis=1)
        diff[row] = changes[size.argmax(axis=0), [0, 1]]
    np.testing.assert_allclose(symbols.diff, diff, atol=1e-6, rtol=0)
    assert np.abs(diff).max() > 1e-3
    long = sum(len(places) == 2 for places in flat)
    assert 200 < long < 450
    assert any(f"longer than 30 bp: {long} of" in note for note in symbols.notes)


def test_rows_of_breakpoints(made, bundle_folder, tmp_path):
    """Of alleles of 50 bases and more; the larger of the two is the score of an allele that is too long."""
    folder, _, edits = made
    settings = {"vcf": folder / "symbols.vcf", "fasta": folder / "toy.fa", "model": bundle_folder}
    for window in (60, 400):
        whole = score_variants(**settings, window=window)
        parts = score_variants(**settings, window=window, breakpoints=True)
        frame = parts.to_dataframe("log_odds")
        assert set(frame["site"]) == {".", "span", "left", "right"}
        row = 0
        for index, (kind, start, end, _) in enumerate(edits):
            name = parts.site[row]
            if name == ".":
                np.testing.assert_allclose(parts.diff[row], whole.diff[index], atol=1e-6)
                assert end - start < 50 or kind == "INV"
                row += 1
                continue
            assert parts.site[row : row + 3] == ["span", "left", "right"]
            span, left, right = parts.log_odds[row : row + 3]
            if np.isnan(span).all():
                assert end - start >= window // 2
                span = np.where(np.abs(left) >= np.abs(right), left, right)
            np.testing.assert_allclose(span, whole.log_odds[index], atol=1e-5)
            assert np.isfinite([left, right]).all()
            row += 3
        assert row == len(parts.diff)


def test_vcf_out_keeps_what_cannot_be_built(made, bundle_folder, tmp_path):
    folder, bases, _ = made
    lines = [
        f"chr1\t100\tdel\t{bases[99]}\t<DEL>\t.\t.\tSVTYPE=DEL;END=400\n",
        "chr1\t500\tins\tN\t<INS>\t.\t.\tSVTYPE=INS;SVLEN=300\n",
        f"chr1\t600\tbnd\t{bases[599]}\t{bases[599]}[chr1:900[\t.\t.\tSVTYPE=BND\n",
        f"chr1\t700\tfar\t{bases[699]}\t{bases[699]}[chr9:900[\t.\t.\tSVTYPE=BND\n",
    ]
    path = tmp_path / "sv.vcf"
    header = HEADER.replace("#CHROM", "##contig=<ID=chr1>\n##contig=<ID=chr9>\n#CHROM")
    path.write_text(header + "".join(lines))
    settings = {"vcf": path, "fasta": folder / "toy.fa", "model": bundle_folder, "window": WINDOW}
    summary = score_variants(**settings, output=tmp_path / "out.vcf.gz")
    assert summary.skipped == {"symbolic insertion without its sequence": 1, "breakend": 1}
    with pysam.VariantFile(str(tmp_path / "out.vcf.gz")) as records:
        has_score = {record.id: "BB_CTCF_DIFF" in record.info for record in records}
    assert has_score == {"del": True, "ins": False, "bnd": True, "far": False}
    path.write_text(header + lines[0].replace("END=400", "END=4000"))
    with pytest.raises(
        InputError, match=r"sv.vcf:5: an allele reaches base 4000 of chr1, which has 3000"
    ):
        score_variants(**settings)
    with pytest.raises(InputError, match=r"^breakpoints: .* a table is written, not a VCF"):
        score_variants(**settings, breakpoints=True, output=tmp_path / "other.vcf")
    with pytest.raises(InputError, match=r"^breakpoints: score likelihood scores no"):
        score_variants(**settings, breakpoints=True, score="likelihood")
