"""Word counts next to the network that `finetune` trained."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import torch

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.labelled.labelled import LabelledSet
from dna_bigbird.models.kmer_config import CountedWords, WordsConfig
from dna_bigbird.models.kmer_head import bases_of_pieces
from dna_bigbird.models.label_types import BINARY, MULTI_LABEL
from dna_bigbird.models.precision import BFLOAT16, resolve_precision
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.kmer_head import add_word_part
from dna_bigbird.training.label_model import FinetuningSetup, is_directional
from dna_bigbird.training.label_training import tokenized_splits
from dna_bigbird.training.processes import is_first_on_node

if TYPE_CHECKING:
    from dna_bigbird.training.label_module import LabellingTask

CENTRE_BINS, USUAL_MAX_K = 2, 6


def words_for(
    words: WordsConfig,
    labelled: LabelledSet,
    tokenizer: object,
    *,
    both_strands: bool,
    has_recipe: bool,
) -> CountedWords | None:
    """Return the words that are counted for a labelled set, None if none are.

    Args:
        both_strands: As in the settings of the training.
        has_recipe: Whether the settings of the training are chosen for the set, and so the words too.

    Raises:
        InputError: If words are asked for and the labels are not 0 and 1.
    """
    of_labels = labelled.label_type in (BINARY, MULTI_LABEL)
    max_k = words.max_k
    if max_k < 0:
        max_k = USUAL_MAX_K if has_recipe and labelled.bin_bp and of_labels else 0
    if not max_k:
        return None
    if not of_labels:
        raise InputError(
            f"--words.max_k {max_k} is for labels of 0 and 1; {labelled.path} is a set of type "
            f"{labelled.label_type}"
        )
    centre_bp = CENTRE_BINS * labelled.bin_bp if words.centre_bp < 0 else words.centre_bp
    return CountedWords(
        max_k,
        centre_bp if centre_bp < labelled.window_bp else 0,
        together=not is_directional(labelled, both_strands),
        piece_bp=int(max(tokenizer.piece_bp)),
    )


def add_words(
    setup: FinetuningSetup, task: LabellingTask, training: TrainConfig
) -> tuple[FinetuningSetup, dict[str, float]]:
    """Add the word counts of a setup to the trained model, and note what they are worth.

    Returns:
        The setup, without words if they add nothing, and scores on validation; none without words.
    """
    if setup.words is None:
        return setup, {}
    tokenizer, objective = setup.source.tokenizer, task.objective
    train, validation = tokenized_splits(
        setup.labelled,
        tokenizer,
        training,
        max_tokens=setup.encoder.max_tokens,
        seed=setup.seed,
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    precision = resolve_precision(training.precision, device)
    scores = add_word_part(
        task.model,
        setup.words,
        bases_of_pieces(tokenizer.pieces, tokenizer.piece_bp),
        train,
        validation,
        objective,
        precision=torch.bfloat16 if precision == BFLOAT16 else torch.float32,
        progress=partial(progress_bar, desc="count words"),
    )
    name = objective.monitor
    if is_first_on_node():
        note(
            f"{name} on validation: network {scores[f'{name}_of_network']:.4f}, words of up to "
            f"{setup.words.max_k} bp {scores[f'{name}_of_words']:.4f}, together {scores[name]:.4f} "
            f"({scores['network']:.2f} and {scores['words']:.2f} of their logits)"
        )
    if not scores["words"]:
        task.model.words = None
        return replace(setup, words=None), scores
    return setup, scores
