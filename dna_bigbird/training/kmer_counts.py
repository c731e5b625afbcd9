"""k-mer counts next to the network that `finetune` trained."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.baselines.config import KmerConfig
from dna_bigbird.baselines.kmer import KmerBaseline
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.metrics.label_objectives import LabelObjective
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.kmer_config import KmerHeadConfig, KmersConfig
from dna_bigbird.models.kmer_head import bases_of_pieces
from dna_bigbird.models.label_types import BINARY, MULTI_LABEL
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.finetune_run import FinetuningSetup, is_directional
from dna_bigbird.training.label_training import LabelModule, tokenized_splits
from dna_bigbird.training.probe import LabelledWindows, outputs, products_in, spread
from dna_bigbird.training.processes import is_first_on_node

# N rows, D k-mers, L labels

MOST_ROWS = 20_000
"""Training rows that the regression reads; of a larger set evenly spaced ones."""
ITERATIONS = 50


def fit_kmer_head(
    model: SequenceClassifier,
    kmers: KmerHeadConfig,
    bases_VI: np.ndarray,
    train: LabelledWindows,
    validation: LabelledWindows,
    objective: LabelObjective,
    *,
    precision: torch.dtype,
    progress: Callable[[Iterable], Iterable] = iter,
) -> dict[str, float]:
    """Add a regression on k-mer counts to a trained model; return scores on validation.

    The regression is that of the k-mer baseline, its penalty chosen on validation. The logits
    become a * model + b * k-mers + c, the same for all labels, with the lowest loss on the
    validation rows. The scores have loss, the objective's for both together, `_of_network` and
    `_of_words` alone, penalty, a and b.
    """
    rows = spread(len(train), MOST_ROWS)
    held = np.arange(len(validation))
    labels_NL, held_labels_NL = (
        np.asarray(x.labels[i]) for x, i in ((train, rows), (validation, held))
    )
    read = {"precision": precision, "progress": progress}
    network_NL = outputs(model, validation, held, **read)
    part = model.add_kmer_head(kmers)
    part.counts.bases_VI.copy_(torch.from_numpy(bases_VI))
    counts_ND, held_ND = (
        outputs(part.counts, x, i, **read).numpy() for x, i in ((train, rows), (validation, held))
    )
    baseline = KmerBaseline(KmerConfig(max_k=kmers.max_k, strands="together", centre_bp=0))
    baseline.fit(counts_ND, labels_NL, held_ND, held_labels_NL)
    weight_LD, bias_L = (torch.from_numpy(x).float() for x in baseline.linear_map())
    kmers_NL = torch.from_numpy(held_ND) @ weight_LD.T + bias_L
    truth_NL = torch.from_numpy(held_labels_NL).float()
    network, kmer, shift = weights_of_sum(network_NL, kmers_NL, truth_NL, objective)
    with torch.no_grad():
        model.label_layer.weight.mul_(network)
        model.label_layer.bias.mul_(network).add_(shift)
        part.linear.weight.copy_(kmer * weight_LD)
        part.linear.bias.copy_(kmer * bias_L)
    name = objective.monitor
    together_NL = network * network_NL + kmer * kmers_NL + shift
    parts = {"": together_NL, "_of_network": network_NL, "_of_words": kmers_NL}
    scores = {
        f"{name}{part_name}": objective.scores(held_labels_NL, logits_NL.numpy())[name]
        for part_name, logits_NL in parts.items()
    }
    loss = float(objective.loss(together_NL, truth_NL))
    chosen = {"penalty": baseline.penalty, "network": network, "words": kmer}
    return {"loss": loss, **scores, **chosen}


def weights_of_sum(
    network_NL: Tensor, kmers_NL: Tensor, labels_NL: Tensor, objective: LabelObjective
) -> tuple[float, float, float]:
    """Return a, b (neither below 0) and c with the lowest loss of a * network + b * k-mers + c."""
    # (1, 0, 0), the network as it is, if k-mers do not help; a is 0 if the network does not.
    network, kmer, shift = _lowest_loss([network_NL, kmers_NL], labels_NL, objective)
    if kmer > 0 and network <= 0:
        network = 0.0
        kmer, shift = _lowest_loss([kmers_NL], labels_NL, objective)
    return (network, kmer, shift) if kmer > 0 else (1.0, 0.0, 0.0)


def _lowest_loss(parts: list[Tensor], labels_NL: Tensor, objective: LabelObjective) -> list[float]:
    """Return the weights of the parts and a constant that together have the lowest loss."""
    weights = torch.tensor([1.0 / len(parts)] * len(parts) + [0.0], requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=ITERATIONS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        total = weights[-1] + sum(w * part for w, part in zip(weights, parts, strict=False))
        loss = objective.loss(total, labels_NL)
        loss.backward()
        return loss

    optimizer.step(closure)
    return weights.tolist()


CENTRE_BINS, USUAL_MAX_K = 2, 6


def kmers_for(
    kmers: KmersConfig,
    labelled: LabelledSet,
    tokenizer: object,
    *,
    both_strands: bool,
    has_recipe: bool,
) -> KmerHeadConfig | None:
    """Return the k-mers that are counted for a labelled set, None if none are."""
    # `has_recipe`: the settings of the training are chosen for the set, and so the k-mers too.
    of_labels = labelled.label_type in (BINARY, MULTI_LABEL)
    max_k = kmers.max_k
    if max_k < 0:
        max_k = USUAL_MAX_K if has_recipe and labelled.bin_bp and of_labels else 0
    if not max_k:
        return None
    if not of_labels:
        raise InputError(
            f"--words.max_k {max_k} is for labels of 0 and 1; {labelled.path} is a set of type "
            f"{labelled.label_type}"
        )
    centre_bp = CENTRE_BINS * labelled.bin_bp if kmers.centre_bp < 0 else kmers.centre_bp
    return KmerHeadConfig(
        max_k,
        centre_bp if centre_bp < labelled.window_bp else 0,
        together=not is_directional(labelled, both_strands),
        piece_bp=int(max(tokenizer.piece_bp)),
    )


def add_kmers(
    setup: FinetuningSetup, task: LabelModule, training: TrainConfig
) -> tuple[FinetuningSetup, dict[str, float]]:
    """Add the k-mer counts of a setup to the model, if they help; return setup and scores."""
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
    scores = fit_kmer_head(
        task.model,
        setup.words,
        bases_of_pieces(tokenizer.pieces, tokenizer.piece_bp),
        train,
        validation,
        objective,
        precision=products_in(training.precision),
        progress=partial(progress_bar, desc="count words"),
    )
    name = objective.monitor
    if is_first_on_node():
        note(
            f"{name} on validation: network {scores[f'{name}_of_network']:.4f}, k-mers of up to "
            f"{setup.words.max_k} bp {scores[f'{name}_of_words']:.4f}, together {scores[name]:.4f} "
            f"({scores['network']:.2f} and {scores['words']:.2f} of their logits)"
        )
    if not scores["words"]:
        task.model.words = None
        return replace(setup, words=None), scores
    return setup, scores
