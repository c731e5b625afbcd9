"""XSum: BBC articles with a summary of one sentence (Narayan et al. 2018, arXiv 1808.08745)."""

from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.datasets.text.reading import (
    Folder,
    need,
    open_folder,
    read_json_lines,
    read_json_value,
)
from dna_bigbird.datasets.text.summary_pairs import Pair
from dna_bigbird.errors import InputError
