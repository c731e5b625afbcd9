"""A small untrained model that predicts masked tokens: its scores mean nothing, but must be consistent."""

from pathlib import Path

from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.models.config import EncoderConfig, stored_encoder
from dna_bigbird.models.pretraining_model import PretrainingModel
from tests.tiny_bundle import draw_dna

SIZE = {
    "hidden_size": 16, "num_layers": 1, "num_heads": 2, "ffn_size": 32, "max_tokens": 64,
    "block_size": 8, "num_random": 1,
}  # fmt: skip


def write_pretrained_bundle(
    folder: Path,
    *,
    algorithm: str = "bases",
    is_new: bool = False,
    encoder: dict | None = None,
    **config: object,
) -> Path:
    """Write a bundle that reads at most 62 tokens and return its folder.

    Args:
        is_new: Whether the weights are those of a new network with seed 0; else of seed 1, and larger.
        encoder: Settings of the encoder in place of those of `SIZE`.
        config: Further keys of config.json.
    """
    words = [draw_dna(500, seed) for seed in range(10)]
    size = None if algorithm == "bases" else 48
    settings = TokenizerConfig(algorithm=algorithm, vocab_size=size)
    tokenizer = DnaTokenizer.from_bytes(train_tokenizer(words, settings))
    network = EncoderConfig(vocab_size=tokenizer.vocab_size, **SIZE | (encoder or {}))
    model = PretrainingModel(network, seed=0 if is_new else 1)
    for parameter in model.parameters():
        parameter.data *= 10 if parameter.dim() == 2 and not is_new else 1
    values = {
        "task": "pretraining", "encoder": stored_encoder(network), "label_names": [], "label_groups": [],
        "assembly": "none", "semi_synthetic": False, "heads": list(model.heads),
        "bp_per_token": 1.0 if size is None else 2.5, **config,
    }  # fmt: skip
    save_bundle(
        folder, model=model, config=values, tokenizer=tokenizer,
        metrics={"n": 0, "seed": 0, "split": "none"}, card="# tiny",
    )  # fmt: skip
    return folder
