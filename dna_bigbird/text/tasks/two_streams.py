"""The global tokens of a batch of text rows."""

from collections.abc import Sequence

import torch

from dna_bigbird.corpus.batches import pad_right, padding_of
from dna_bigbird.models.global_tokens import GlobalTokens
from dna_bigbird.text.data.rows import TextRow


def global_tokens_of(rows: Sequence[tuple[int, TextRow]]) -> GlobalTokens | None:
    """Return the global tokens of numbered rows, None for rows without; padding is on the right.

    Args:
        rows: With the arrays of `text.data.two_streams.TwoStreams`, or without.
    """
    arrays = [row.arrays for _, row in rows]
    if "global_types" not in arrays[0]:
        return None
    joined = {
        name: pad_right([of_row[name] for of_row in arrays], 0)
        for name in ("global_types", "parts", "global_parts", "free_global")
    }
    return GlobalTokens.of_links(
        joined["global_types"],
        padding_of([of_row["global_types"] for of_row in arrays]),
        padding_of([row.token_ids for _, row in rows]),
        [torch.from_numpy(of_row["links"]).long() for of_row in arrays],
        long_segments=joined["parts"],
        global_segments=joined["global_parts"],
        free_global=joined["free_global"].bool(),
    )
