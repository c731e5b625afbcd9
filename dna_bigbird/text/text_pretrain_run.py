"""Steps of `text pretrain`: tokens of the corpora, examples with masked words, the bundle."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from torch import Tensor, nn

from dna_bigbird.bundles.config import PRETRAINING
from dna_bigbird.core.errors import InputError, checked_settings
from dna_bigbird.core.unpacking import unpacked_limit
from dna_bigbird.corpus.batches import collate_masked
from dna_bigbird.corpus.hidden_sentence_examples import ends_of_sentences
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.corpus.tokenizer_files import read_text_tokenizer
from dna_bigbird.models.config import CPC, EncoderConfig, stored_encoder
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.text.data.store import TextStore, text_store
from dna_bigbird.text.tasks.mlm import (
    HiddenTextBatch,
    HiddenTextExamples,
    MaskedTextExamples,
    MaskedTextTask,
    collate_hidden_text,
)
from dna_bigbird.text.whole_words import TextMaskingConfig
from dna_bigbird.training.objective import Sums, pair
from dna_bigbird.training.objective_config import CpcConfig
from dna_bigbird.training.pretraining_start import load_initial, settings_of, take_weights
from dna_bigbird.training.pretraining_task import contrast, figures_of, hidden_of, loss_of
from dna_bigbird.training.processes import is_first_on_node
from dna_bigbird.training.training_checks import module_sha256


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
    """Return a fresh model for a vocabulary, or the model of a bundle."""
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
    is_etc = encoder.attention == "etc"
    if not is_etc and cpc != CpcConfig():
        raise InputError("--cpc is read with --model.attention etc only: add that, or leave it out")
    return ("mlm", CPC) if is_etc and cpc.weight else ("mlm",)


def piece_characters(
    pieces: Sequence[str], unk_id: int, *, is_byte_level: bool = False, is_word_piece: bool = False
) -> np.ndarray:
    """Return the characters of every entry, (V,), int64; an unknown piece counts as one."""
    # A word mark is the space in front of the word and counts as one; '##' of WordPiece is none. A
    # piece of byte-level BPE, whose letters are bytes, counts the characters that begin in it.
    letters = _bytes_by_letter() if is_byte_level else {}
    counts = np.zeros(len(pieces), dtype=np.int64)
    for i, piece in enumerate(pieces):
        if is_byte_level:
            # 0x80 to 0xBF continue a character of UTF-8.
            counts[i] = sum(not 0x80 <= letters.get(letter, 0) <= 0xBF for letter in piece)
        else:
            counts[i] = len(piece.removeprefix("##") if is_word_piece else piece)
    counts[unk_id] = 1
    return counts


def characters_of(tokenizer: TextTokenizer) -> np.ndarray:
    """Return the characters of every entry of a vocabulary, shape (V,), int64."""
    pieces = tokenizer.pieces
    byte_level = tokenizer.file.endswith(".json") and any(p.startswith("Ġ") for p in pieces)
    form = {"is_byte_level": byte_level, "is_word_piece": tokenizer.is_word_piece}
    return piece_characters(pieces, tokenizer.unk_id, **form)


def _bytes_by_letter() -> dict[str, int]:
    """Return GPT-2's letters of the 256 bytes: printable ones stand for themselves."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {
        chr(256 + i): byte for i, byte in enumerate(others)
    }


class HiddenTextTask(MaskedTextTask):
    """`MaskedTextTask` with hidden sentences, as in pretraining of DNA."""

    def __init__(
        self, model: nn.Module, config: TrainConfig, characters: np.ndarray, weight: float
    ) -> None:
        super().__init__(model, config, characters)
        self.weight = weight

    def loss_and_sums(self, batch: HiddenTextBatch) -> tuple[Tensor, Sums]:
        logits_PV, vectors = self.model(
            batch.token_ids_BT, batch.is_padding_BT, None, batch.positions_P, **hidden_of(batch)
        )
        nll_P = nn.functional.cross_entropy(logits_PV.float(), batch.labels_P, reduction="none")
        result = contrast(*vectors, gather=self.training)
        loss = (1 - self.weight) * nll_P.mean() + self.weight * loss_of(result)
        count = len(nll_P)
        return loss, {
            "loss": pair(loss * count, count),
            **self.figures_of_masks(batch, nll_P, logits_PV.argmax(-1) == batch.labels_P),
            **figures_of(result),
        }


