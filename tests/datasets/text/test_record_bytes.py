"""Values as bytes and back: equal, of the same types, and no code of a record is run."""

import dataclasses
import json
import struct
import zlib

import numpy as np
import pytest

from dna_bigbird.datasets.text.natural_questions_pages import Annotation, NqExample, PageSpan
from dna_bigbird.datasets.text.record_bytes import pack, unpack
from dna_bigbird.datasets.text.rows import TextRow

PAGE = NqExample(
    id=3,
    question="who ¿ \u2028",
    text="a b",
    is_html=b"\0\1",
    candidates=(PageSpan(0, 2), PageSpan()),
    is_top_level=(True, False),
    annotations=(Annotation(PageSpan(0, 1, 5, 6), (), "none"),),
    token_bytes=np.array([[0, 1], [2, 3]], np.int32),
)


def test_values_come_back_with_their_types():
    values = (PAGE, [1, 2.5, None], {"a": (True, float("inf")), 3: ()}, b"\xff", -(2**70), "")
    again = unpack(pack(values))
    assert repr(again) == repr(values)
    assert again[0] == PAGE
    assert type(again[0].candidates[1]) is PageSpan


@pytest.mark.parametrize(
    "array",
    [
        np.array(np.nan), np.zeros((0, 2), np.int32), np.arange(6, dtype=np.int8).reshape(2, 3),
        np.array([True, False]), np.arange(12).reshape(3, 4)[:, ::2], np.array(["ab", "c"]),
    ],
)  # fmt: skip
def test_arrays_come_back(array):
    row = unpack(pack(TextRow(array, 1, None, {"x": array, "y": array})))
    for each in (row.token_ids, row.arrays["x"], row.arrays["y"]):
        assert (each.dtype, each.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(each, array)
        assert each.flags.writeable
        assert each.flags.aligned


@dataclasses.dataclass
class Foreign:
    x: int = 0


@pytest.mark.parametrize("value", [Foreign(), {1, 2}, np.array([None]), np.int64(3), print])
def test_other_values_are_refused(value):
    with pytest.raises(TypeError, match="cannot be stored"):
        pack((value,))


def record(name: str) -> bytes:
    text = json.dumps([[name], {"class": [0, "true"]}]).encode()
    return zlib.compress(struct.pack("<Q", len(text)) + text)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("os:system", "not of this package"),
        ("dna_bigbird_evil.x:y", "not of this package"),
        ("dna_bigbird.files:open_text", "neither a dataclass nor a named tuple"),
        ("dna_bigbird.child_processes:os.system", "neither a dataclass nor a named tuple"),
        ("dna_bigbird.child_processes:EndingProcess", "neither a dataclass nor a named tuple"),
    ],
)
def test_a_record_cannot_call_a_function(name, message):
    with pytest.raises(ValueError, match=message):
        unpack(record(name))


@pytest.mark.parametrize("position", [0, 5, 40, -1])
def test_damage_is_noticed(position):
    damaged = bytearray(pack(PAGE))
    damaged[position] ^= 1
    with pytest.raises(Exception, match=r"."):
        unpack(bytes(damaged))
