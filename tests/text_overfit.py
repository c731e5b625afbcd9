"""A few examples of a text task learnt by heart, through rows, batches, loss, decoding and metric."""

import torch

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.prediction.partial_results import as_arrays, in_order, split_rows
from dna_bigbird.text.text_train_run import scores_of


def overfit(kind, examples, tokenizer, *, steps, learning_rate=3e-3, **encoder):
    """Train a tiny model on all rows at once.

    Args:
        encoder: Settings beside those of the tiny default.

    Returns:
        The official metrics on the same examples, with rows as for evaluation, and the predictions.
    """
    settings = {
        "vocab_size": tokenizer.size_with_markers,
        "hidden_size": 48,
        "num_layers": 1,
        "num_heads": 2,
        "ffn_size": 64,
        "block_size": 32,
        "global_blocks": "first_two",
        "num_random": 1,
        "dropout": 0.0,
        "init_std": 0.1,
    }
    kind.labels = kind.label_names(examples)
    model = kind.description.build_model(
        EncoderConfig(**{**settings, **encoder}), kind.head, len(kind.labels), seed=0
    )
    train = kind.rows(examples, tokenizer, training=True)
    batch = kind.collate(list(enumerate(train.rows)))
    optimizer = torch.optim.Adam(model.parameters(), learning_rate)
    for _ in range(steps):
        loss = kind.loss(kind.outputs(model, batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    made = kind.rows(examples, tokenizer, training=False)
    # Two rows at a time: others are padded otherwise than in training.
    found = []
    with torch.no_grad():
        for first in range(0, len(made.rows), 2):
            numbers = range(first, min(first + 2, len(made.rows)))
            batch = kind.collate([(i, made.rows[i]) for i in numbers])
            found += split_rows(as_arrays(kind.predict_outputs(model, batch)), list(numbers))
    outputs = in_order(found, len(made.rows))
    return scores_of(kind, made, outputs), kind.decode(made, outputs)
