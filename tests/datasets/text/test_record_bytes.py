"""Values as bytes and back: equal, of the same types, and no code of a record is run."""

import base64
import dataclasses
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from dna_bigbird.bundles.text_tasks import tasks
from dna_bigbird.text.data.natural_questions import Annotation, NqExample, PageSpan
from dna_bigbird.text.data.rows import TextFeatures, pack, recorded, unpack
from tests.formats.recorded import RECORDED

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
    row = unpack(pack(TextFeatures(array, 1, None, {"x": array, "y": array})))
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
    "name",
    ["os:system", "dna_bigbird_evil.x:y", "dna_bigbird.core.files:open_text", "dna_bigbird.core.limits:Row", "text"],
)  # fmt: skip
def test_a_record_cannot_name_what_is_not_recorded(name, monkeypatch):
    def imported(module: str, *_: object) -> None:
        raise AssertionError(f"imports {module}")

    tasks()  # their modules are imported before
    monkeypatch.setattr("importlib.import_module", imported)
    with pytest.raises(ValueError, match=f"^{name} is not the name"):
        unpack(record(name))


def name_in(packed: bytes) -> list[str]:
    content = zlib.decompress(packed)
    return json.loads(content[8 : 8 + struct.unpack_from("<Q", content)[0]])[0]


def test_a_record_has_no_path_of_a_module():
    names = [name for value in RECORDED.values() for name in name_in(pack(value))]
    assert len(set(names)) == 14
    assert [name for name in names if ":" in name or "." in name or "dna" in name] == []


def test_a_class_is_found_in_a_new_process():
    """The program that reads a store has perhaps not imported the module of its task."""
    code = (
        "import base64, sys; from dna_bigbird.text.data.rows import unpack; "
        "print(unpack(base64.b64decode(sys.argv[1])))"
    )
    for name in ("squad", "natural questions"):
        packed = base64.b64encode(pack(RECORDED[name])).decode()
        done = subprocess.run([sys.executable, "-c", code, packed], capture_output=True, text=True)
        assert done.stdout == f"{RECORDED[name]}\n", done.stderr


OF_MODULES = json.loads((Path(__file__).parents[2] / "formats/records.json").read_text())
"""Records of 0.1 as of commit 9a8758e8, which name a class by its module."""


@pytest.mark.parametrize("name", RECORDED)
def test_a_record_that_names_modules_is_read(name):
    packed = base64.b64decode(OF_MODULES[name])
    assert name_in(packed)[0].startswith("dna_bigbird.datasets.text.")
    value = unpack(packed)
    assert type(value) is type(RECORDED[name])
    assert repr(value) == repr(RECORDED[name])


def test_two_classes_cannot_have_one_name():
    with pytest.raises(ValueError, match="text-row"):
        recorded("text-row")(Foreign)


@pytest.mark.parametrize("position", [0, 5, 40, -1])
def test_damage_is_noticed(position):
    damaged = bytearray(pack(PAGE))
    damaged[position] ^= 1
    with pytest.raises(Exception, match=r"."):
        unpack(bytes(damaged))
