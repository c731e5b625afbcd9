"""Question answering with BigBird-ETC from the command line: made questions, tiny model."""

import json

import pytest

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.cli.main import main
from dna_bigbird.models.attention_config import EtcConfig
from dna_bigbird.text.made.writing import hotpotqa
from tests.text_bundle import write_text_bundle

ETC = EtcConfig(radius=8, max_distance=3, tokens_per_global=8)


def train(output, more="", pretrained="etc"):
    return (
        "text train --task hotpotqa --train train.json --validation dev.json "
        f"--pretrained {pretrained} --output {output} --checkpoints runs/{output} "
        "--options.max_tokens 512 --training.max_steps 2 --training.validate_every 2 "
        "--training.batch_size 4 --training.precision 32-true --training.measure_speed false "
        f"--threads 1 {more}"
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with made data, an untrained bundle of either attention and a fine-tuned one."""
    folder = tmp_path_factory.mktemp("qa")
    sizes = {"dropout": 0.0, "max_tokens": 512}
    write_text_bundle(folder / "etc", attention="etc", etc=ETC, **sizes)
    write_text_bundle(folder / "blocks", **sizes)
    files = hotpotqa(0, 8)
    for name, file in (("train", "train_v1.1"), ("dev", "dev_distractor_v1")):
        (folder / f"{name}.json").write_bytes(files[f"hotpotqa/hotpot_{file}.json"])
    (folder / "test.json").write_bytes(files["hotpotqa/hotpot_test_without_answers.json"])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        main(train("tuned", "--etc.radius 5 --etc.hard_g2l false").split())
    return folder


@pytest.fixture
def here(project, monkeypatch):
    monkeypatch.chdir(project)
    return project


def test_train_evaluate_predict(here):
    encoder = load_bundle("tuned").config.encoder
    assert (encoder.attention, encoder.etc.radius, encoder.etc.hard_g2l) == ("etc", 5, False)
    assert (encoder.etc.max_distance, encoder.num_segments) == (3, 5)
    main(["text", "evaluate", "--model", "tuned", "--data", "dev.json", "--output", "scores"])
    metrics = json.loads((here / "scores" / "metrics.json").read_text())
    assert metrics["n"] == 2
    assert 0 <= metrics["joint_f1_low"] <= metrics["joint_f1"] <= metrics["joint_f1_high"] <= 1
    main(["text", "predict", "--model", "tuned", "--data", "test.json", "--output", "found"])
    found = json.loads((here / "found" / "predictions.json").read_text())
    assert list(found["answer"]) == [
        item["_id"] for item in json.loads((here / "test.json").read_text())
    ]


@pytest.mark.parametrize(
    ("pretrained", "more", "message"),
    [
        ("blocks", "--etc.radius 5", "--etc.radius is for a model with attention etc"),
        ("etc", "--etc.max_distance 5", "--etc.max_distance needs fresh weights: leave it out, or"),
        ("etc", "--etc.radius 0", "radius 0"),
        ("etc", "--options.max_global_tokens 0", "max_global_tokens 0"),
    ],
)
def test_wrong_settings_are_one_line(here, capsys, pretrained, more, message):
    with pytest.raises(SystemExit, match="2"):
        main(train("never", more, pretrained).split())
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not (here / "never").exists()


def test_fresh_weights_may_have_other_labels(here):
    main(train("fresh", "--etc.max_distance 5 --from_scratch true").split())
    assert load_bundle("fresh").config.encoder.etc.max_distance == 5


def test_hidden_sentences_next_to_the_questions(here):
    """The paper's regulariser (appendix E.2): trained, reported, recorded, and no part of the bundle."""
    more = "--cpc.weight 0.5 --cpc.fewest_sentences 2 --training.log_every 1"
    main(train("contrast", more).split())
    main(train("contrast-again", more).split())
    main(train("usual", "--training.log_every 1").split())
    weights = [
        (here / name / "model.safetensors").read_bytes()
        for name in ("contrast", "contrast-again", "usual")
    ]
    assert weights[0] == weights[1] != weights[2]
    bundle = load_bundle("contrast")
    assert bundle.config.objective["cpc"]["weight"] == 0.5
    assert not [name for name in bundle.model.state_dict() if name.startswith("cpc")]
    rows = [line.split("\t") for line in (here / "contrast/history.tsv").read_text().splitlines()]
    loss = {row[2]: float(row[3]) for row in rows if row[:2] == ["1", "train"]}
    assert loss["cpc_loss"] > 0
    assert "cpc" not in (here / "usual/history.tsv").read_text()


def test_hidden_sentences_need_their_global_tokens(here, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(train("never", "--cpc.weight 0.2", pretrained="blocks").split())
    error = capsys.readouterr().err.splitlines()[-1]
    assert "--cpc.weight 0.2: sentences have global tokens in question answering with" in error
    assert not (here / "never").exists()
