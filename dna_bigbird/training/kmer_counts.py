"""k-mer counts next to the network that `finetune` trained."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.baselines.composition import CENTRE_BINS
from dna_bigbird.baselines.config import KmerConfig
from dna_bigbird.baselines.kmer import KmerBaseline
from dna_bigbird.baselines.kmer_baseline import is_aligned
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.metrics.label_objectives import LabelObjective
from dna_bigbird.metrics.scores import part_score_key
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.kmer_config import KmerHeadConfig, KmersConfig
from dna_bigbird.models.kmer_head import POSITIONS, WORDS, KmerCounts, bases_of_pieces
from dna_bigbird.models.label_types import MULTI_LABEL
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.bin_kmers import AROUND_BP, FILTERS, HIDDEN, reach_of
from dna_bigbird.training.finetune_run import FinetuningSetup, is_directional
from dna_bigbird.training.label_training import LabelModule, tokenized_splits
from dna_bigbird.training.probe import LabelledWindows, outputs, products_in, spread
from dna_bigbird.training.processes import is_first_on_node

# N rows, D k-mers, L labels

MOST_ROWS = 20_000
"""Training rows that the regression reads; of a larger set evenly spaced ones."""
ITERATIONS = 50


NETWORK, COMMON = "network", "network_mean"
"""The parts of the logits that are not of `KmerCounts.parts`: the network, and its mean over labels."""


def fit_kmer_head(
    model: SequenceClassifier,
    kmers: KmerHeadConfig,
    bases_VI: np.ndarray,
    train: LabelledWindows,
    validation: LabelledWindows,
    objective: LabelObjective,
    label_type: str,
    *,
    precision: torch.dtype,
    progress: Callable[[Iterable], Iterable] = iter,
) -> tuple[KmerHeadConfig | None, dict[str, float]]:
    """Add regressions on k-mer counts and positions to a trained model, if they help.

    Returns:
        The counts that were added, and scores on validation.

    """
    # Each regression is that of the baseline, its penalty chosen on validation. The logits become a weighted sum
    # of the parts plus a constant, the same for all labels, with the lowest loss on the validation rows. The
    # scores have loss, the objective's for the sum, and of each part its own (`_of_words`) and its weight. What many
    # labels share, such as open chromatin, is better known than what is of one: so the network's mean is a part.
    rows = spread(len(train), MOST_ROWS)
    held = np.arange(len(validation))
    labels_NL, truth_NL = (np.asarray(x.labels[i]) for x, i in ((train, rows), (validation, held)))
    read = {"precision": precision, "progress": progress}
    logits = {NETWORK: (network_NL := outputs(model, validation, held, **read))}
    if label_type == MULTI_LABEL and network_NL.shape[1] > 1:
        logits[COMMON] = network_NL.mean(1, keepdim=True).expand_as(network_NL)
    counts = KmerCounts(kmers, len(bases_VI))
    counts.bases_VI.copy_(torch.from_numpy(bases_VI))
    counts_ND, held_ND = (
        outputs(counts, x, i, **read).numpy() for x, i in ((train, rows), (validation, held))
    )
    maps, scores = {}, {}
    for name, at in counts.parts().items():
        baseline = KmerBaseline(KmerConfig(strands="together", centre_bp=0), label_type=label_type)
        baseline.fit(counts_ND[:, at], labels_NL, held_ND[:, at], truth_NL)
        weight_LD, bias_L = (torch.from_numpy(x).float() for x in baseline.linear_map())
        maps[name] = weight_LD, bias_L
        scores[f"penalty_of_{name}"] = baseline.penalty
        logits[name] = torch.from_numpy(held_ND[:, at]) @ weight_LD.T + bias_L
    truth_NL = torch.from_numpy(truth_NL).float()
    weights, shift = weights_of_sum(logits, truth_NL, objective)
    total_NL = shift + sum(weights[x] * logits[x] for x in weights)
    score = objective.monitor
    for name, logits_NL in {"": total_NL, **{x: logits[x] for x in (NETWORK, *maps)}}.items():
        key = part_score_key(score, name) if name else score
        scores[key] = objective.scores(truth_NL.numpy(), logits_NL.numpy())[score]
    scores |= {"loss": float(objective.loss(total_NL, truth_NL)), **weights}
    used = [x for x in maps if weights[x]]
    if not used:
        return None, scores
    kept = replace(
        kmers,
        max_k=kmers.max_k if weights.get(WORDS) else 0,
        positions=kmers.positions if weights.get(POSITIONS) else 0,
    )
    model.mix_outputs(weights[NETWORK], weights.get(COMMON, 0.0), shift)
    part = model.add_kmer_head(kept)
    with torch.no_grad():
        part.counts.bases_VI[: len(bases_VI)] = torch.from_numpy(bases_VI)  # ids may be more
        part.linear.weight.copy_(torch.cat([weights[x] * maps[x][0] for x in used], dim=1))
        part.linear.bias.copy_(sum(weights[x] * maps[x][1] for x in used))
    return kept, scores


def weights_of_sum(
    logits: dict[str, Tensor], labels_NL: Tensor, objective: LabelObjective
) -> tuple[dict[str, float], float]:
    """Return the weights of the parts, none below 0, and the constant with the lowest loss of the sum."""
    # The network as it is, if nothing else helps.
    used = [*logits]
    while used:
        equal = 1.0 / max(1, len({*used} - {COMMON}))
        expected = [0.0 if x == COMMON else equal for x in used]
        *chosen, shift = _lowest_loss([logits[x] for x in used], expected, labels_NL, objective)
        lowest = min(range(len(used)), key=chosen.__getitem__)
        if chosen[lowest] > 0:
            break
        del used[lowest]
    if not set(used) - {NETWORK, COMMON}:
        used, chosen, shift = [NETWORK], [1.0], 0.0
    return dict.fromkeys(logits, 0.0) | dict(zip(used, chosen, strict=True)), shift


def _lowest_loss(
    parts: list[Tensor], expected: list[float], labels_NL: Tensor, objective: LabelObjective
) -> list[float]:
    """Return the weights of the parts and a constant that together have the lowest loss."""
    # Few rows choose the weights badly: each is held to that of a mean of the parts, as by one more row.
    pulls = torch.tensor(expected)
    weights = torch.tensor([*expected, 0.0], requires_grad=True)
    stds = torch.stack([part.std(correction=0) for part in parts])
    optimizer = torch.optim.LBFGS([weights], max_iter=ITERATIONS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        total = weights[-1] + sum(w * part for w, part in zip(weights, parts, strict=False))
        away = ((weights[:-1] - pulls) * stds).square().sum()
        loss = objective.loss(total, labels_NL) + away / (~labels_NL.isnan()).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return weights.tolist()


USUAL_MAX_K, TRACKS_MAX_K = 6, 4


def kmers_for(
    kmers: KmersConfig,
    labelled: LabelledSet,
    tokenizer: object,
    *,
    both_strands: bool,
    has_recipe: bool,
) -> KmerHeadConfig | None:
    """Return the k-mers that are counted for a labelled set, None if none are."""
    # `has_recipe`: the settings of the training are chosen for the set, and so the counts too.
    reads_one_strand = is_directional(labelled, both_strands)
    if labelled.num_bins:
        if kmers.by_position or kmers.centre_bp > 0:
            raise InputError(
                f"{labelled.path}: of tracks k-mers are counted around every bin; leave out --words.centre_bp and "
                "--words.by_position"
            )
        max_k = kmers.max_k if kmers.max_k >= 0 else TRACKS_MAX_K * has_recipe
        return _around_bins(max_k, labelled, int(max(tokenizer.piece_bp))) if max_k else None
    if kmers.by_position and not is_aligned(labelled):
        raise InputError(
            f"--words.by_position true is for windows of one length without labelled bins; {labelled.path} has "
            "others: leave it out"
        )
    has_positions = has_recipe and reads_one_strand and is_aligned(labelled)
    if kmers.by_position is not None:
        has_positions = kmers.by_position
    max_k = kmers.max_k if kmers.max_k >= 0 else USUAL_MAX_K * has_recipe
    if not max_k and not has_positions:
        return None
    centre_bp = CENTRE_BINS * labelled.bin_bp if kmers.centre_bp < 0 else kmers.centre_bp
    return KmerHeadConfig(
        max_k,
        centre_bp if max_k and centre_bp < labelled.window_bp else 0,
        together=not reads_one_strand,
        piece_bp=int(max(tokenizer.piece_bp)),
        positions=labelled.window_bp if has_positions else 0,
    )


def _around_bins(max_k: int, labelled: LabelledSet, piece_bp: int) -> KmerHeadConfig:
    return KmerHeadConfig(
        max_k,
        piece_bp=piece_bp,
        around_bp=AROUND_BP,
        bin_bp=labelled.bin_bp,
        crop_bp=labelled.crop_bp,
        hidden=HIDDEN,
        filters=FILTERS,
        reach_bp=reach_of(labelled.bin_bp),
    )


def add_kmers(
    setup: FinetuningSetup, task: LabelModule, training: TrainConfig
) -> tuple[FinetuningSetup, dict[str, float]]:
    """Add the k-mer counts of a setup to the model, if they help; return setup and scores."""
    if setup.words is None or setup.words.around_bp:
        return setup, {}
    tokenizer, objective = setup.source.tokenizer, task.objective
    train, validation = tokenized_splits(
        setup.labelled,
        tokenizer,
        training,
        max_tokens=setup.encoder.max_tokens,
        seed=setup.seed,
    )
    kept, scores = fit_kmer_head(
        task.model,
        setup.words,
        bases_of_pieces(tokenizer.pieces, tokenizer.piece_bp),
        train,
        validation,
        objective,
        setup.labelled.label_type,
        precision=products_in(training.precision),
        progress=partial(progress_bar, desc="count words"),
    )
    if is_first_on_node():
        note(_told(scores, objective.monitor, setup.words))
    return replace(setup, words=kept), scores


def _told(scores: dict[str, float], score: str, kmers: KmerHeadConfig) -> str:
    names = {
        NETWORK: NETWORK,
        WORDS: f"k-mers of up to {kmers.max_k} bp",
        POSITIONS: "bases by position",
    }
    parts = [
        f"{told} {scores[part_score_key(score, x)]:.4f} (weight {scores[x]:.2f})"
        for x, told in names.items()
        if x in scores
    ]
    return f"{score} on validation: {', '.join(parts)}, together {scores[score]:.4f}"
