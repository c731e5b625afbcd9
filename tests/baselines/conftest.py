"""A small labelled set whose answer is known."""

import numpy as np
import pytest

from dna_bigbird.cli.main import main


def build(folder, upstream, downstream):
    main(
        [
            "promoter-set",
            f"--genome={folder / 'toy.fa'}",
            f"--sites={folder / 'sites.bed'}",
            f"--output={folder / 'set.h5'}",
            "--assembly=toy",
            f"--upstream={upstream}",
            f"--downstream={downstream}",
            "--split.validation=[chr1:30001-40000]",
            "--split.test=[chr1:40001-60000]",
        ]
    )


@pytest.fixture
def promoters(tmp_path):
    """A genome of A and T, with a GC-rich stretch at every start site."""
    rng = np.random.default_rng(0)
    bases = rng.choice(list("AT"), 60_000)
    sites = range(500, 60_000, 500)
    for site in sites:
        bases[site - 50 : site + 50] = rng.choice(list("CCGA"), 100)
    (tmp_path / "toy.fa").write_text(">chr1\n" + "".join(bases) + "\n")
    rows = (f"chr1\t{s}\t{s + 1}\tp{s}\t0\t{'+-'[i % 2]}\n" for i, s in enumerate(sites))
    (tmp_path / "sites.bed").write_text("".join(rows))
    build(tmp_path, upstream=200, downstream=100)
    return tmp_path


@pytest.fixture
def build_set():
    """Function (folder, upstream, downstream): build the set of that folder again."""
    return build
