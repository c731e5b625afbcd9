"""A toy genome: a long gap, single N, lower case, IUPAC codes, a short chromosome."""

import numpy as np
import pytest

from dna_bigbird.genome import Genome

GAP = (60_000, 62_000)
SHORT_RUN = (30_000, 30_010)


def random_bases(count: int, seed: int) -> str:
    return "".join(np.random.default_rng(seed).choice(list("ACGT"), count))


@pytest.fixture(scope="session")
def toy_genome(tmp_path_factory) -> Genome:
    """chr1 of 150 kb: N at 0-300, ten N at 30,000, a gap at 60,000-62,000; chr2 of 400 bases."""
    letters = list(random_bases(150_000, seed=1))
    letters[0:300] = "N" * 300
    letters[slice(*SHORT_RUN)] = "N" * 10
    letters[slice(*GAP)] = "N" * 2000
    letters[70_000:70_004] = "RYkm"
    letters[80_000:90_000] = "".join(letters[80_000:90_000]).lower()
    path = tmp_path_factory.mktemp("genome") / "toy.fa"
    lines = ["".join(letters)[i : i + 60] for i in range(0, len(letters), 60)]
    path.write_text(">chr1\n" + "\n".join(lines) + "\n>chr2 short\n" + random_bases(400, 2) + "\n")
    return Genome(path)
