"""`text train` from a store of rows: the model of the same rows in memory, byte for byte."""

from pathlib import Path

import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.text import text_train_run
from dna_bigbird.text.data.row_store import StoredSet
from dna_bigbird.text.made.pages import natural_questions
from dna_bigbird.text.made.writing import arxiv
from tests.text_bundle import write_text_bundle

NQ = "natural-questions/nq"
SMALL = {
    "natural-questions": (
        f"--train {NQ}-train-00.jsonl.gz --validation {NQ}-dev-00.jsonl.gz "
        "--options.max_tokens 128 --options.max_question_tokens 16 --options.stride 64"
    ),
    "summarization": (
        "--train arxiv/arxiv-dataset --validation arxiv/arxiv-dataset --head.start_id 2 "
        "--head.end_id 1 --options.max_source_tokens 64 --options.max_target_tokens 32"
    ),
}


def in_memory(task, bundle, paths, *_):
    """All rows of both sets at once, as before there was a store."""
    sets = {}
    for split, path in paths.items():
        examples, counts = task.read(path, split)
        examples = list(examples)
        if split == "train":
            task = task.changed(labels=task.label_names(examples))
        rows = task.rows(examples, bundle.tokenizer, training=split == "train")
        sets[split] = StoredSet(examples, rows.rows, {**counts, **rows.counts}, "", "", task.labels)
    return task, sets


@pytest.mark.parametrize("name", SMALL)
def test_the_same_weights_as_from_rows_in_memory(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for file, content in (natural_questions(0, 16) | arxiv(0, 16)).items():
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_bytes(content)
    write_text_bundle(Path("mlm"), dropout=0.1)
    train = (
        f"text train --task {name} {SMALL[name]} --pretrained mlm --training.max_steps 6 "
        "--training.validate_every 3 --training.batch_size 4 --training.precision 32-true "
        "--training.measure_speed false --threads 1 --output models/{0} --checkpoints runs/{0}"
    )
    main(train.format("stored").split())
    assert Path("runs/stored/rows-train.h5").is_file()
    monkeypatch.setattr(text_train_run, "stored_sets", in_memory)
    main(train.format("memory").split())
    files = sorted(path.name for path in Path("models/memory").iterdir())
    assert {"model.safetensors", "config.json", "metrics.json"} <= set(files)
    for file in files:
        stored, memory = (Path("models", each, file).read_bytes() for each in ("stored", "memory"))
        assert stored == memory, file
