"""One of our models as a folder that the Hugging Face library loads."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import tokenizers
from tokenizers import decoders, models, normalizers, processors
from torch import nn

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.huggingface.converted_card import UNKNOWN, front_matter, library_card
from dna_bigbird.bundles.huggingface.longformer import longformer_folder
from dna_bigbird.bundles.huggingface.settings import (
    TOKEN_IDS,
    check_held,
    differences,
    library_config,
)
from dna_bigbird.bundles.huggingface.summarizer_classes import generation_config
from dna_bigbird.bundles.huggingface.summarizers import summarizer_folder
from dna_bigbird.bundles.huggingface.tensor_names import (
    CLASSIFIER,
    FINE_TUNED,
    SPANS,
    architecture,
    to_library,
)
from dna_bigbird.bundles.metrics import Metrics
from dna_bigbird.bundles.text_tasks import tasks
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.result_folders import HUGGING_FACE, atomic_directory
from dna_bigbird.corpus.special_tokens import names_file
from dna_bigbird.corpus.tokenizer import FIRST_PIECE_ID, SPECIAL_PIECES, DnaTokenizer
from dna_bigbird.corpus.tokenizer_files import JSON, SENTENCEPIECE, Tokenizer
from dna_bigbird.genome.alphabet import BASES, IUPAC_AMBIGUOUS
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.summarizer import Summarizer

# Our SentencePiece DNA vocabulary as a `tokenizer.json` that cuts DNA into the same ids.
#
# SentencePiece joins the two neighbours that make the earliest piece of the vocabulary, leftmost
# first. `tokenizers` joins the pair that is first in a list, leftmost first. So the list has every
# pair that makes a piece, in the order of the pieces. A strand-symmetric vocabulary has scores instead,
# and both libraries take the segmentation with the highest sum.


def tokenizer_json(tokenizer: DnaTokenizer) -> bytes:
    """Return `tokenizer.json`; IUPAC codes become N and U becomes T, as in `genome.normalise`."""
    cls, sep = (SPECIAL_PIECES[i] for i in (tokenizer.cls_id, tokenizer.sep_id))
    written = tokenizers.Tokenizer(_model(tokenizer))
    to_n = IUPAC_AMBIGUOUS + IUPAC_AMBIGUOUS.lower()
    rules = [(base.lower(), base) for base in BASES]
    rules += [(tokenizers.Regex(f"[{to_n}]"), "N"), (tokenizers.Regex("[Uu]"), "T")]
    written.normalizer = normalizers.Sequence([normalizers.Replace(*rule) for rule in rules])
    written.decoder = decoders.Fuse()
    written.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, tokenizer.cls_id), (sep, tokenizer.sep_id)],
    )
    written.add_special_tokens(
        [tokenizers.AddedToken(piece, normalized=False) for piece in SPECIAL_PIECES]
    )
    return written.to_str(pretty=True).encode()


def _model(tokenizer: DnaTokenizer) -> models.Model:
    pieces = tokenizer.pieces
    if tokenizer.joins_pairs:
        numbers = {piece: i for i, piece in enumerate(pieces)}
        unknown = SPECIAL_PIECES[tokenizer.unk_id]
        return models.BPE(numbers, _joins(pieces[FIRST_PIECE_ID:]), unk_token=unknown)
    scores = [0.0] * FIRST_PIECE_ID + tokenizer.scores.tolist()
    return models.Unigram(list(zip(pieces, scores, strict=True)), unk_id=tokenizer.unk_id)


def _joins(pieces: list[str]) -> list[tuple[str, str]]:
    known = set(pieces)
    return [
        (piece[:cut], piece[cut:])
        for piece in pieces
        for cut in range(1, len(piece))
        if piece[:cut] in known and piece[cut:] in known
    ]


def write_huggingface(
    folder: Path,
    *,
    model: nn.Module,
    config: BundleConfig | Mapping[str, Any],
    tokenizer: Tokenizer,
    card: str,
    source: str,
    allow_different_attention: bool = False,
    metrics: Metrics | Mapping[str, Any] | None = None,
    license: str = UNKNOWN,
) -> list[str]:
    """Write a folder that the library loads; return what it computes differently.

    Raises:
        InputError: If the library lacks the head, or there are such differences that are not allowed.
    """
    config = BundleConfig.from_json(config)
    encoder = config.encoder
    kept = config.huggingface or {}
    if isinstance(model, Summarizer):
        written, tensors, different = summarizer_folder(model, kept, source)
    else:
        is_longformer = encoder.attention == "longformer"
        if not is_longformer:
            check_held(encoder, source)
        name, ids = _class_of(config, model, encoder, source), _token_ids(tokenizer)
        if is_longformer:
            written, tensors, different = longformer_folder(model, config, name, ids, source)
        else:
            written = library_config(encoder, name, ids, kept)
            tensors, different = to_library(model.state_dict(), name), differences(encoder)
        if name == CLASSIFIER:
            written |= _labels(config)
    if different and not allow_different_attention:
        raise InputError(
            f"{source}: the library cannot compute this model: {'; '.join(different)}. Give "
            "--allow-different-attention true to write the weights all the same"
        )
    weights = safetensors.torch.save(tensors, metadata={"format": "pt"})
    with atomic_directory(folder, HUGGING_FACE) as partial:
        (partial / "model.safetensors").write_bytes(weights)
        (partial / "config.json").write_text(_json(written))
        if search := generation_config(config, written):
            (partial / "generation_config.json").write_text(_json(search))
        for name, content in _tokenizer_files(tokenizer).items():
            (partial / name).write_bytes(content)
        (partial / "special_tokens_map.json").write_bytes(names_file(tokenizer.names))
        settings = _tokenizer_settings(tokenizer, encoder.max_tokens, model)
        (partial / "tokenizer_config.json").write_text(_json(settings))
        scores = Metrics.from_json(metrics or {})
        top = front_matter(config, scores, written, license, is_same=not different)
        (partial / "README.md").write_text(top + library_card(card, different, config))
    return different


def _class_of(config: BundleConfig, model: nn.Module, encoder: EncoderConfig, source: str) -> str:
    """Return the library's class that has the model's head: BigBird's name of it."""
    task, head = config.task, config.head
    if config.copies is not None:
        raise InputError(
            f"{source}: its copies of the training text have no place in the library's "
            "format; pretrain without counts to write it"
        )
    if task == "pretraining":
        return architecture(model.heads)
    tasks_written = {description.library_class: name for name, description in tasks().items()}
    class_name = next((name for name in FINE_TUNED if tasks_written.get(name) == task), None)
    if class_name is None:
        tasks_written.pop("", None)
        raise InputError(
            f"{source}: a {task} model; the library has no head like ours, so only pretrained and "
            f"converted bundles and those of {', '.join(tasks_written.values())} are written"
        )
    is_longformer = encoder.attention == "longformer"
    expected = {"pooling": "cls", "activation": "tanh" if is_longformer else encoder.activation}
    if class_name == SPANS:
        expected = {"extra_block": not is_longformer, "block_question": not is_longformer}
    for name, value in expected.items():
        if getattr(head, name, None) != value:
            raise InputError(
                f"{source}: the head's {name} is {getattr(head, name, None)}, that of the library's {class_name} "
                f"{value}; it would compute something else"
            )
    return class_name


