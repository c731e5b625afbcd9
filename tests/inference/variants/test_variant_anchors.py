"""Windows that keep the start site at its base: rebuilt from pyfaidx, scored by the model itself."""

import numpy as np
import pyfaidx
import pytest
import torch

from dna_bigbird import load_bundle, mutagenesis, score_variants
from dna_bigbird.core.errors import InputError

UPSTREAM, WINDOW = 249, 300
"""Of the bundled model: the start site is base 250."""
PLUS, MINUS, NEXT = 700, 1400, 730
"""0-based start sites on chr1; NEXT is on + too, so its window overlaps that of PLUS."""


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("genome") / "toy.fa"
    path.write_text(f">chr1\n{''.join(rng.choice(list('ACGT'), 2000))}\n")
    rows = [(PLUS, "P", "+"), (MINUS, "M", "-"), (NEXT, "Q", "+")]
    lines = [f"chr1\t{start}\t{start + 1}\t{name}\t0\t{strand}\n" for start, name, strand in rows]
    path.with_name("sites.bed").write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def log_odds():
    """Return the logit of the bundled model for a window, read as it is."""
    bundle = load_bundle("bundled-tata")
    bundle.model.eval()

    def of(text):
        assert len(text) == WINDOW
        tokenizer = bundle.tokenizer
        ids = [tokenizer.cls_id, *tokenizer.encode(text).tolist(), tokenizer.sep_id]
        ids = torch.tensor(ids)[None]
        with torch.no_grad():
            return float(bundle.model(ids, torch.zeros_like(ids, dtype=torch.bool)))

    return of


def window_by_hand(path, strand, site, edits=()):
    """Return the window of a site in the edited chromosome: 249 bases before it, itself, 50 after."""
    with pyfaidx.Fasta(str(path)) as fasta:
        bases = list(fasta["chr1"][:].seq)
    marked = [[letter, i == site] for i, letter in enumerate(bases)]
    for pos, ref, alt in edits:  # 0-based
        assert "".join(bases[pos : pos + len(ref)]) == ref
        kept = any(is_site for _, is_site in marked[pos : pos + len(ref)])
        marked[pos : pos + len(ref)] = [[x, kept and i == 0] for i, x in enumerate(alt)]
    if strand == "-":
        marked = [[x.translate(str.maketrans("ACGT", "TGCA")), y] for x, y in reversed(marked)]
    (here,) = (i for i, (_, is_site) in enumerate(marked) if is_site)
    return "".join(x for x, _ in marked[here - UPSTREAM : here - UPSTREAM + WINDOW])


def write_vcf(path, genome, edits):
    lines = [
        f"chr1\t{pos + 1}\tv{i}\t{ref}\t{alt}\t.\t.\t.\n" for i, (pos, ref, alt) in enumerate(edits)
    ]
    header = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    path.write_text(header + "".join(lines))
    return path


@pytest.fixture
def edits(genome):
    """A substitution, an insertion and a deletion on either side of a site; one variant far from all."""
    with pyfaidx.Fasta(str(genome)) as fasta:
        bases = fasta["chr1"][:].seq

    def other(letter):
        return "ACGT"[("ACGT".index(letter) + 1) % 4]

    return [
        (50, bases[50], other(bases[50])),
        (470, bases[470], other(bases[470])),
        (600, bases[600], bases[600] + "GATTACA"),
        (680, bases[680:688], bases[680]),
        (PLUS, bases[PLUS], other(bases[PLUS])),
        (745, bases[745], bases[745] + "CCGATCC"),
        (1380, bases[1380:1386], bases[1380]),
        (1430, bases[1430], bases[1430] + "TATAAAA"),
    ]


def test_variants_are_scored_in_the_windows_of_sites(genome, log_odds, edits, tmp_path):
    vcf = write_vcf(tmp_path / "v.vcf", genome, edits)
    result = score_variants(vcf, genome, sites=genome.with_name("sites.bed"), threads=1)
    rows = list(zip(result.pos, result.site, result.log_odds[:, 0], strict=True))
    sites = {"P": (PLUS, "+"), "Q": (NEXT, "+"), "M": (MINUS, "-")}
    expected = {470: "P", 600: "PQ", 680: "PQ", PLUS: "PQ", 745: "PQ", 1380: "M", 1430: "M"}
    assert [(pos - 1, name) for pos, name, _ in rows] == [(50, ".")] + [
        (pos, name) for pos, names in expected.items() for name in names
    ]
    assert np.isnan(rows[0][2])
    assert result.skipped == {"outside of the windows of --sites": 1}
    edit_at = {pos: (pos, ref, alt) for pos, ref, alt in edits}
    for pos, name, value in rows[1:]:
        site, strand = sites[name]
        changed = window_by_hand(genome, strand, site, [edit_at[pos - 1]])
        effect = log_odds(changed) - log_odds(window_by_hand(genome, strand, site))
        assert value == pytest.approx(effect, abs=2e-4), (pos, name)


