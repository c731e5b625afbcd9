"""Any bytes in the files of a bundle: a table as from the intact one, or one line of error."""

import json
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.harness import EXACT, bounded, many, run_to_file
from tests.fuzz.inputs import changed_files

FASTA = ">a\nACGTTGCATGACCATGGTACCATGACAAATTTGACCATAGCATGACCAT\n>b\nNNNN\n"


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


@bounded(200)
@given(data=st.data(), has_sums=st.booleans())
def test_any_change_of_a_file(check, tiny_model, data, has_sums):
    check(data.draw(changed_files(tiny_model)), has_sums)


@pytest.mark.slow
def test_thousands_of_changes(check, tiny_model, start):
    many(check, changed_files(tiny_model), st.booleans(), examples=3000, start=start)
