"""Regions as samtools writes them."""

import pytest

from dna_bigbird.genome.interval import parse_region


@pytest.mark.parametrize(
    "span",
    [
        "1_000-2_000",
        "\u0661-\u0662",
        "1-" + "9" * 5000,
        "1-" + "9" * 19,
        " 1-2",
        "+1-2",
        "1.0-2",
        "0x1-2",
    ],
)
def test_positions_are_plain_whole_numbers(span):
    with pytest.raises(ValueError, match="chr1:"):
        parse_region(f"chr1:{span}")
