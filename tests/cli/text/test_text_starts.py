"""Every recipe of config/text starts from every kind of pretrained model: real steps, tiny sizes."""

import json
from pathlib import Path

import pytest
import yaml

from dna_bigbird import load_bundle
from dna_bigbird.cli.main import main
from tests.text_bundle import write_text_bundle
from tests.text_starts import STARTS, write_starts

ROOT = Path(__file__).parents[3]
RECIPES = {
    name: task["recipe"]
    for name, task in yaml.safe_load((ROOT / "config/text.yaml").read_text())["text"][
        "tasks"
    ].items()
}
SUMMARIES = {"arxiv", "pubmed", "bigpatent", "cnn-dailymail", "xsum"}
LARGE = {
    f"{name}-large": [path.replace("/base", "/large") for path in RECIPES[name]]
    for name in sorted(SUMMARIES)
}
QUESTIONS = {
    "hotpotqa": ("hotpot_train_v1.1.json", "hotpot_dev_distractor_v1.json"),
    "natural-questions": ("nq-train-00.jsonl.gz", "nq-dev-00.jsonl.gz"),
    "triviaqa": ("triviaqa-rc", "triviaqa-rc"),
    "wikihop": ("qangaroo_v1.1", "qangaroo_v1.1"),
}
FOLDERS = {
    "imdb": "imdb/aclImdb",
    "squad2": "squad",
    "arxiv": "arxiv/arxiv-dataset",
    "pubmed": "pubmed/pubmed-dataset",
}
ALL = [(name, start) for name in RECIPES | LARGE for start in STARTS]
"""All pairs of a recipe and a start."""
SOME = [(name, STARTS[i % len(STARTS)]) for i, name in enumerate(RECIPES | LARGE)]
SOME += [
    (name, start)
    for name in QUESTIONS
    for start in ("base", "library")
    if (name, start) not in SOME
]
"""Every recipe once, and question answering from the paper's own pretraining and a converted model."""
TRAINING = (
    "--training.max_steps 2 --training.validate_every 2 --training.batch_size 2 "
    "--training.accumulate 1 --training.warmup_steps 1 --training.validation_examples 2 "
    "--training.precision 32-true --training.measure_speed false --threads 1"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with made text of every set and a model of every kind of start."""
    folder = tmp_path_factory.mktemp("starts")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        main(["text", "made-data", "--output", "made", "--examples", "24"])
        write_starts(folder)
    return folder


@pytest.fixture(autouse=True)
def here(project, monkeypatch):
    monkeypatch.chdir(project)


def command(name: str, start: str) -> str:
    """The recipe's command with its sizes made small, and nothing else of it changed."""
    size = "--options.max_tokens 256"
    base = name.removesuffix("-large")
    if base in QUESTIONS:
        train, validation = QUESTIONS[base]
        data = f"--train made/{base}/{train} --validation made/{base}/{validation}"
        size += " --options.stride 64" if base == "natural-questions" else ""
    elif base in SUMMARIES:
        files = ["train.jsonl", "validation.jsonl"] if base == "xsum" else ["", ""]
        paths = [f"made/{FOLDERS.get(base, base)}/{file}".rstrip("/") for file in files]
        data = f"--train {paths[0]} --validation {paths[1]}"
        size = "--options.max_source_tokens 256 --options.max_target_tokens 16"
    else:
        is_glue = "/glue/" in RECIPES[base][0]
        path = f"made/{'glue' if is_glue else FOLDERS.get(base, base)}"
        data = f"--train {path} --validation {path}"
    recipes = " ".join(f"--config {ROOT / path}" for path in (RECIPES | LARGE)[name])
    target = f"{name}-{start}"
    return (
        f"text train {recipes} {data} --pretrained {start} --output models/{target} "
        f"--checkpoints runs/{target} {size} {TRAINING}"
    )


def trains(name: str, start: str) -> None:
    """Train a step, then read the bundle back: the start's plan, the recipe's global blocks."""
    main(command(name, start).split())
    bundle = load_bundle(Path("models") / f"{name}-{start}")
    encoder = bundle.config["encoder"]
    of_start = json.loads((Path(start) / "config.json").read_text())["encoder"]
    expected = "first_two" if name in QUESTIONS else "first_last"
    assert encoder["global_blocks"] == expected
    for setting in ("attention", "random_plan", "num_random", "window_blocks", "block_size"):
        assert encoder[setting] == of_start[setting], setting
    pattern = bundle.model.encoder.layers[0].attention.pattern(250)
    assert pattern.covers_everything == (start == "full")
    if start != "full":
        expected = [0, 1] if name in QUESTIONS else [0, 31]
        assert pattern.is_global.nonzero()[0].tolist() == expected


@pytest.mark.parametrize(("name", "start"), SOME)
def test_every_recipe_starts(name, start):
    trains(name, start)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), [pair for pair in ALL if pair not in SOME])
def test_every_recipe_starts_from_every_kind_of_model(name, start):
    trains(name, start)


def test_the_library_cannot_express_the_pair(capsys):
    write_text_bundle(Path("pair"), random_plan="huggingface", global_blocks="first_two")
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        main(["convert", "--from", "pair", "--to-huggingface", "hf-pair"])
    (line,) = capsys.readouterr().err.splitlines()
    assert "pair: the library cannot compute this model: global_blocks first_two" in line
    assert not Path("hf-pair").exists()


OWN = {"positions": "rotary", "qk_norm": True, "stem_width": 3, "norm_first": True}


def test_text_tasks_start_from_the_encoder_settings_of_our_own():
    write_text_bundle(Path("own"), **OWN)
    main(command("imdb", "own").split())
    encoder = load_bundle("models/imdb-own").config["encoder"]
    assert encoder.items() >= OWN.items()


def test_a_summarizer_does_not(capsys):
    write_text_bundle(Path("own"), **OWN)
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        main(command("xsum", "own").split())
    error = capsys.readouterr().err.splitlines()[-1]
    assert "positions must be learned in a model with a decoder" in error
    assert not Path("models/xsum-own").exists()
