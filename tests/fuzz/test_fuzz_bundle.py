"""Any bytes in the files of a bundle: a table as from the intact one, or one line of error."""

import json
import shutil
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.harness import EXACT, bounded, many, run_to_file
from tests.fuzz.inputs import edited

FASTA = ">a\nACGTTGCATGACCATGGTACCATGACAAATTTGACCATAGCATGACCAT\n>b\nNNNN\n"
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([10**9, 10**12, 10**30, -(10**9)]),
    st.floats(), st.text(max_size=5), st.just([]), st.just({}), st.just(["CTCF", "CTCF"]),
    st.just(["../../x", "/x"]), st.just([[[["deep"]]]]), st.just("pretraining"), st.just("\ud800"),
)  # fmt: skip


def places_in(value: object, path: tuple = ()) -> list[tuple]:
    """Every key and index of a JSON value, as paths."""
    found = [path] if path else []
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            found += places_in(child, (*path, key))
    return found


@st.composite
def changed_config(draw, text: str) -> bytes:
    """A config with one to three values replaced, removed or added."""
    config = json.loads(text)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places_in(config)))
        target = config
        for key in path[:-1]:
            target = target[key]
        kind = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
        if kind == "replace":
            target[path[-1]] = draw(SCALARS)
        elif kind == "remove":
            del target[path[-1]]
        elif isinstance(target, dict):
            target[draw(st.text(max_size=8))] = draw(SCALARS)
        if not config:
            break
    return json.dumps(config).encode()


@st.composite
def changed_header(draw, content: bytes) -> bytes:
    """A safetensors file with changes in its header alone."""
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    path = draw(st.sampled_from(places_in(header)))
    target = header
    for key in path[:-1]:
        target = target[key]
    if draw(st.booleans()):
        target[path[-1]] = draw(SCALARS)
    else:
        del target[path[-1]]
    text = json.dumps(header).encode()
    claimed = draw(st.sampled_from([len(text), len(text), len(text) - 1, 2**63, 0]))
    return struct.pack("<Q", claimed) + text + content[8 + length :]


def changed_files(tiny_model) -> st.SearchStrategy[tuple[str, bytes]]:
    """Name and new content of one file of a bundle."""
    read = {path.name: path.read_bytes() for path in sorted(tiny_model.iterdir())}
    config, weights = read["config.json"].decode(), read["model.safetensors"]
    return st.one_of(
        st.tuples(st.just("config.json"), changed_config(config)),
        st.tuples(st.just("model.safetensors"), changed_header(weights)),
        *(st.tuples(st.just(name), edited(st.just(content))) for name, content in read.items()),
        st.tuples(st.sampled_from(sorted(read)), st.binary(max_size=40)),
    )


@pytest.fixture(scope="module")
def check(tiny_model, folders):
    read, written = folders
    fasta = read / "x.fa"
    fasta.write_text(FASTA)
    plain = json.loads((tiny_model / "config.json").read_text())
    del plain["sha256"]

    def predict(folder):
        output = written / "x.tsv"
        argv = ["predict", "--model", folder, "--fasta", fasta, "--window", 40, *EXACT]
        outcome = run_to_file(*argv, output=output)
        return outcome, output.read_text() if outcome.status == 0 else ""

    intact = predict(tiny_model)[1].split("\n")

    def check_bundle(change: tuple[str, bytes], has_sums: bool):
        name, content = change
        folder = read / "bundle"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tiny_model, folder)
        if not has_sums:
            (folder / "config.json").write_text(json.dumps(plain))
        was = (folder / name).read_bytes()
        (folder / name).write_bytes(content)
        outcome, text = predict(folder)
        if outcome.status == 2:
            assert str(folder) in outcome.error
            assert len(outcome.error) < 1500
            return outcome
        assert (
            not has_sums or content == was or name not in ("model.safetensors", "tokenizer.model")
        )
        lines = text.split("\n")
        assert len(lines) == len(intact)
        for line, before in zip(lines[1:-1], intact[1:-1], strict=True):
            fields = line.split("\t")
            assert fields[:3] == before.split("\t")[:3]
            assert len(fields) == 5
            assert all(x == "nan" if fields[0] == "b" else 0 <= float(x) <= 1 for x in fields[3:])
        return outcome

    return check_bundle


@bounded(250)
@given(data=st.data(), has_sums=st.booleans())
def test_any_change_of_a_file(check, tiny_model, data, has_sums):
    check(data.draw(changed_files(tiny_model)), has_sums)


@pytest.mark.slow
def test_thousands_of_changes(check, tiny_model, start):
    many(check, changed_files(tiny_model), st.booleans(), examples=3000, start=start)
