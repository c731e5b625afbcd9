"""Outputs of batches become outputs of rows, each once and in order."""

import numpy as np
import pytest
import torch

from dna_bigbird.core.errors import InputError
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.prediction.partial_results import as_arrays, in_order, split_rows
from dna_bigbird.text.text_train_run import TextModule
from dna_bigbird.training.fit import fit
from tests.text_vocabulary import tiny_text_tokenizer


def test_rows_come_back_in_order():
    batches = [([2, 0], [[2.0, 2.5], [0.0, 0.5]]), ([1], [[1.0, 1.5, 9.0]])]
    found = []
    for rows, values in batches:
        outputs = {"logits": torch.tensor(values, dtype=torch.bfloat16), "id": torch.tensor(rows)}
        found += split_rows(as_arrays(outputs), rows)
    ordered = in_order(found, 3)
    assert [one["logits"][0] for one in ordered] == [0, 1, 2]
    assert [int(one["id"]) for one in ordered] == [0, 1, 2]
    assert {one["logits"].dtype for one in ordered} == {np.dtype(np.float32)}
    assert all(one["logits"].base is None for one in ordered)


@pytest.mark.parametrize("rows", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, 2, 2]])
def test_a_row_that_is_missing_or_twice_is_no_result(rows):
    found = split_rows({"x": np.zeros(len(rows))}, rows)
    with pytest.raises(ValueError, match=rf"{len(rows)} outputs of {len(set(rows))} rows, exp"):
        in_order(found, 3)


def test_a_loss_that_is_no_number_names_the_rows(tmp_path):
    """The numbers are those of the training rows."""
    from dna_bigbird.models.classifier import SequenceClassifier
    from dna_bigbird.models.config import EncoderConfig, HeadConfig
    from dna_bigbird.text.data.classification import ClassificationOptions
    from dna_bigbird.text.tasks.classification import ClassificationTask
    from dna_bigbird.text.tasks.task import text_data

    path = tmp_path / "train.jsonl"
    path.write_text('{"text": "good", "label": "a"}\n{"text": "bad", "label": "b"}\n')
    kind = ClassificationTask(ClassificationOptions(max_tokens=16), HeadConfig())
    examples, _ = kind.read(path, "train")
    kind.labels = kind.label_names(examples)
    made = kind.rows(examples, tiny_text_tokenizer(), training=True)
    encoder = EncoderConfig(
        vocab_size=409, hidden_size=16, num_layers=1, num_heads=2, ffn_size=16, max_tokens=16,
        block_size=16, num_random=1,
    )  # fmt: skip
    model = SequenceClassifier(encoder, 2)
    with torch.no_grad():
        model.label_layer.bias[0] = torch.nan
    config = TrainConfig(max_steps=2, batch_size=2, validate_every=2, precision="32-true")
    data = text_data(made, made, kind.collate, seed=0, batch_size=2)
    with pytest.raises(InputError, match=r"not a number at step 1, .* of examples (0, 1|1, 0)"):
        fit(
            TextModule(model, kind, config, made), data, config, checkpoints=tmp_path / "run",
            seed=0, settings={},
        )  # fmt: skip
