"""The same weights under the library's names and under ours."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from dna_bigbird.core.errors import InputError
from dna_bigbird.models.config import PRETRAINING_HEADS

WORDS = "embeddings.word_embeddings.weight"
DECODER_WEIGHT, DECODER_BIAS = "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"
MLM_BIAS = "cls.predictions.bias"
BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")
"""Counted up from 0 and all 0: no weights."""
OLD_ENDINGS = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
ABOVE = ("cls.", "classifier.", "qa_classifier.")
"""Heads outside the encoder."""
HEAD_OF = {"cls.predictions.": "mlm", "pooler.": "pooler", "cls.seq_relationship.": "nsp"}
TASK_HEADS = ("classifier.", "qa_classifier.", "qa_outputs.", "crossattention.")
CLASSIFIER, SPANS = "BigBirdForSequenceClassification", "BigBirdForQuestionAnswering"
FINE_TUNED = (CLASSIFIER, SPANS)
"""Fine-tuned classes that are read and written; the task is the one with that `library_class`."""
CLASSES = "classifier.out_proj.bias"
"""One number per class."""
_LAYER = {
    "attention.qkv": tuple(f"attention.self.{part}" for part in ("query", "key", "value")),
    "attention.global_qkv": tuple(
        f"attention.self.{part}_global" for part in ("query", "key", "value")
    ),
    "attention.output": ("attention.output.dense",),
    "attention_norm": ("attention.output.LayerNorm",),
    "ffn_in": ("intermediate.dense",),
    "ffn_out": ("output.dense",),
    "ffn_norm": ("output.LayerNorm",),
}
_OUTSIDE = {
    "encoder.word.weight": WORDS,
    "encoder.position.weight": "embeddings.position_embeddings.weight",
    "encoder.segment.weight": "embeddings.token_type_embeddings.weight",
    "encoder.norm.weight": "embeddings.LayerNorm.weight",
    "encoder.norm.bias": "embeddings.LayerNorm.bias",
    "mlm.dense.weight": "cls.predictions.transform.dense.weight",
    "mlm.dense.bias": "cls.predictions.transform.dense.bias",
    "mlm.norm.weight": "cls.predictions.transform.LayerNorm.weight",
    "mlm.norm.bias": "cls.predictions.transform.LayerNorm.bias",
    "mlm.bias": MLM_BIAS,
    "pooler.dense.weight": "pooler.weight",
    "pooler.dense.bias": "pooler.bias",
    "nsp.weight": "cls.seq_relationship.weight",
    "nsp.bias": "cls.seq_relationship.bias",
    "head.pooler.dense.weight": "classifier.dense.weight",
    "head.pooler.dense.bias": "classifier.dense.bias",
    "head.dense.weight": "classifier.out_proj.weight",
    "head.dense.bias": CLASSES,
    "block.ffn_in.weight": "qa_classifier.intermediate.dense.weight",
    "block.ffn_in.bias": "qa_classifier.intermediate.dense.bias",
    "block.ffn_out.weight": "qa_classifier.output.dense.weight",
    "block.ffn_out.bias": "qa_classifier.output.dense.bias",
    "block.norm.weight": "qa_classifier.output.LayerNorm.weight",
    "block.norm.bias": "qa_classifier.output.LayerNorm.bias",
    "dense.weight": "qa_classifier.qa_outputs.weight",
    "dense.bias": "qa_classifier.qa_outputs.bias",
}


def library_names(ours: str) -> tuple[str, ...]:
    """Return the tensors, without `bert.`, whose rows make up one of ours.

    >>> library_names("encoder.layers.0.attention.qkv.weight")[1]
    'encoder.layer.0.attention.self.key.weight'
    """
    if ours in _OUTSIDE:
        return (_OUTSIDE[ours],)
    _, _, layer, *module, suffix = ours.split(".")
    parts = _LAYER[".".join(module)]
    return tuple(f"encoder.layer.{layer}.{part}.{suffix}" for part in parts)


def plain_names(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors under today's names: no `bert.`, no gamma and beta, no buffers."""
    plain = {}
    for name, tensor in tensors.items():
        short = name.removeprefix("bert.")
        for old, new in OLD_ENDINGS.items():
            if short.endswith(old):
                short = short.removesuffix(old) + new
        if short not in BUFFERS:
            plain[short] = tensor
    return plain


def heads_in(names: Iterable[str]) -> set[str]:
    """Return the heads that some tensor belongs to."""
    return {head for name in names for start, head in HEAD_OF.items() if name.startswith(start)}


def layers_in(names: Iterable[str]) -> int:
    """Return how many layers have a tensor."""
    matches = map(re.compile(r"encoder\.layer\.(\d+)\.").match, names)
    return len({layer[1] for layer in matches if layer})


