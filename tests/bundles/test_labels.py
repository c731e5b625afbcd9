"""Labels by name or pattern."""

import pytest

from dna_bigbird.bundles.choice import choose_labels
from dna_bigbird.core.errors import InputError

NAMES = ["GM12878|CTCF", "GM12878|DNase", "K562|CTCF", "odd[1]", "odd1"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (None, [0, 1, 2, 3, 4]),
        ("K562|CTCF", [2]),
        ("*CTCF , GM12878*", [0, 1, 2]),
        (["K562*", "GM12878|CTCF", "K562|CTCF"], [0, 2]),
        ("odd[1]", [3]),
        ("odd[12]", [4]),
        ("odd?", [4]),
    ],
)
def test_names_and_patterns(wanted, expected):
    assert choose_labels(NAMES, wanted) == expected


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            "*CTCF,k562|ctcf",
            r"--labels k562\|ctcf: the model has no such label; near are K562\|CTCF",
        ),
        ("K562|CTFC", r"near are K562\|CTCF"),
        ("*DNASE*", r"near are GM12878\|DNase"),
        ("zebra", r"it has GM12878\|CTCF, .*, odd1$"),
        (",", "names no label"),
        ([], "names no label"),
    ],
)
def test_what_matches_nothing_is_refused_with_near_names(wanted, message):
    with pytest.raises(InputError, match=message):
        choose_labels(NAMES, wanted)
