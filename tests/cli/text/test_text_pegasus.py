"""A BigBird-Pegasus folder, converted, writes the summaries that the library writes with it."""

import json

import pytest
import torch

from dna_bigbird.cli.main import main
from tests.interop.pegasus_models import library_pegasus, save
from tests.text_vocabulary import tiny_text_tokenizer

DOCUMENTS = [
    "the old king of the river.\nthe queen",
    "a small house",
    "no film in the war was good",
]


@pytest.mark.parametrize("beams", [2, 5])
def test_predict_writes_the_summaries_of_the_library(tmp_path, monkeypatch, beams):
    """Same options from the folder, same text, alone or in a batch."""
    monkeypatch.chdir(tmp_path)
    theirs = library_pegasus(seed=3)
    theirs.generation_config.update(num_beams=beams, max_length=14, length_penalty=0.8)
    save(theirs, tmp_path / "pegasus")
    lines = [json.dumps({"document": text}) + "\n" for text in DOCUMENTS]
    (tmp_path / "new.jsonl").write_text("".join(lines))
    for line in (
        "convert --from-huggingface pegasus --to converted",
        "text predict --model converted --data new.jsonl --change set=xsum --output out",
    ):
        main(line.split())

    tokenizer = tiny_text_tokenizer()
    expected = []
    for text in DOCUMENTS:
        ids = [*tokenizer.encode(text.replace("\n", " ")).tolist(), 1]
        with torch.inference_mode():
            found = theirs.generate(torch.tensor([ids]))
        expected.append(_without_spaces(tokenizer.decode(found[0].numpy())))
    items = [json.loads(line) for line in (tmp_path / "out/predictions.jsonl").open()]
    assert [_without_spaces(item["summary"]) for item in items] == expected
    assert any(expected)


def _without_spaces(text: str) -> str:
    """Spaces before [ and < do not count: ours puts one there."""
    return text.replace(" [", "[").replace(" <", "<")
