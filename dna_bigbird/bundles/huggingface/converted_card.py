"""README files of converted models."""

from collections.abc import Sequence

from dna_bigbird.bundles.card_encoder import attention_of
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.text_config import SpanHead

ATTENTION = {
    "huggingface": "what the library itself uses: random blocks while training, the first block "
    "instead of them in evaluation",
    "original": "the published plan, the same in training and evaluation; the library does not "
    "compute this",
    "uniform": "random blocks from the whole sequence, the same in training and evaluation; the "
    "library does not compute this",
}


def converted_card(config: BundleConfig) -> str:
    """Return the README.md of a bundle made from a folder of the library."""
    encoder = config.encoder
    blocks = (
        attention_of(encoder)
        if encoder.attention != "bigbird"
        else f"block-sparse attention, blocks of {encoder.block_size} tokens, "
        f"{encoder.num_random} random ones; {ATTENTION[encoder.random_plan]}"
    )
    lines = [
        f"# {_family(encoder)} for {'DNA' if config.reads == 'dna' else config.reads}: converted",
        "",
        "Weights, settings and vocabulary of a Hugging Face folder, unchanged.",
        "",
        f"- architecture: {encoder.num_layers} layers of {encoder.num_heads} heads, hidden size "
        f"{encoder.hidden_size}, at most {encoder.max_tokens} tokens",
        f"- attention: {blocks}",
        f"- heads: {', '.join(config.heads) or 'none'}"
        if config.task == "pretraining"
        else f"- fine-tuned: {config.task} {', '.join(config.label_names)}".rstrip(),
        f"- vocabulary: {encoder.vocab_size} entries",
        "",
        "What it was trained on, and how well it does, is for its origin to say: nothing was measured here.",
    ]
    return "\n".join(lines) + "\n"


FIRST_TOKEN = (
    "The first token of a row is global in the bundle; the library needs `global_attention_mask` for it (1 "
    "for that token, 0 for the others), in `generate`, too. With this mask it computes the same logits."
)
QUESTIONS = (
    "The first token, the question and its separator are global in the bundle; the library needs "
    "`global_attention_mask` for them (1 for these tokens, 0 for the others). With this mask it computes the same "
    "logits."
)
"""What a folder of a Longformer says about its global tokens."""


def library_card(source_card: str, differences: Sequence[str], config: BundleConfig) -> str:
    """Return the README.md of a folder for the library: what differs there, then the bundle's own."""
    notice = ["This folder was written by `dna-bigbird convert` for the Hugging Face library."]
    if differences:
        notice += ["", "**The library computes something else than the bundle did:**", ""]
        notice += [f"- {difference}" for difference in differences]
    elif config.encoder.attention == "longformer":
        notice += [QUESTIONS if isinstance(config.head, SpanHead) else FIRST_TOKEN]
    else:
        notice += ["The library computes the same hidden states and logits as the bundle."]
    return "\n".join(notice) + "\n\n---\n\n" + source_card


def _family(encoder: EncoderConfig) -> str:
    return "Longformer" if encoder.attention == "longformer" else "BigBird"
