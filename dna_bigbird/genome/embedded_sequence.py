"""The real sequence that the demo plants into."""

import gzip
import hashlib
from importlib import resources

from dna_bigbird.core.errors import InputError

CHROM = "demo22"
"""Record name of the demo genome."""
LENGTH = 1_000_000
GAP = (509_431, 609_431)
"""The assembly gap of N, 0-based and half-open."""
FILE_NAME = "hg19_chr22_20000001-21000000.fa.gz"
SEQUENCE_SHA256 = "75a16db26fa56d3eb6e4a569cbc8bfc3fa370fe3937f3729054b881d95d6b085"


def load_background() -> str:
    """Return hg19 chr22:20,000,001-21,000,000 in upper case, as the package ships it."""
    resource = resources.files("dna_bigbird.genome") / "data" / FILE_NAME
    text = gzip.decompress(resource.read_bytes()).decode("ascii")
    sequence = "".join(text.splitlines()[1:])
    sha256 = hashlib.sha256(sequence.encode()).hexdigest()
    if sha256 != SEQUENCE_SHA256:
        raise InputError(
            f"{FILE_NAME}: sha256 of the sequence is {sha256}, expected {SEQUENCE_SHA256}; "
            "the installed package is damaged. Install it again"
        )
    return sequence