def tokenize_corpora(
    paths: dict[str, Path], vocabulary: TextTokenizer, folder: Path, max_unpacked_gib: float
) -> dict[str, TextStore]:
    """Return the tokens of both corpora by split, and report their size on standard error."""
    first = is_first_on_node()
    with unpacked_limit(max_unpacked_gib):
        corpus = {
            name: text_store(path, vocabulary, folder / f"tokens-{name}.h5", verify=first)
            for name, path in paths.items()
        }
    for name, store in corpus.items():
        print(
            f"{name}: {store.num_documents} documents, {store.num_tokens} tokens, "
            f"{store.num_empty_documents} without text left out, "
            f"{store.counts[vocabulary.unk_id]} unknown",
            file=sys.stderr,
        )
    return corpus


def masked_examples(
    corpus: dict[str, TextStore],
    vocabulary: TextTokenizer,
    max_tokens: int,
    masking: TextMaskingConfig,
    seed: int,
) -> dict[str, MaskedTextExamples]:
    """Return the examples of both splits; those of validation are in the order of the corpus."""
    with checked_settings():
        return {
            name: MaskedTextExamples(
                store, vocabulary, max_tokens, masking, seed=2 * seed + i, in_order=bool(i)
            )
            for i, (name, store) in enumerate(corpus.items())
        }


def with_hidden_sentences(
    examples: dict[str, MaskedTextExamples], start: PretrainingStart, cpc: CpcConfig
) -> dict[str, MaskedTextExamples | HiddenTextExamples]:
    """Return examples with hidden sentences if the model has a head for them; validation keeps its masks."""
    if start.model.cpc is None:
        return dict(examples)
    ends = ends_of_sentences(start.vocabulary.pieces)
    return {
        name: HiddenTextExamples(each, ends, cpc, keeps_masks=name == "validation")
        for name, each in examples.items()
    }


def task_of(
    start: PretrainingStart, training: TrainConfig, cpc: CpcConfig
) -> tuple[MaskedTextTask, Callable]:
    """Return the task of a model, and how its examples are joined into a batch."""
    characters = characters_of(start.vocabulary)
    if start.model.cpc is None:
        return MaskedTextTask(start.model, training, characters), collate_masked
    return HiddenTextTask(start.model, training, characters, cpc.weight), collate_hidden_text


def objective_of(start: PretrainingStart, cpc: CpcConfig) -> dict:
    """Return what settings say of hidden sentences: nothing without them."""
    return {} if start.model.cpc is None else {"objective": {"cpc": asdict(cpc)}}


def run_settings(
    corpus: dict[str, TextStore],
    start: PretrainingStart,
    encoder: EncoderConfig,
    masking: TextMaskingConfig,
    cpc: CpcConfig,
) -> dict:
    """Return what decides the result apart from the training settings and the seed."""
    return {
        **objective_of(start, cpc),
        "command": "text pretrain",
        "model": stored_encoder(encoder),
        "masking": asdict(masking),
        "inputs": {
            **{name: store.checksum for name, store in corpus.items()},
            "tokenizer": corpus["train"].tokenizer_sha256,
            "weights": module_sha256(start.model),
        },
    }


def bundle_config(
    start: PretrainingStart,
    corpus: dict[str, TextStore],
    masking: TextMaskingConfig,
    seed: int,
    cpc: CpcConfig,
) -> dict:
    """Return what the bundle's config says of model and data."""
    return {
        **text_encoder_config(start.model.encoder.config),
        "heads": list(start.model.heads),
        **objective_of(start, cpc),
        "training_tokens": corpus["train"].num_tokens,
        "training_documents": corpus["train"].num_documents,
        "masking": asdict(masking),
        "seed": seed,
        "initial_weights": start.initial_weights,
    }


def text_encoder_config(encoder: EncoderConfig) -> dict:
    """Return the config of a text encoder with a head for masked tokens."""
    return {
        "task": PRETRAINING,
        "heads": ["mlm"],
        "reads": "text",
        "label_names": [],
        "label_groups": [],
        "semi_synthetic": False,
        "encoder": stored_encoder(encoder),
    }
