"""Huge numbers in config.json of a bundle or of a Hugging Face folder: one line or a result, and no memory."""

import json
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from dna_bigbird.bundles import text_tasks
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.huggingface.huggingface_writing import tokenizer_json
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.bundles.weights import build_model
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.text.made.writing import write_made_text
from tests.fuzz.foreign import SMALL, bert_folder, bigbird_folder, pegasus_folder
from tests.text_vocabulary import tiny_text_tokenizer
from tests.tiny_bundle import draw_dna

DATA = {
    "text-classification": ("imdb/aclImdb", {"set": "imdb", "max_tokens": 64}),
    "glue": ("glue/RTE", {"set": "rte", "max_tokens": 64}),
    "hotpotqa": (
        "hotpotqa/hotpot_dev_distractor_v1.json",
        {"max_tokens": 64, "max_question_tokens": 20},
    ),
    "natural-questions": (
        "natural-questions",
        {"max_tokens": 64, "max_question_tokens": 20, "stride": 30},
    ),
    "squad": (
        "squad",
        {"max_tokens": 64, "max_question_tokens": 20, "stride": 30},
    ),
    "triviaqa": ("triviaqa/triviaqa-rc", {"max_tokens": 64, "max_question_tokens": 20}),
    "wikihop": ("wikihop/qangaroo_v1.1", {"max_tokens": 64}),
    "summarization": ("xsum", {"set": "xsum", "max_source_tokens": 60, "max_target_tokens": 4}),
}
"""Made data of each task, and its options."""


def counts(config: Path, written: Path, *command: object) -> dict[str, int]:
    """Run the child; it fails at the first number that is believed."""
    argv = [sys.executable, "-m", "tests.fuzz.size_child", config, written, *command]
    done = subprocess.run([*map(str, argv)], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def bundle(tiny_model, tmp_path):
    return shutil.copytree(tiny_model, tmp_path / "bundle")


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "changes",
    [
        {},
        pytest.param({"attention": "full"}, marks=SLOW),
        pytest.param({"random_plan": "original"}, marks=SLOW),
    ],
)
def test_bundles_of_dna(bundle, tmp_path, changes):
    """Every setting is in the config, so that none escapes by its default."""
    path = bundle / "config.json"
    config = json.loads(path.read_text())
    config["encoder"] = asdict(EncoderConfig(**(config["encoder"] | changes)))
    path.write_text(json.dumps(config))
    fasta, output = tmp_path / "x.fa", tmp_path / "out.tsv"
    fasta.write_text(f">a\n{draw_dna(100, 1)}\n>b\n{draw_dna(30, 2)}\n")
    numbers = counts(
        path, output, "predict", "--fasta", fasta, "--model", bundle, "--output", output
    )
    assert numbers["refused"] >= 16
    assert numbers["accepted"] >= 1


def test_a_vocabulary(bundle, tmp_path):
    """Ids of pieces in tokenizer.json; checksums would refuse a change before it is read."""
    (bundle / "tokenizer.json").write_bytes(tokenizer_json(load_bundle(bundle).tokenizer))
    (bundle / "tokenizer.model").unlink()
    path = bundle / "config.json"
    config = json.loads(path.read_text())
    del config["sha256"]
    path.write_text(json.dumps(config))
    fasta, output = tmp_path / "x.fa", tmp_path / "out.tsv"
    fasta.write_text(f">a\n{draw_dna(100, 1)}\n")
    command = ["predict", "--fasta", fasta, "--model", bundle, "--output", output]
    assert counts(bundle / "tokenizer.json", output, *command)["refused"] >= 20


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "text"
    write_made_text(folder, seed=0, examples=24)
    return folder


def text_bundle(folder: Path, task: str, options: dict) -> Path:
    config = {
        "task": task, "set": options.get("set", task), "reads": "text",
        "encoder": asdict(EncoderConfig(**SMALL)), "head": asdict(text_tasks.describe(task).head_type()()),
        "options": asdict(text_tasks.describe(task).options(**options)),
        "label_names": ["no", "yes"] if task in ("text-classification", "glue") else [],
    }  # fmt: skip
    save_bundle(
        folder, model=build_model(config), config=config, tokenizer=tiny_text_tokenizer(),
        metrics={"n": 0, "seed": 0, "split": "none"}, card="",
    )  # fmt: skip
    return folder


@pytest.mark.parametrize(
    "task", ["summarization", *(pytest.param(x, marks=SLOW) for x in DATA if x != "summarization")]
)
def test_bundles_of_text(made, tmp_path, task):
    data, options = DATA[task]
    bundle, output = text_bundle(tmp_path / "bundle", task, options), tmp_path / "out"
    command = ["text", "predict", "--model", bundle, "--data", made / data]
    command += ["--split", "validation", "--output", output, "--threads", 1]
    numbers = counts(bundle / "config.json", output, *command)
    assert numbers["refused"] >= 16
    assert numbers["accepted"] >= 1


@pytest.mark.parametrize("write", [bigbird_folder, pytest.param(pegasus_folder, marks=SLOW)])
def test_hugging_face_folders(tmp_path, write):
    folder, written = write(tmp_path / "folder"), tmp_path / "bundle"
    command = ["convert", "--from-huggingface", folder, "--to", written]
    assert counts(folder / "config.json", written, *command)["refused"] >= 10


def test_a_short_encoder(tmp_path):
    folder, written = bert_folder(tmp_path / "bert"), tmp_path / "bundle"
    command = [
        "text",
        "warm-start",
        "--from_huggingface",
        folder,
        "--output",
        written,
        "--max_tokens",
        128,
    ]
    assert counts(folder / "config.json", written, *command)["refused"] >= 14
