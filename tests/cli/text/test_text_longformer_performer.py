"""Longformer and Performer in the commands of text: pretraining, questions, classes."""

import json
from pathlib import Path

import pytest
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.cli.main import main
from dna_bigbird.models.attention_config import LongformerConfig, PerformerConfig
from dna_bigbird.text.made.writing import hotpotqa
from tests.text_bundle import write_text_bundle

OWN = {
    "longformer": {"longformer": LongformerConfig(8)},
    "performer": {"performer": PerformerConfig(16, redraw_interval=3)},
    "bigbird": {},
}
STEPS = (
    "--training.max_steps 2 --training.validate_every 2 --training.batch_size 4 --threads 1 "
    "--training.precision 32-true --training.measure_speed false"
)


def train(output, pretrained, more=""):
    return (
        "text train --task hotpotqa --train train.json --validation dev.json --options.max_tokens 512 "
        f"--pretrained {pretrained} --output {output} --checkpoints runs/{output} {STEPS} {more}"
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with synthetic questions and an untrained bundle of three kinds of attention."""
    folder = tmp_path_factory.mktemp("others")
    for name, own in OWN.items():
        write_text_bundle(folder / name, attention=name, dropout=0.0, max_tokens=512, **own)
    files = hotpotqa(0, 8)
    for name, file in (("train", "train_v1.1"), ("dev", "dev_distractor_v1")):
        (folder / f"{name}.json").write_bytes(files[f"hotpotqa/hotpot_{file}.json"])
    items = [json.dumps({"text": "sun moon river " * n, "label": n % 2}) for n in range(2, 18)]
    (folder / "classes.jsonl").write_text("\n".join(items) + "\n")
    (folder / "plain.txt").write_text(
        "\n\n".join("sun moon river stone " * n for n in range(5, 25))
    )
    return folder


@pytest.fixture(autouse=True)
def here(project, monkeypatch):
    monkeypatch.chdir(project)


@pytest.mark.parametrize(
    ("name", "more", "expected"),
    [
        ("longformer", "--longformer.window_tokens 5", LongformerConfig(5)),
        ("performer", "--performer.kernel relu", PerformerConfig(16, "relu", redraw_interval=3)),
    ],
)
def test_train_evaluate_predict(name, more, expected):
    main(train(f"{name}-qa", name, more).split())
    encoder = load_bundle(f"{name}-qa").config.encoder
    assert (encoder.attention, getattr(encoder, name)) == (name, expected)
    main(f"text evaluate --model {name}-qa --data dev.json --output {name}-scores".split())
    metrics = json.loads(Path(f"{name}-scores/metrics.json").read_text())
    assert metrics["n"] == 2
    main(f"text predict --model {name}-qa --data dev.json --output {name}-found".split())
    found = json.loads(Path(f"{name}-found/predictions.json").read_text())
    assert len(found["answer"]) == 2


@pytest.mark.parametrize("after", ["longformer", "performer"])
def test_weights_of_blocks_move(after):
    main(
        train(
            f"to-{after}", "bigbird", f"--attention {after} --training.learning_rate 1e-12"
        ).split()
    )
    before, bundle = load_bundle("bigbird").model.encoder, load_bundle(f"to-{after}")
    assert bundle.config.encoder.attention == after
    own = bundle.model.encoder.layers[0].attention
    expected = before.layers[0].attention.qkv.weight
    torch.testing.assert_close(own.qkv.weight, expected, atol=1e-6, rtol=0)
    if after == "longformer":
        torch.testing.assert_close(own.global_qkv.weight, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", ["longformer", "performer"])
def test_classes_and_pretraining_from_another_attention(name):
    classes = (
        "text train --task text-classification --set json-lines --train classes.jsonl "
        f"--validation classes.jsonl --pretrained {name} --output {name}-classes "
        f"--checkpoints runs/{name}-classes {STEPS} --options.max_tokens 64"
    )
    main(classes.split())
    assert load_bundle(f"{name}-classes").config.encoder.attention == name
    further = (
        "text pretrain --train plain.txt --validation plain.txt --initial bigbird "
        f"--model.attention {name} --output {name}-on --checkpoints runs/{name}-on {STEPS} "
        "--training.learning_rate 1e-12 --training.warmup_steps 0"
    )
    main(further.split())
    before, after = (load_bundle(x).model for x in ("bigbird", f"{name}-on"))
    assert after.encoder.config.attention == name
    for ours, theirs in (
        (after.encoder.layers[0].attention.qkv, before.encoder.layers[0].attention.qkv),
        (after.mlm.dense, before.mlm.dense),
    ):
        torch.testing.assert_close(ours.weight, theirs.weight, atol=1e-6, rtol=0)
    back = further.replace("--initial bigbird", f"--initial {name}-on").replace(
        f"{name}-on ", f"{name}-back "
    )
    back = back.replace(f"--model.attention {name}", "--model.attention full").replace(
        f"--initial {name}-back", f"--initial {name}-on"
    )
    main(back.split())
    assert load_bundle(f"{name}-back").config.encoder.attention == "full"


@pytest.mark.parametrize(
    ("pretrained", "more", "message"),
    [
        (
            "bigbird",
            "--longformer.window_tokens 5",
            "--longformer.window_tokens is for a model with",
        ),
        (
            "longformer",
            "--performer.seed 5",
            "--performer.seed is for a model with attention performer",
        ),
        (
            "longformer",
            "--longformer.windows 5 6",
            "windows has 2 numbers: expected one per layer, 1",
        ),
        ("longformer", "--attention etc", "--attention"),
        (
            "performer",
            "--performer.num_features 5 --performer.rows identity",
            "identity has 16 features, the size",
        ),
    ],
)
def test_wrong_settings_are_one_line(capsys, pretrained, more, message):
    with pytest.raises(SystemExit, match="2"):
        main(train("never", pretrained, more).split())
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not Path("never").exists()
