"""A Hugging Face folder as one of our models."""

from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.corpus.tokenizer_files import JSON, OWN, SENTENCEPIECE, Tokenizer, load_tokenizer
from dna_bigbird.errors import InputError
from dna_bigbird.files import read_json
from dna_bigbird.interop.card import converted_card
from dna_bigbird.interop.settings import KEPT, encoder_config, required_heads
from dna_bigbird.interop.tensor_names import heads_in, layers_in, plain_names, to_ours, untie
from dna_bigbird.interop.weight_files import read_tensors
from dna_bigbird.models.pretraining import PretrainingModel

THEIRS = (JSON, SENTENCEPIECE)


@dataclass(frozen=True)
class Converted:
    """What a bundle is made of."""

    model: PretrainingModel
    config: dict
    tokenizer: Tokenizer
    card: str


def read_huggingface(folder: Path, plan: str | None = None) -> Converted:
    """Read a BigBird folder of the Hugging Face library; no code from it is run.

    Args:
        plan: Plan of the random blocks. By default 'huggingface': the model computes what it
            computes in the library. Any other plan is another function of the same weights.

    Raises:
        InputError: If a file is missing or damaged, or the model is one that we do not have.
    """
    folder = Path(folder)
    path = folder / "config.json"
    if not path.is_file():
        raise InputError(f"{folder}: no config.json; expected a folder of the Hugging Face library")
    config = read_json(path)
    encoder = encoder_config(config, plan, str(path))
    is_tied = config.get("tie_word_embeddings") is not False
    plain = untie(plain_names(read_tensors(folder)), is_tied, str(folder))
    if (found := layers_in(plain)) != encoder.num_layers:
        raise InputError(
            f"{path}: num_hidden_layers is {encoder.num_layers}, the weights have {found}"
        )
    heads = required_heads(config, heads_in(plain))
    try:
        with torch.device("meta"):  # a config of any size costs nothing until the weights agree
            model = PretrainingModel(encoder, heads=heads)
    except RuntimeError as error:  # products of sizes beyond 64 bits
        raise InputError(f"{path}: it describes no model: {error}") from error
    expected = {name: tensor.shape for name, tensor in model.state_dict().items()}
    state = to_ours(plain, expected, str(folder))
    model.to_empty(device="cpu").load_state_dict(state)
    tokenizer = _tokenizer(folder, encoder.vocab_size)
    described = {
        "task": "pretraining",
        "encoder": asdict(encoder),
        "heads": list(model.heads),
        "label_names": [],
        "label_groups": [],
        "semi_synthetic": False,
        "initial_weights": "converted from a Hugging Face folder",
        "reads": tokenizer.reads,
        "huggingface": {name: config[name] for name in KEPT if name in config},
    }
    return Converted(model.eval(), described, tokenizer, converted_card(described))


def _tokenizer(folder: Path, vocab_size: int) -> Tokenizer:
    tokenizer = load_tokenizer(folder, THEIRS)
    if (folder / OWN).is_file():  # written by `writing`: the same vocabulary as we hold it
        tokenizer = _own(folder / OWN, tokenizer)
    if tokenizer.vocab_size > vocab_size:
        raise InputError(
            f"{folder}: the tokenizer has {tokenizer.vocab_size} pieces, config.json has vocab_size "
            f"{vocab_size}; they belong to different models"
        )
    return tokenizer


def _own(path: Path, theirs: Tokenizer) -> Tokenizer:
    """Return our own form of a vocabulary if it is the one of `tokenizer.json`, else that."""
    try:
        own = DnaTokenizer.from_file(path)
    except InputError:
        return theirs  # a SentencePiece model that the library keeps under this name
    return own if own.pieces == getattr(theirs, "pieces", None) else theirs