def test_the_table_has_a_row_for_each_site(genome, edits, tmp_path):
    vcf = write_vcf(tmp_path / "v.vcf", genome, edits)
    options = {"sites": genome.with_name("sites.bed"), "threads": 1}
    score_variants(vcf, genome, output=tmp_path / "out.tsv", **options)
    lines = [x.split("\t") for x in (tmp_path / "out.tsv").read_text().splitlines()]
    memory = score_variants(vcf, genome, **options)
    assert lines[0][:6] == ["chrom", "pos", "id", "ref", "alt", "site"]
    assert [x[5] for x in lines[1:]] == memory.site == memory.to_dataframe()["site"].tolist()
    assert np.array([float(x[7]) for x in lines[1:]]) == pytest.approx(
        memory.log_odds[:, 0], rel=1e-4, nan_ok=True
    )


@pytest.mark.parametrize(("strand", "site"), [("forward", PLUS), ("reverse", MINUS)])
def test_mutagenesis_within_the_window_of_a_site(genome, log_odds, strand, site):
    first = site - UPSTREAM if strand == "forward" else site + 1 - (WINDOW - UPSTREAM)
    changed = site - 30 if strand == "forward" else site + 30
    region = f"chr1:{changed + 1}-{changed + 1}"
    result = mutagenesis(
        genome, region, within=f"chr1:{first + 1}-{first + WINDOW}", threads=1,
        strand=None if strand == "forward" else strand,
    )  # fmt: skip
    sign = "+" if strand == "forward" else "-"
    plain = log_odds(window_by_hand(genome, sign, site))
    for column, alt in enumerate("ACGT"):
        edit = (changed, result.reference, alt)
        effect = log_odds(window_by_hand(genome, sign, site, [edit])) - plain
        assert result.log_odds[0, column, 0] == pytest.approx(effect, abs=2e-4)
    assert not any("aligned on" in line for line in result.notes)


def test_without_an_anchor_one_line_forbids_to_read_the_scores(
    genome, edits, tmp_path, without_anchor
):
    vcf = write_vcf(tmp_path / "v.vcf", genome, edits[:1])
    aligned = r"aligned on base 250 of 300"
    for notes, option in (
        (score_variants(vcf, genome, threads=1).notes, "--sites"),
        (mutagenesis(genome, "chr1:700-700", threads=1).notes, "--within"),
    ):
        assert "the card of this model does not cover variants" in notes
        (line,) = (x for x in notes if aligned in x)
        assert option in line
    other = score_variants(vcf, genome, model=without_anchor, threads=1).notes
    assert not any("aligned" in line for line in other)


def test_the_strand_is_that_of_the_bundle(genome, edits, tmp_path):
    vcf = write_vcf(tmp_path / "v.vcf", genome, edits)
    given = score_variants(vcf, genome, threads=1).log_odds
    assert np.array_equal(given, score_variants(vcf, genome, strand="forward", threads=1).log_odds)
    general = {"model": "bundled-any-promoter", "threads": 1}
    given = score_variants(vcf, genome, **general).log_odds
    assert np.array_equal(given, score_variants(vcf, genome, strand="both", **general).log_odds)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "out.vcf"}, r"sites .*sites\.bed: a variant has a row for each site"),
        ({"strand": "both"}, r"strand both: the windows of sites"),
        ({"shifts": 3}, r"shifts 3: the windows of sites"),
        ({"window": 200}, r"window 200: .* aligned on base 250 of 300"),
    ],
)
def test_what_contradicts_sites_is_one_line(genome, edits, tmp_path, options, message):
    vcf = write_vcf(tmp_path / "v.vcf", genome, edits)
    if "output" in options:
        options = {"output": tmp_path / options["output"]}
    with pytest.raises(InputError, match=message):
        score_variants(vcf, genome, sites=genome.with_name("sites.bed"), threads=1, **options)
    assert not (tmp_path / "out.vcf").exists()
