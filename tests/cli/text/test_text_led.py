"""An LED folder, converted: it writes the summaries of the library, and trains further."""

import json
from pathlib import Path

import pytest
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.cli.main import main
from tests.interop.bart_models import library_summarizer
from tests.interop.pegasus_models import save
from tests.text_vocabulary import tiny_text_tokenizer

DOCUMENTS = ["the old king of the river", "a small house", "no film in the war was good"]
TRAINING = (
    "--training.max_steps 2 --training.validate_every 1 --training.batch_size 2 --training.warmup_steps 0 "
    "--training.devices 1 --training.measure_speed false --threads 1"
)


@pytest.fixture
def converted(tmp_path, monkeypatch):
    """Run in a folder with an LED of the library and its bundle; return the former."""
    monkeypatch.chdir(tmp_path)
    theirs = library_summarizer("LED", seed=3)
    theirs.generation_config.update(num_beams=4, max_length=10, length_penalty=0.8)
    save(theirs, tmp_path / "led")
    rows = [{"document": text, "summary": "a queen", "id": text} for text in DOCUMENTS]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    main(["convert", "--from-huggingface", "led", "--to", "converted"])
    return theirs


def test_predict_writes_the_summaries_of_the_library(converted, tmp_path, monkeypatch):
    """With the first token global, as the paper's LED has it; on a processor with bfloat16, too."""
    monkeypatch.setattr("dna_bigbird.models.precision.has_bf16_products", lambda device: True)
    tokenizer = tiny_text_tokenizer()
    expected = []
    for text in DOCUMENTS:
        ids = torch.tensor([[tokenizer.cls_id, *tokenizer.encode(text), tokenizer.sep_id]])
        marks = torch.zeros_like(ids)
        marks[:, 0] = 1
        with torch.inference_mode():
            written = converted.generate(ids, global_attention_mask=marks)
        expected.append(_words(tokenizer.decode(written[0].numpy())))
    assert any(expected)
    assert predicted("") == expected
    assert predicted("--precision auto") != expected


def predicted(options: str) -> list[str]:
    """Summaries of `text predict`."""
    output = f"out{len(options)}"
    main(
        f"text predict --model converted --data new.jsonl --change set=xsum --output {output} {options}".split()
    )
    lines = (Path(output) / "predictions.jsonl").read_text().splitlines()
    return [_words(json.loads(line)["summary"]) for line in lines]


def _words(text: str) -> str:
    """Spaces before [ and < do not count: ours puts one there."""
    return text.replace(" [", "[").replace(" <", "<").strip()


def test_a_few_steps_of_training(converted, tmp_path):
    """Global projections are trained too: the first token reads by them."""
    main(
        "text train --task summarization --set xsum --train new.jsonl --validation new.jsonl --pretrained "
        "converted --output trained --checkpoints runs --options.max_source_tokens 64 "
        f"--options.max_target_tokens 16 --training.learning_rate 0.01 {TRAINING}".split()
    )
    before, after = (load_bundle(tmp_path / name) for name in ("converted", "trained"))
    assert after.config.head == before.config.head
    assert after.config.encoder.longformer == before.config.encoder.longformer
    own, trained = before.model.encoder.state_dict(), after.model.encoder.state_dict()
    name = "layers.0.attention.global_qkv.weight"
    assert (own[name] - trained[name]).abs().max() > 1e-4
    main(["convert", "--from", "trained", "--to-huggingface", "back"])
    assert json.loads((tmp_path / "back/config.json").read_text())["model_type"] == "led"


def test_longer_targets_than_the_decoder_has_positions_are_one_line(converted, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(
            "text train --task summarization --set xsum --train new.jsonl --validation new.jsonl --pretrained "
            f"converted --output no --checkpoints runs --options.max_source_tokens 64 {TRAINING}".split()
        )
    message = capsys.readouterr().err
    assert (
        "max_target_tokens 256: the decoder of converted has 64 positions; give max_tar" in message
    )
