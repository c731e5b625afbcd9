"""The share of start sites that are a purine behind a pyrimidine, and when it is a warning."""

import numpy as np
import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.labelled.promoter.promoter_set_run import StartSignal, start_signal


@pytest.fixture
def toy(tmp_path):
    (tmp_path / "toy.fa").write_text(">chr1\nTACGNATCAG\n>chr2\nCA\n")
    return Genome(tmp_path / "toy.fa")


@pytest.mark.parametrize(
    ("chrom", "start", "strand", "expected"),
    [
        ("chr1", 1, "+", (1, 1)),  # T before A
        ("1", 1, "+", (1, 1)),
        ("chr1", 2, "+", (1, 0)),  # A before C
        ("chr1", 3, "+", (1, 1)),  # C before G
        ("chr1", 1, "-", (1, 0)),  # on - it reads G before T
        ("chr1", 0, "-", (0, 0)),  # no room on one side
        ("chr1", 2, "-", (1, 1)),  # C at +2 reads as G, behind the C that G reads as
        ("chr1", 4, "+", (0, 0)),  # N at +1
        ("chr1", 5, "+", (0, 0)),  # N at -1
        ("chr1", 8, "+", (1, 1)),
        ("chr1", 9, "+", (0, 0)),
        ("chr1", 50, "+", (0, 0)),
        ("chr9", 5, "+", (0, 0)),
    ],
)
def test_one_site(toy, chrom, start, strand, expected):
    found = start_signal(toy, [Interval(chrom, start, start + 1, strand)])
    assert (found.n, found.hits) == expected


def test_equal_sites_count_once(toy):
    site = Interval("chr1", 1, 2, "+")
    assert start_signal(toy, [site, site, Interval("chr1", 3, 4, "+")]) == StartSignal(2, 2)


@pytest.mark.parametrize(
    ("n", "hits", "warns"),
    [
        (133, 90, False),  # 68 %
        (131, 31, True),  # 24 %: on another assembly
        (105, 6, True),  # 6 %: one base off
        (100, 34, False),  # 34 %: the interval begins above 25 %
        (100, 33, True),
        (50, 12, True),
        (49, 12, False),  # too few to tell
        (0, 0, False),
    ],
)
def test_when_it_warns(n, hits, warns):
    assert (StartSignal(n, hits).warning() is not None) == warns
    assert "\n" not in str(StartSignal(n, hits)) + (StartSignal(n, hits).warning() or "")


def test_the_command_says_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    letters = np.random.default_rng(0).choice(list("ACGT"), 40_000)
    starts = np.arange(500, 39_000, 500)
    (tmp_path / "random.fa").write_text(f">chr1\n{''.join(letters)}\n")
    letters[starts - 1], letters[starts] = "C", "A"
    (tmp_path / "right.fa").write_text(f">chr1\n{''.join(letters)}\n")
    rows = "".join(f"chr1\t{s}\t{s + 1}\tp\t0\t+\n" for s in starts)
    (tmp_path / "sites.bed").write_text(rows)
    for name in ("right", "random"):
        files = f"--genome={name}.fa --sites=sites.bed --output={name}.h5 --assembly=toy"
        main(
            ["promoter-set", *files.split(), "--upstream=60", "--downstream=40", "--split.test=[]"]
        )
    right, random = capsys.readouterr().err.split("start sites: ")[1:]
    assert right.startswith(
        "100% have a pyrimidine at -1 and a purine at +1 (95% CI 95-100%, n = 77)"
    )
    assert "by chance: are" not in right
    assert random.count("dna-bigbird: note: only ") == 1
    assert (
        "of 77 start sites have a pyrimidine at -1 and a purine at +1, no more than by chance"
        in random
    )
    assert "the sites on another assembly than the genome, or off by one base?" in random
