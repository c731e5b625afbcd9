"""A toy genome with a run of N, lower case, and a chromosome shorter than one window."""

import numpy as np
import pytest

from dna_bigbird.genome import Genome


@pytest.fixture
def toy(tmp_path) -> Genome:
    """chr1 (20,000 bp, N at 9,000-9,100, lower case at 5,000-6,000), chr2 (12,000 bp), chrS (150 bp)."""
    rng = np.random.default_rng(0)
    chr1, chr2, short = ("".join(rng.choice(list("ACGT"), n)) for n in (20_000, 12_000, 150))
    chr1 = chr1[:5000] + chr1[5000:6000].lower() + chr1[6000:9000] + "N" * 100 + chr1[9100:]
    path = tmp_path / "toy.fa"
    path.write_text(f">chr1\n{chr1}\n>chr2\n{chr2}\n>chrS\n{short}\n")
    return Genome(path)
