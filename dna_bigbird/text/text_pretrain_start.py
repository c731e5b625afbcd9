"""What `text pretrain` starts from: a vocabulary and fresh weights, or another model."""

from dataclasses import dataclass, replace
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.corpus.tokenizer_files import read_text_tokenizer
from dna_bigbird.models.config import CPC, EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.training.initial_model import load_initial, settings_of, take_weights
from dna_bigbird.training.objective_config import CpcConfig


@dataclass(frozen=True)
class PretrainingStart:
    """A model before pretraining."""

    vocabulary: TextTokenizer
    model: PretrainingModel
    initial_weights: str
    """Where the weights come from, for the bundle."""


def choose_start(
    tokenizer: Path | None,
    initial: Path | None,
    model: EncoderConfig,
    seed: int,
    cpc: CpcConfig = CpcConfig(),  # noqa: B008
) -> PretrainingStart:
    """Return a fresh model for a vocabulary, or the model of a bundle.

    With attention etc it has the head for hidden sentences, unless `cpc` has no weight.

    Raises:
        InputError: If not exactly one of `tokenizer` and `initial` is given, or one is unusable.
    """
    if (tokenizer is None) == (initial is None):
        raise InputError("text pretrain: give either --tokenizer or --initial")
    if tokenizer is not None:
        vocabulary = read_text_tokenizer(tokenizer)
        encoder = replace(model, vocab_size=vocabulary.vocab_size)
        fresh = PretrainingModel(encoder, seed=seed, heads=heads_of(encoder, cpc))
        return PretrainingStart(vocabulary, fresh, "random")
    bundle = load_initial(initial)
    bundle.check_reads_text()
    encoder = settings_of(bundle.model.encoder.config, model, initial)
    network = PretrainingModel(encoder, seed=seed, heads=heads_of(encoder, cpc))
    take_weights(network, bundle.model, seed)
    return PretrainingStart(bundle.tokenizer, network, bundle.config.initial_weights or "a bundle")


def heads_of(encoder: EncoderConfig, cpc: CpcConfig) -> tuple[str, ...]:
    """Return the heads of a model of text.

    Raises:
        InputError: If hidden sentences are set for another attention than etc.
    """
    is_etc = encoder.attention == "etc"
    if not is_etc and cpc != CpcConfig():
        raise InputError("--cpc is read with --model.attention etc only: add that, or leave it out")
    return ("mlm", CPC) if is_etc and cpc.weight else ("mlm",)
