"""`predict` on the haplotypes of a sample: the windows of `bcftools consensus`, found by its chain."""

import numpy as np
import pysam
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import reverse_complement
from dna_bigbird.prediction.predict import predict
from dna_bigbird.prediction.windows.inputs import window_source
from tests.genome.test_haplotypes import HEADER, consensus, draw_records

LENGTH, WINDOW, SAMPLES = 2000, 60, 100
NAMES = [f"S{i}" for i in range(SAMPLES)]
TILES = {"window": WINDOW, "stride": 40, "model_bp": WINDOW}


@pytest.fixture(scope="module")
def made(tmp_path_factory, random_dna):
    folder = tmp_path_factory.mktemp("haplotypes")
    bases = random_dna(LENGTH, 5)
    (folder / "x.fa").write_text(f">chr1\n{bases}\n")
    lines = draw_records(bases, np.random.default_rng(5), SAMPLES)
    (folder / "x.vcf").write_text(HEADER.format(LENGTH, "\t".join(NAMES)) + "".join(lines))
    pysam.tabix_compress(str(folder / "x.vcf"), str(folder / "x.vcf.gz"))
    pysam.tabix_index(str(folder / "x.vcf.gz"), preset="vcf")
    rows = ["chr1\t100\t160\tone\t0\t+", "1\t500\t733\ttwo\t0\t-", "chr1\t1900\t2000\t.\t0\t+"]
    (folder / "x.bed").write_text("".join(f"{row}\n" for row in rows))
    return folder


def source_of(folder, sample, strand="both", **more):
    tiles = TILES | {"strand": strand} | more
    haplotypes = (folder / "x.vcf.gz", sample, "error")
    return window_source(folder / "x.fa", folder / "x.bed", None, haplotypes=haplotypes, **tiles)


def test_windows_of_200_haplotypes_are_those_of_bcftools(made):
    """As many bases around the base that the chain gives for the middle of the reference window."""
    reference = window_source(made / "x.fa", made / "x.bed", None, strand="interval", **TILES)
    expected = list(reference.windows())
    deleted = compared = 0
    for name in NAMES:
        source = source_of(made, name, "interval")
        windows = list(source.windows())
        assert len(windows) == source.count == 2 * len(expected)
        for number in (1, 2):
            bases, pairs = consensus(
                made / "x.fa", made / "x.vcf.gz", name, number, made / "x.chain"
            )
            on_haplotype = dict(pairs)
            for row, window in zip(expected, windows[number - 1 :: 2], strict=True):
                assert (row.name, row.start, row.end) == (window.name, window.start, window.end)
                label = (
                    f"{name}:{number}" if row.row_name == "." else f"{row.row_name}:{name}:{number}"
                )
                assert window.row_name == label
                middle = (row.start + row.end) // 2
                if middle not in on_haplotype:
                    deleted += 1
                    continue
                start = on_haplotype[middle] - (middle - row.start)
                padded = bases + "N" * WINDOW
                found = padded[start : start + row.end - row.start]
                assert window.forward == found
                assert window.bases == (reverse_complement(found) if row.is_reverse else found)
                compared += 1
    assert compared > 10 * deleted > 0


def test_any_row_may_be_the_first(made):
    source = source_of(made, "S7")
    windows = list(source.windows())
    for first in range(len(windows)):
        assert list(source.windows(first)) == windows[first:]


