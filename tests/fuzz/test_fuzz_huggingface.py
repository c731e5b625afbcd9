"""Any bytes in a Hugging Face folder: a bundle that loads, or one line of error and none."""

import io
import shutil

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dna_bigbird import load_bundle
from dna_bigbird.bundles.huggingface.huggingface_writing import write_huggingface
from dna_bigbird.bundles.weights import build_model
from tests.fuzz.foreign import (
    bart_folder,
    bert_folder,
    led_folder,
    longformer_folder,
    pegasus_folder,
)
from tests.fuzz.harness import bounded, many, run
from tests.fuzz.inputs import changed_files, edited


@pytest.fixture(scope="module")
def foreign(tiny_model, tmp_path_factory):
    """A folder as this package writes it for the library."""
    bundle = load_bundle(tiny_model)
    encoder = bundle.config["encoder"] | {"random_plan": "huggingface"}
    config = {"task": "pretraining", "encoder": encoder}
    folder = tmp_path_factory.mktemp("foreign") / "folder"
    write_huggingface(
        folder,
        model=build_model(config),
        config=config,
        tokenizer=bundle.tokenizer,
        card="",
        source="tiny",
    )
    return folder


def changes(foreign) -> st.SearchStrategy[tuple[str, bytes]]:
    """Also of weights in PyTorch's own form."""
    pickled = io.BytesIO()
    torch.save({"bert.embeddings.word_embeddings.weight": torch.ones(3, 4)}, pickled)
    torch_file = st.tuples(st.just("pytorch_model.bin"), edited(st.just(pickled.getvalue())))
    return st.one_of(changed_files(foreign), changed_files(foreign), torch_file)


@pytest.fixture(scope="module")
def check(foreign, folders):
    read, written = folders

    def check_folder(change: tuple[str, bytes]):
        name, content = change
        folder, bundle = read / "foreign", written / "bundle"
        for old in (folder, bundle):
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(foreign, folder)
        (folder / name).write_bytes(content)
        if name == "pytorch_model.bin":
            (folder / "model.safetensors").unlink()
        outcome = run("convert", "--from-huggingface", folder, "--to", bundle)
        if outcome.status == 0:
            assert load_bundle(bundle).config["task"] == "pretraining"
        else:
            assert str(folder) in outcome.error
            assert not bundle.exists()
        assert not list(written.glob(".*"))
        shutil.rmtree(bundle, ignore_errors=True)

    return check_folder


OTHERS = {
    "pegasus": (pegasus_folder, ["convert", "--from-huggingface"], "--to"),
    "longformer": (longformer_folder, ["convert", "--from-huggingface"], "--to"),
    "led": (led_folder, ["convert", "--from-huggingface"], "--to"),
    "bart": (bart_folder, ["convert", "--from-huggingface"], "--to"),
    "bert": (
        bert_folder,
        ["text", "warm-start", "--max_tokens", "128", "--from_huggingface"],
        "--output",
    ),
}
"""What writes the folder, and the command that reads it."""


@pytest.fixture(scope="module", params=OTHERS)
def other(request, tmp_path_factory, folders):
    """A folder, its check and strategy."""
    write, command, option = OTHERS[request.param]
    valid = write(tmp_path_factory.mktemp(request.param) / "folder")
    read, written = folders

    def check_folder(change: tuple[str, bytes]):
        name, content = change
        folder, bundle = read / request.param, written / request.param
        for old in (folder, bundle):
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(valid, folder)
        (folder / name).write_bytes(content)
        outcome = run(*command, folder, option, bundle, reports=True)
        if outcome.status == 0:
            load_bundle(bundle)
        else:
            assert str(folder) in outcome.error
            assert not bundle.exists()
        assert not list(written.glob(".*"))

    return check_folder, changed_files(valid)


@bounded(60)
@given(data=st.data())
def test_any_change_of_a_file_of_other_models(other, data):
    check_folder, changed = other
    check_folder(data.draw(changed))


@pytest.mark.slow
def test_thousands_of_changes_of_other_models(other, start):
    check_folder, changed = other
    many(check_folder, changed, examples=2000, start=start)


@bounded(120)
@given(data=st.data())
def test_any_change_of_a_file(check, foreign, data):
    check(data.draw(changes(foreign)))


@pytest.mark.slow
def test_thousands_of_changes(check, foreign, start):
    many(check, changes(foreign), examples=3000, start=start)
