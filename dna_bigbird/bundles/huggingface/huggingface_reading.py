"""A Hugging Face folder as one of our models."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import nn

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.huggingface.converted_card import converted_card
from dna_bigbird.bundles.huggingface.longformer import (
    AS_BIGBIRD,
    HEAD_ACTIVATION,
    longformer_config,
    plain_longformer,
    unused_positions,
)
from dna_bigbird.bundles.huggingface.longformer import MODEL_TYPE as LONGFORMER
from dna_bigbird.bundles.huggingface.settings import (
    KEPT,
    class_of,
    encoder_config,
    label_names,
    read_settings,
    required_heads,
)
from dna_bigbird.bundles.huggingface.summarizer_classes import CLASSES as SUMMARIZERS
from dna_bigbird.bundles.huggingface.summarizer_classes import PEGASUS
from dna_bigbird.bundles.huggingface.summarizers import read_summarizer
from dna_bigbird.bundles.huggingface.tensor_names import (
    CLASSES,
    SPANS,
    heads_in,
    layers_in,
    plain_names,
    to_ours,
    untie,
)
from dna_bigbird.bundles.huggingface.weight_files import read_tensors
from dna_bigbird.bundles.text_tasks import describe, task_of_library_class
from dna_bigbird.bundles.weights import building
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import read_json
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.corpus.tokenizer_files import (
    JSON,
    OWN,
    SENTENCEPIECE,
    Tokenizer,
    is_dna_json,
    load_tokenizer,
    read_library_tokenizer,
)
from dna_bigbird.models.config import EncoderConfig, stored_encoder
from dna_bigbird.models.pretraining_model import PretrainingModel

THEIRS = (JSON, SENTENCEPIECE)


@dataclass(frozen=True)
class Converted:
    """What a bundle is made of."""

    model: nn.Module
    config: BundleConfig
    """Without `options`, which a fine-tuned model of the library does not have."""
    tokenizer: Tokenizer
    card: str
    search: dict[str, Any] | None = None
    """Options of the search for summaries that repeat the library's."""


def read_huggingface(folder: Path, plan: str | None = None) -> Converted:
    """Read a folder of the Hugging Face library; no code from it is run."""
    # By default with plan 'huggingface': the model computes what it computes in the library. Any
    # other plan is another function of the same weights.
    folder = Path(folder)
    path = folder / "config.json"
    if not path.is_file():
        raise InputError(f"{folder}: no config.json; expected a folder of the Hugging Face library")
    config = read_json(path)
    if str(config.get("model_type")) in SUMMARIZERS:
        return _read_summarizer(folder, config, plan)
    if config.get("model_type") == LONGFORMER:
        encoder = longformer_config(config, plan, str(path))
        unused = unused_positions(config)
        tensors = plain_longformer(read_tensors(folder), unused, str(folder))
        names = config.get("architectures") or []
        config |= {"architectures": [AS_BIGBIRD[name] for name in names]}
    else:
        encoder = encoder_config(config, plan, str(path))
        tensors = plain_names(read_tensors(folder))
    is_tied = config.get("tie_word_embeddings") is not False
    plain = untie(tensors, is_tied, str(folder))
    if (num_layers := layers_in(plain)) != encoder.num_layers:
        raise InputError(
            f"{path}: num_hidden_layers is {encoder.num_layers}, the weights have {num_layers}"
        )
    name = class_of(config)
    if name is None:
        heads = required_heads(config, heads_in(plain))
        _check_mlm(heads, encoder, str(path))
        task = {"task": "pretraining", "heads": heads, "label_names": []}
    else:
        plain = {
            key: x for key, x in plain.items() if not key.startswith("pooler.")
        }  # unused there
        task = _fine_tuned(name, config, encoder, plain, str(path))
    with building(str(path)):
        model = _build(encoder, task)
    expected = {name: tensor.shape for name, tensor in model.state_dict().items()}
    state = to_ours(plain, expected, str(folder))
    model.to_empty(device="cpu").load_state_dict(state)
    tokenizer = _tokenizer(folder, encoder.vocab_size, is_roberta=encoder.attention == "longformer")
    if name is not None and tokenizer.reads != "text":
        raise InputError(
            f"{path}: a {name} over DNA; here labels of DNA are independent of each other, so its head "
            "has no counterpart. Its encoder is read if architectures is ['BigBirdModel']"
        )
    described = {
        **task,
        "encoder": stored_encoder(encoder),
        "label_groups": [],
        "semi_synthetic": False,
        "initial_weights": "converted from a Hugging Face folder",
        "reads": tokenizer.reads,
        "huggingface": {name: config[name] for name in KEPT if name in config},
    }
    settings = BundleConfig.from_json(described)
    return Converted(model.eval(), settings, tokenizer, converted_card(settings))


def _read_summarizer(folder: Path, config: dict, plan: str | None) -> Converted:
    model, described, search = read_summarizer(folder, config, plan)
    is_roberta = config["model_type"] != PEGASUS.model_type
    tokenizer = _tokenizer(folder, model.encoder.config.vocab_size, is_roberta=is_roberta)
    if tokenizer.reads != "text":
        raise InputError(f"{folder}: a vocabulary of DNA; a summarizer reads text")
    described |= {
        "initial_weights": "converted from a Hugging Face folder",
        "reads": tokenizer.reads,
    }
    settings = BundleConfig.from_json(described)
    return Converted(model, settings, tokenizer, converted_card(settings), search)


def _fine_tuned(name: str, config: dict, encoder: EncoderConfig, plain: dict, path: str) -> dict:
    """Return task, head and labels of a fine-tuned class, by BigBird's name of it."""
    # Longformer's question answering has one layer, its classifier tanh.
    task = task_of_library_class(name)
    dropout = encoder.dropout
    is_longformer = encoder.attention == "longformer"
    if name == SPANS:
        own = {"extra_block": not is_longformer, "block_question": not is_longformer}
        head = task.head_type()(**own, dropout=dropout)
        return {"task": task.name, "head": asdict(head), "label_names": []}
    rate = None if is_longformer else config.get("classifier_dropout")
    act = "tanh" if is_longformer else encoder.activation
    values = {"activation": act, "dropout": dropout if rate is None else rate}
    head = read_settings(task.head_type(), values, f"{path}: classifier_dropout")
    bias = plain.get(CLASSES)
    count = len(bias) if bias is not None and bias.dim() == 1 else 0
    return {
        "task": task.name,
        "head": asdict(head),
        "label_names": label_names(config, count, path),
    }


def _check_mlm(heads: list[str], encoder: EncoderConfig, path: str) -> None:
    is_other = encoder.activation != HEAD_ACTIVATION
    if "mlm" in heads and encoder.attention == "longformer" and is_other:
        raise InputError(
            f"{path}: hidden_act is that of {encoder.activation}; the library's head for masked tokens of a "
            f"Longformer has {HEAD_ACTIVATION}, and ours has the encoder's"
        )


def _build(encoder: EncoderConfig, task: dict) -> nn.Module:
    if task["task"] == "pretraining":
        return PretrainingModel(encoder, heads=task["heads"])
    description = describe(task["task"])
    head = description.head_type()(**task["head"])
    return description.build_model(encoder, head, len(task["label_names"]))


def _tokenizer(folder: Path, vocab_size: int, *, is_roberta: bool) -> Tokenizer:
    is_whole = (folder / SENTENCEPIECE).is_file() or is_dna_json(folder)
    if is_roberta and not is_whole:
        tokenizer = read_library_tokenizer(folder, is_roberta=True)
    else:
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