def test_predictions_are_those_of_the_haplotypes(made, bundle_folder, tmp_path):
    settings = {
        "fasta": made / "x.fa", "bed": made / "x.bed", "model": bundle_folder, "window": WINDOW,
        "precision": "32-true",
    }  # fmt: skip
    of_sample = {"vcf": made / "x.vcf", "sample": "S3"}
    found = predict(**settings, **of_sample)
    texts = [x.bases for x in source_of(made, "S3", stride=WINDOW).windows()]
    expected = predict(
        sequences=texts, model=bundle_folder, window=WINDOW, precision="32-true"
    ).probabilities
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-6)
    assert found.name[:2].tolist() == ["one:S3:1", "one:S3:2"]
    plain = predict(**settings)
    np.testing.assert_array_equal(found.start[::2], plain.start)
    assert np.abs(found.probabilities[::2] - plain.probabilities).max() > 1e-3
    assert any("alleles on the two haplotypes of S3 near the regions" in x for x in found.notes)
    predict(**settings, **of_sample, output=tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text().splitlines()[1].startswith("chr1\t100\t160\t")


def test_alleles_of_every_kind(tmp_path, bundle_folder, random_dna):
    """A deletion as a symbol, overlapping alleles, several phase sets, and what has no bases."""
    bases = random_dna(600, 8)
    (tmp_path / "x.fa").write_text(f">chr1\n{bases}\n")
    (tmp_path / "x.bed").write_text("chr1\t280\t340\n")
    other = {"A": "C", "C": "G", "G": "T", "T": "A"}
    at = {pos: (bases[pos - 1], other[bases[pos - 1]]) for pos in (10, 305, 320, 330)}
    lines = [
        "chr1\t10\t.\tN\tC\t.\t.\t.\tGT\t1|1\n",  # far from the region: not read
        f"chr1\t300\t.\t{bases[299]}\t<DEL>\t.\t.\tEND=310\tGT:PS\t0|1:4\n",
        f"chr1\t305\t.\t{at[305][0]}\t{at[305][1]}\t.\t.\t.\tGT\t1|1\n",
        f"chr1\t320\t.\t{at[320][0]}\t<INS>,*\t.\t.\t.\tGT\t1|2\n",
        f"chr1\t330\t.\t{at[330][0]}\t{at[330][1]}\t.\t.\t.\tGT:PS\t1|0:330\n",
    ]
    (tmp_path / "x.vcf").write_text(HEADER.format(600, "S0") + "".join(lines))
    haplotypes = (tmp_path / "x.vcf", None, "error")
    source = window_source(
        tmp_path / "x.fa", tmp_path / "x.bed", None, haplotypes=haplotypes, **TILES
    )
    first, second = (x.bases for x in source.windows())
    whole = bases[:304] + at[305][1] + bases[305:329] + at[330][1] + bases[330:]
    assert first == whole[280:340]
    whole = bases[:300] + bases[310:]
    assert second == whole[270:330]  # its middle is base 310
    assert source.records.lines() == [
        "3 alleles on the two haplotypes of S0 near the regions",
        "left out: 1 symbolic insertion without its sequence, 1 overlapping deletion (*), 1 overlap with "
        "another allele",
        "the VCF has several phase sets: which haplotype is 1 and which is 2 is the same within each only",
    ]
    wrong = lines[2].replace(f"\t{at[305][0]}\t", f"\t{at[305][1]}\t")
    (tmp_path / "x.vcf").write_text(HEADER.format(600, "S0") + wrong)
    with pytest.raises(InputError, match=r"x.vcf:5: REF is '.' at chr1:305, but x.fa has"):
        window_source(tmp_path / "x.fa", tmp_path / "x.bed", None, haplotypes=haplotypes, **TILES)


def test_what_haplotypes_need(made, bundle_folder, tmp_path):
    settings = {"fasta": made / "x.fa", "model": bundle_folder, "vcf": made / "x.vcf"}
    with pytest.raises(
        InputError, match=r"^vcf .*x.vcf: haplotypes are read in the regions of a bed"
    ):
        predict(**settings)
    settings |= {"bed": made / "x.bed"}
    with pytest.raises(InputError, match=r"x.vcf has 100 samples; name one with sample"):
        predict(**settings)
    with pytest.raises(
        InputError, match=r"^sample NA1: .*x.vcf has no such sample; it has S0, S1,"
    ):
        predict(**settings, sample="NA1")
    with pytest.raises(InputError, match=r"^sample S1 is a sample of a vcf file"):
        predict(settings["fasta"], bed=settings["bed"], model=bundle_folder, sample="S1")
    with pytest.raises(
        InputError, match=r"^vcf: the rows of two haplotypes are written as a table"
    ):
        predict(**settings, sample="S1", output=tmp_path / "x.bw", labels="CTCF")