def untie(plain: Mapping[str, Tensor], is_tied: bool, source: str) -> dict[str, Tensor]:
    """Return the tensors without the second copy of tied ones; InputError if the copies differ."""
    # If config.json does not tie the head (`is_tied`), its matrix must be there, and may still be
    # equal.
    plain = dict(plain)
    weight, bias = plain.pop(DECODER_WEIGHT, None), plain.pop(DECODER_BIAS, None)
    if weight is None and not is_tied and "mlm" in heads_in(plain):
        raise InputError(f"{source}: tie_word_embeddings is false, and {DECODER_WEIGHT} is missing")
    if weight is not None and not _equal(weight, plain.get(WORDS)):
        raise InputError(
            f"{source}: {DECODER_WEIGHT} differs from the word embeddings; only tied heads are read"
        )
    if bias is not None and not _equal(bias, plain.setdefault(MLM_BIAS, bias)):
        raise InputError(f"{source}: {DECODER_BIAS} and {MLM_BIAS} differ; expected one bias")
    return plain


def _equal(a: Tensor, b: Tensor | None) -> bool:
    return b is not None and a.shape == b.shape and bool(torch.equal(a, b))


def to_ours(
    plain: Mapping[str, Tensor],
    expected: Mapping[str, torch.Size],
    source: str,
    names_of: Callable[[str], tuple[str, ...]] = library_names,
) -> dict[str, Tensor]:
    """Return our state in float32, of the shapes `expected`, from the library's plain tensors."""
    unused = dict(plain)
    needed = [name for ours in expected for name in names_of(ours)]
    if missing := [name for name in needed if name not in unused]:
        raise InputError(
            f"{source}: {len(missing)} tensors are missing that config.json asks for, the first one "
            f"{missing[0]}"
        )
    state = {}
    for ours, shape in expected.items():
        parts = [unused.pop(name) for name in names_of(ours)]
        rows = (sum(part.shape[0] if part.dim() else 0 for part in parts), *parts[0].shape[1:])
        if rows != tuple(shape) or any(part.shape != parts[0].shape for part in parts):
            name = names_of(ours)[0]
            each = (shape[0] // len(parts), *shape[1:])
            raise InputError(
                f"{source}: {name} is {tuple(parts[0].shape)}, config.json asks for {each}"
            )
        if not all(part.is_floating_point() for part in parts):
            raise InputError(f"{source}: {names_of(ours)[0]} is {parts[0].dtype}, not real numbers")
        state[ours] = (torch.cat(parts) if len(parts) > 1 else parts[0]).float()
        if not state[ours].isfinite().all():  # float64 may hold more than float32
            raise InputError(f"{source}: {names_of(ours)[0]} holds values that are not finite")
    if unused:
        first = next(iter(unused))
        task = next((f" (a {t[:-1]} head)" for t in TASK_HEADS if t in f".{first}"), "")
        raise InputError(
            f"{source}: {len(unused)} tensors have no place in our model, the first one {first}{task}; "
            "config.json names no class with such a head, or one without a counterpart here"
        )
    return state


def to_library(state: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    """Return the tensors that the library stores; a bare encoder has no prefix, others `bert.`."""
    prefix = "" if name == "BigBirdModel" else "bert."
    parts = library_parts(state, library_names)
    return {n if n.startswith(ABOVE) else prefix + n: part for n, part in parts}


def library_parts(
    state: Mapping[str, Tensor], names_of: Callable[[str], tuple[str, ...]]
) -> Iterator[tuple[str, Tensor]]:
    """Yield the library's tensors, each some rows of one of ours, as copies on the CPU."""
    for ours, tensor in state.items():
        names = names_of(ours)
        for name, part in zip(names, tensor.chunk(len(names)), strict=True):
            yield name, part.detach().cpu().contiguous().clone()


def with_global(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights with global projections in each layer: copies where they are not separate."""
    whole = dict(state)
    for name, tensor in state.items():
        own = name.replace(".attention.qkv.", ".attention.global_qkv.")
        if name.startswith("encoder."):
            whole.setdefault(own, tensor)
    return whole


def architecture(heads: Sequence[str]) -> str:
    """Return the library's class for a model with these heads."""
    if "nsp" in heads:
        return "BigBirdForPreTraining"
    return "BigBirdForMaskedLM" if "mlm" in heads else "BigBirdModel"


HEADS_OF_ARCHITECTURE = {
    "BigBirdForPreTraining": PRETRAINING_HEADS,
    "BigBirdForMaskedLM": ("mlm",),
    "BigBirdModel": (),
}
"""What each of them must have; it may have more."""
