"""DNA and files for the readers of suites."""

import gzip

import numpy as np
import pytest


@pytest.fixture(scope="session")
def human_dna(real_data):
    """Function (start, length) -> bases of hg19 chr22 from a 0-based position on, as the file has them."""
    from dna_bigbird.genome import Genome

    genome = Genome(real_data / "genome" / "hg19_chr22_1-21000000.fa.gz")

    def cut(start, length):
        from dna_bigbird.genome import Interval

        return genome.fetch(Interval("chr22", start, start + length))

    return cut


@pytest.fixture
def write(tmp_path):
    """Function (path below the folder, text) -> path; a name that ends with .gz is compressed."""

    def to_file(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
        return path

    return to_file


@pytest.fixture
def toy_genome(tmp_path):
    """FASTA with `chr1` of 4,000 seeded bases, some in lower case, and its sequence in upper case."""
    bases = "".join(np.random.default_rng(0).choice(list("ACGT"), 4000))
    path = tmp_path / "toy.fa"
    path.write_text(f">chr1\n{bases[:2000]}{bases[2000:].lower()}\n")
    return path, bases