def _labels(config: BundleConfig) -> dict:
    names = config.label_names
    return {
        "id2label": {str(i): name for i, name in enumerate(names)},
        "label2id": {name: i for i, name in enumerate(names)},
        "classifier_dropout": config.head.dropout,
        "problem_type": "single_label_classification",
    }


def _json(value: dict) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def _token_ids(tokenizer: Tokenizer) -> dict[str, int]:
    """Return the ids of config.json; a vocabulary without sentence marks has [CLS] and [SEP]."""
    ids = (tokenizer.pad_id, tokenizer.cls_id, tokenizer.sep_id, tokenizer.sep_id)
    return dict(zip(TOKEN_IDS, ids, strict=True))


def _tokenizer_files(tokenizer: Tokenizer) -> dict[str, bytes]:
    if isinstance(tokenizer, DnaTokenizer):
        # Our own form too: `convert` takes it back from there.
        return {JSON: tokenizer_json(tokenizer), **tokenizer.files}
    return {
        name: tokenizer.files[name] for name in (JSON, SENTENCEPIECE) if name in tokenizer.files
    }


def _tokenizer_settings(tokenizer: Tokenizer, max_tokens: int, model: nn.Module) -> dict:
    is_json = SENTENCEPIECE not in tokenizer.files
    # Our next-sentence head was trained with segments; BigBird tokenizers of the library leave them out.
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    if isinstance(model, Summarizer):
        of_file = "PegasusTokenizer"
        own = {"offset": 0, "mask_token_sent": None, "additional_special_tokens": []}
    else:
        of_file, own = "BigBirdTokenizer", {}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast" if is_json else of_file,
        **({} if is_json else own),
        **({"model_input_names": inputs} if isinstance(tokenizer, DnaTokenizer) else {}),
        "model_max_length": max_tokens,
        "clean_up_tokenization_spaces": False,
        **{f"{role}_token": name for role, name in tokenizer.names.items()},
    }
