"""Tables of the BigBird paper on text, cell by cell as printed: of the text tasks and of pretraining."""

from dna_bigbird.bundles import text_tasks
from dna_bigbird.metrics.published_table import Column, PublishedTable, cells_by_system, joined

PRETRAINED = "pretrained"
"""Name under which the scores of a pretrained model are read."""
MASKED_LANGUAGE_MODEL = PublishedTable(
    10,
    "Masked language modelling",
    "Bits per masked token on held-out text, fewer is better. The paper writes BPC; its numbers are those "
    "of Longformer's code, which divides by tokens, not by characters.",
    (
        Column("base", PRETRAINED, ("bits_per_token",), 1.0, higher_is_better=False),
        Column("large", "", (), 1.0, higher_is_better=False),
    ),
    cells_by_system("""
        RoBERTa (512 tokens) | 1.846 | 1.496
        Longformer (4096) | 1.705 | 1.358
        BigBird-ITC (4096) | 1.678 | 1.456
        BigBird-ETC (4096) | 1.611 | 1.274
    """),
)
MASKED_TOKENS = PublishedTable(
    1,
    "Building blocks, 512 tokens, in per cent",
    "MLM: masked tokens that are predicted exactly (the paper names no unit).",
    (Column("MLM", PRETRAINED, ("mlm_accuracy",)),),
    cells_by_system("""
        BERT-base | 64.2
        Random | 60.1
        Window | 58.3
        Random + Window | 62.7
    """),
)


def published_tables() -> list[PublishedTable]:
    """Return the tables in the order of the paper."""
    return joined([MASKED_TOKENS, MASKED_LANGUAGE_MODEL, *text_tasks.published_tables()])
