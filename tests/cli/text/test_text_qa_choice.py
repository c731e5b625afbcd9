"""HotpotQA and WikiHop from the command line: made questions, tiny model, official files."""

import json
from pathlib import Path

import pytest

from dna_bigbird.cli.main import main
from tests.text_bundle import write_text_bundle

CONFIGS = Path(__file__).parents[3] / "config" / "text"
TOPICS = ["river", "city", "king", "queen", "mountain", "film", "book", "song"]
HOTPOT = [
    {
        "_id": f"h{i}",
        "question": f"what is the {topic}",
        "answer": "yes" if i == 0 else "old " + topic,
        "context": [
            [topic, [f"the old {topic} was first.", " it was last."]],
            ["school", ["the school is red."]],
        ],
        "supporting_facts": [[topic, 0]],
    }
    for i, topic in enumerate(TOPICS)
]
WIKIHOP = [
    {
        "id": f"w{i}",
        "query": f"capital {topic}",
        "answer": topic,
        "candidates": ["school", topic],
        "supports": [f"The {topic} is the capital. The school is no school."],
    }
    for i, topic in enumerate(TOPICS)
]
BARE = {
    "hotpotqa": [{k: one[k] for k in ("_id", "question", "context")} for one in HOTPOT],
    "wikihop": [{k: one[k] for k in one if k != "answer"} for one in WIKIHOP],
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with data and a trained model of each kind; tests write names of their own."""
    folder = tmp_path_factory.mktemp("qa")
    write_text_bundle(folder / "mlm", dropout=0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, items in (("hotpotqa", HOTPOT), ("wikihop", WIKIHOP)):
            Path(f"{name}.json").write_text(json.dumps(items))
            Path(f"{name}_bare.json").write_text(json.dumps(BARE[name]))
            main(train(name).split())
    return folder


def train(name, **changes):
    data = changes.pop("data", f"{name}.json")
    more = " ".join(f"--{key.replace('__', '.')} {value}" for key, value in changes.items())
    return (
        f"text train --task {name} --train {data} --validation {name}.json --pretrained mlm "
        f"--output {name} --checkpoints runs/{name} --options.max_tokens 256 --head.dropout 0 "
        "--global_blocks first_two --training.max_steps 40 --training.validate_every 20 "
        "--training.batch_size 8 --training.learning_rate 0.003 --training.precision 32-true "
        f"--training.measure_speed false --threads 1 {more}"
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


@pytest.mark.parametrize(("name", "monitor"), [("hotpotqa", "joint_f1"), ("wikihop", "accuracy")])
def test_train_evaluate_predict(here, name, monitor):
    config = json.loads((here / name / "config.json").read_text())
    assert (config["task"], config["encoder"]["global_blocks"]) == (name, "first_two")
    main(f"text evaluate --model {name} --data {name}.json --output {name}_scores".split())
    metrics = json.loads((here / f"{name}_scores" / "metrics.json").read_text())
    assert metrics["n"] == len(TOPICS)
    assert metrics[f"{monitor}_low"] <= metrics[monitor] <= metrics[f"{monitor}_high"]
    # trained on these very questions
    assert metrics[monitor] > max(one[monitor] for one in metrics["baselines"].values())
    predict = f"text predict --model {name} --data {name}_bare.json --output {name}_predicted"
    main(predict.split())
    files = {
        folder: (here / folder / "predictions.json").read_bytes()
        for folder in (f"{name}_scores", f"{name}_predicted")
    }
    assert len(set(files.values())) == 1
    said = json.loads(files[f"{name}_scores"])
    answers = said["answer"] if name == "hotpotqa" else said
    ids = [one.get("_id", one.get("id")) for one in BARE[name]]
    assert list(answers) == ids


def test_only_what_hotpotqa_can_find_is_changed_in_evaluation(here, capsys):
    main(
        [
            "text",
            "evaluate",
            "--model",
            "hotpotqa",
            "--data",
            "hotpotqa.json",
            "--output",
            "all_facts",
            "--change",
            "fact_threshold=0",
        ]
    )
    metrics = json.loads((here / "all_facts" / "metrics.json").read_text())
    assert (metrics["sp_recall"], metrics["sp_prec"]) == (1, pytest.approx(1 / 3))
    line = "text predict --model hotpotqa --data hotpotqa_bare.json --output never "
    error = refused(line + "--change search_threshold=true", capsys)
    assert "search_threshold needs the gold answers" in error
    assert not (here / "never").exists()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("hotpotqa", {"context": "text"}, "item 0 (h0): 'context' is 'text', expected a list"),
        ("hotpotqa", {"answer": "harbour"}, "nothing to read in 1 examples (answer not in the ev"),
        ("wikihop", {"candidates": []}, "item 0 (w0): 'candidates' is empty"),
        ("wikihop", {"answer": "x"}, "(answer not among the candidates 1; without an answer"),
    ],
)
def test_bad_training_data_is_one_line(here, tmp_path, name, change, message, capsys):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps([(HOTPOT if name == "hotpotqa" else WIKIHOP)[0] | change]))
    assert message in refused(train(name, data=path, output=tmp_path / "model"), capsys)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [
        ("hotpotqa", "--options.answer_unit letters", "--options.answer_unit"),
        ("hotpotqa", "--options.fact_threshold 1.5", "--options.fact_threshold 1.5"),
        ("hotpotqa", "--options.top_spans 0", "top_spans 0"),
        ("wikihop", "--options.label_smoothing 1", "--options.label_smoothing 1.0"),
        ("wikihop", "--options.max_sentences 0", "max_sentences 0"),
        ("wikihop", "--head.dropout 1", "--head.dropout 1.0"),
    ],
)
def test_wrong_options_are_named(here, name, option, message, capsys):
    assert message in refused(f"{train(name)} {option}", capsys)
