"""Steps of `pretrain`: read the token stores, make the examples, describe the model."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from dna_bigbird.bundles.card import is_semi_synthetic
from dna_bigbird.bundles.config import PRETRAINING
from dna_bigbird.core.errors import note
from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.corpus.hidden_sentence_examples import (
    HiddenSentenceExamples,
    collate_hidden_sentences,
)
from dna_bigbird.corpus.masking import PAPER, MaskingConfig
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.repeat_weights import RepeatWeighted
from dna_bigbird.corpus.store_checks import check_tokenizer, verify_stores
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.models.config import EncoderConfig, stored_encoder
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.cpc_task import CpcTask
from dna_bigbird.training.objective_config import ObjectiveConfig
from dna_bigbird.training.pretraining_reading import PretrainingReading
from dna_bigbird.training.pretraining_start import DnaStart
from dna_bigbird.training.pretraining_task import PretrainingTask
from dna_bigbird.training.processes import is_first_on_node
from dna_bigbird.training.seen_regions import read_in_pretraining


@dataclass(frozen=True)
class TokenizedCorpus:
    """Token stores for training and validation, and the tokenizer that made both."""

    tokenizer: DnaTokenizer
    train: TokenStore
    validation: TokenStore

    @property
    def stores(self) -> dict[str, TokenStore]:
        """Both stores, by the name of their split."""
        return {"train": self.train, "validation": self.validation}


def open_corpus(
    train: Path, validation: Path, tokenizer: DnaTokenizer, tokenizer_file: Path
) -> TokenizedCorpus:
    """Open the token stores; one process of a machine compares them with their checksums.

    Args:
        tokenizer_file: Where the tokenizer is from, for messages.

    Raises:
        InputError: If a store is damaged or was made with another tokenizer.
    """
    corpus = TokenizedCorpus(tokenizer, TokenStore(train), TokenStore(validation))
    for store in corpus.stores.values():
        check_tokenizer(store, tokenizer, tokenizer_file)
    if is_first_on_node():
        verify_stores(corpus.stores.values())
    return corpus


def pretraining_examples(
    corpus: TokenizedCorpus,
    encoder: EncoderConfig,
    masking: MaskingConfig,
    seed: int,
    objective: ObjectiveConfig,
    reading: PretrainingReading,
) -> dict[str, PretrainExamples | HiddenSentenceExamples | RepeatWeighted]:
    """Return the examples of both splits: sentence pairs with masked tokens.

    Validation draws from another random stream than training, even from the same store. Its
    masked tokens are those of the paper for every objective and masking, so that models can be
    compared.
    """
    tokenizer, cpc = corpus.tokenizer, objective.cpc
    train: PretrainExamples | HiddenSentenceExamples | RepeatWeighted = PretrainExamples(
        corpus.train,
        tokenizer,
        encoder.max_tokens,
        masking,
        2 * seed,
        random_second=objective.nsp_weight > 0,
        sites=reading.sites,
    )
    validation = PretrainExamples(
        corpus.validation, tokenizer, encoder.max_tokens, PAPER, 2 * seed + 1
    )
    if cpc is not None:
        size = encoder.etc.tokens_per_global
        train = HiddenSentenceExamples(train, size, cpc)
        validation = HiddenSentenceExamples(validation, size, cpc, keeps_masks=True)
    if reading.soft_mask is not None:
        weight = objective.repeat_weight
        train = RepeatWeighted(train, reading.soft_mask, weight, tokenizer.piece_bp)
    return {"train": train, "validation": validation}


def task_of(
    network: PretrainingModel,
    training: TrainConfig,
    piece_bp: np.ndarray,
    objective: ObjectiveConfig,
) -> tuple[PretrainingTask, Callable]:
    """Return the task of an objective, and how its examples are joined into a batch."""
    if objective.cpc is None:
        task = PretrainingTask(network, training, piece_bp, objective.nsp_weight)
        return task, collate_pretraining
    return CpcTask(network, training, piece_bp, objective.cpc.weight), collate_hidden_sentences


def note_masking(masking: MaskingConfig) -> None:
    """Say that training and validation hide different tokens, if they do."""
    if masking != PAPER and is_first_on_node():
        note(
            f"training hides {masking.in_words}, validation and evaluate-lm {PAPER.in_words} as in the "
            "paper: figures of training are not comparable with those of validation"
        )


def run_settings(
    corpus: TokenizedCorpus,
    start: DnaStart,
    masking: MaskingConfig,
    objective: ObjectiveConfig,
    reading: PretrainingReading,
) -> dict:
    """Return what decides the result, without the training settings and the seed."""
    checksums = {name: str(store.attributes["checksum"]) for name, store in corpus.stores.items()}
    return {
        "command": "pretrain",
        "model": stored_encoder(start.encoder),
        "masking": asdict(masking),
        "objective": objective.stored,
        "inputs": {
            **checksums,
            "tokenizer": corpus.train.tokenizer_sha256,
            **reading.checksums,
            **start.checksums,
        },
    }


def pretrained_config(
    corpus: TokenizedCorpus,
    start: DnaStart,
    masking: MaskingConfig,
    seed: int,
    objective: ObjectiveConfig,
) -> dict:
    """Return what the bundle's config says of model and data; it names no regions if earlier ones are unknown."""
    store, before = corpus.train, start.regions_read
    own = read_in_pretraining(store)
    read = [] if before is None else [*(record for record in before if record != own), own]
    return {
        "task": PRETRAINING,
        "label_names": [],
        "label_groups": [],
        "semi_synthetic": start.semi_synthetic or is_semi_synthetic(store.assembly),
        "encoder": stored_encoder(start.encoder),
        "assembly": store.assembly,
        "bp_per_token": round(total_bp(store) / store.num_tokens, 3),
        "masking": asdict(masking),
        "objective": objective.stored,
        "heads": list(objective.heads),
        "seed": seed,
        **start.described,
        **({"regions_read": [asdict(record) for record in read]} if read else {}),
    }


def total_bp(store: TokenStore) -> int:
    """Return the base pairs of all documents of a store; where documents overlap, each counts."""
    return sum(store.document_interval(d).length for d in range(store.num_documents))
