"""Natural Questions, TriviaQA and SQuAD from the command line: made pages, tiny model, official files."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from dna_bigbird.cli.main import build_parser, main
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.text.made.pages import natural_questions, squad, triviaqa
from tests.text_bundle import write_text_bundle

CONFIGS = Path(__file__).parents[3] / "config" / "text"
TRIVIA = "triviaqa/triviaqa-rc/qa/wikipedia"
NQ = "natural-questions/nq"
SETS = {
    "natural-questions": (f"{NQ}-train-00.jsonl.gz", f"{NQ}-dev-00.jsonl.gz"),
    "squad2": ("squad/train-v2.0.json", "squad/dev-v2.0.json"),
    "triviaqa": (f"{TRIVIA}-train.json", f"{TRIVIA}-dev.json"),
}
TASKS = {"squad2": "squad --set squad2"}
SMALL = {
    "natural-questions": "--options.max_question_tokens 16 --options.stride 64",
    "squad2": "--options.max_question_tokens 16 --options.stride 64",
    "triviaqa": "",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with made data and a model of each kind that has seen a few batches."""
    folder = tmp_path_factory.mktemp("qa")
    write_text_bundle(folder / "mlm", dropout=0.0)
    for name, content in (natural_questions(0, 16) | squad(0, 16) | triviaqa(0, 16)).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in SETS:
            main(train(name).split())
    return folder


def train(name, more=""):
    first, second = SETS[name]
    return (
        f"text train --task {TASKS.get(name, name)} --train {first} --validation {second} --pretrained mlm "
        f"--output models/{name} "
        f"--checkpoints runs/{name} --options.max_tokens 128 {SMALL[name]} "
        "--global_blocks first_two --training.max_steps 4 --training.validate_every 4 "
        "--training.batch_size 4 --training.precision 32-true --training.measure_speed false "
        f"--threads 1 {more}"
    )


@pytest.fixture
def here(project, monkeypatch):
    monkeypatch.chdir(project)
    return project


def refused(line, capsys):
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        main(line.split())
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("dna-bigbird: error: ")
    return error


@pytest.mark.parametrize(
    ("name", "monitor"),
    [("natural-questions", "long_f1"), ("squad2", "best_f1"), ("triviaqa", "f1")],
)
def test_train_evaluate_predict(here, name, monitor):
    data = SETS[name][1]
    main(f"text evaluate --model models/{name} --data {data} --output {name}_scores".split())
    metrics = json.loads((here / f"{name}_scores" / "metrics.json").read_text())
    assert metrics["n"] == 4
    assert metrics[f"{monitor}_low"] <= metrics[monitor] <= metrics[f"{monitor}_high"]
    predict = f"text predict --model models/{name} --data {data} --output {name}_predicted"
    main(f"{predict} --precision 32-true".split())  # that of evaluate
    files = {
        (here / folder / "predictions.json").read_bytes()
        for folder in (f"{name}_scores", f"{name}_predicted")
    }
    assert len(files) == 1
    said = json.loads(files.pop())
    assert len(said["predictions"] if name == "natural-questions" else said) == 4


def test_files_of_squad_are_by_question(here):
    data = SETS["squad2"][1]
    main(f"text predict --model models/squad2 --data {data} --output both".split())
    asked = [
        x["id"]
        for article in json.loads((here / data).read_text())["data"]
        for paragraph in article["paragraphs"]
        for x in paragraph["qas"]
    ]
    files = {x.stem: json.loads(x.read_text()) for x in (here / "both").glob("*.json")}
    assert {name: list(content) for name, content in files.items()} == dict.fromkeys(
        ("predictions", "answers", "na_prob"), asked
    )
    assert all(0 <= probability <= 1 for probability in files["na_prob"].values())


def test_a_file_of_squad_2_needs_its_set(here, tmp_path, capsys):
    line = train("squad2", f"--output {tmp_path}/model --options.set squad")
    message = (
        "(made_train_2.0_2): no answer; only questions of SQuAD 2.0 may be without: --options.set"
    )
    assert message in refused(line.replace("--set squad2 ", ""), capsys)


def test_questions_without_answers_are_predicted(here):
    data = f"{TRIVIA}-test-without-answers.json"
    main(f"text predict --model models/triviaqa --data {data} --output hidden".split())
    asked = json.loads((here / data).read_text())["Data"]
    assert list(json.loads((here / "hidden/predictions.json").read_text())) == [
        one["QuestionId"] for one in asked
    ]


def test_missing_evidence_is_one_line(here, tmp_path, capsys):
    line = train("triviaqa", f"--output {tmp_path}/model --options.evidence nowhere")
    assert "nowhere: no such folder; expected the texts" in refused(line, capsys)
    page = json.loads((here / SETS["triviaqa"][0]).read_text())["Data"][0]
    empty = tmp_path / "evidence"
    empty.mkdir()
    line = train("triviaqa", f"--output {tmp_path}/model --options.evidence {empty}")
    error = refused(line, capsys)
    assert ": made_train_0: its evidence cannot be read: " in error
    assert page["EntityPages"][0]["Filename"].startswith(error.split("wikipedia/")[1][:3])
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [
        ("natural-questions", "--options.stride 4000", "stride 4000 passes over tokens"),
        ("natural-questions", "--options.score sum", "--options.score"),
        ("natural-questions", "--options.null_rate 2", "null_rate 2.0"),
        ("natural-questions", "--options.min_annotators 6", "pages with 5 annotation at most"),
        ("squad2", "--options.stride 4000", "stride 4000 passes over tokens"),
        ("triviaqa", "--options.norm none", "--options.norm"),
        ("triviaqa", "--options.max_spans 0", "max_spans 0"),
        ("triviaqa", "--head.dropout 1", "--head.dropout 1.0"),
    ],
)
def test_wrong_options_are_named(here, name, option, message, capsys):
    assert message in refused(train(name, option), capsys)


def settings(file):
    """Return the settings of a recipe."""
    needed = "--train a --validation b --pretrained c --output d --checkpoints e"
    argv = [f"--config={CONFIGS / file}", *needed.split()]
    parser, _ = build_parser("text train", argv)
    return SimpleNamespace(**read_arguments(parser, argv))


@pytest.mark.parametrize(
    ("file", "batch", "epochs", "windows"),
    # BERT's paper, sections 4.2 and 4.3; questions of the training sets (windows are a few more)
    [("squad.yaml", 32, 3, 87599), ("squad2.yaml", 48, 2, 130319)],
)
def test_the_settings_of_squad(file, batch, epochs, windows):
    found = settings(file)
    training, options = found.training, found.options
    assert (training.batch_size * training.accumulate, training.learning_rate) == (batch, 5e-5)
    assert 1 < training.max_steps * batch / (epochs * windows) < 1.02
    assert training.warmup_steps * 10 == training.max_steps
    assert (options.max_tokens, options.max_question_tokens, options.stride) == (512, 64, 128)
    assert (options.max_answer_tokens, options.top_spans) == (30, 20)
    assert file == f"{found.set}.yaml"


@pytest.mark.parametrize("name", ["natural-questions", "triviaqa"])
def test_what_the_recipes_cut(name):
    found = settings(f"{name}.yaml")
    if name == "natural-questions":
        assert (found.options.max_short, found.options.stride) == (38, 2048)
        assert found.options.max_question_tokens == 32
    else:
        assert (found.options.max_answer_words, found.options.max_spans) == (16, 64)
        assert found.options.max_question_tokens == 55
