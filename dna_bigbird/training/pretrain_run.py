"""Steps of `pretrain`: read the token stores, make the examples, describe the model."""

import itertools
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from dna_bigbird.bundles.card import is_semi_synthetic
from dna_bigbird.bundles.config import PRETRAINING
from dna_bigbird.bundles.seen_regions import SeenRegions
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.files import sha256_of
from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.corpus.hidden_sentence_examples import (
    HiddenSentenceBatch,
    HiddenSentenceExamples,
    collate_hidden_sentences,
)
from dna_bigbird.corpus.masking import PAPER, MaskingConfig
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.site_windows import SiteWindows
from dna_bigbird.corpus.token_store import (
    TokenStore,
    check_store_genome,
    check_tokenizer,
    verify_stores,
)
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.bed import read_bed
from dna_bigbird.genome.repeats import SOFT_MASKED, UNKNOWN, RepeatClasses
from dna_bigbird.models.config import EncoderConfig, stored_encoder
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.read_text import CopiesConfig
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.objective import Sums, pair
from dna_bigbird.training.objective_config import ObjectiveConfig
from dna_bigbird.training.pretraining_start import DnaStart
from dna_bigbird.training.pretraining_task import (
    PretrainingTask,
    contrast,
    figures_of,
    hidden_of,
    loss_of,
    weighted_mean,
)
from dna_bigbird.training.processes import is_first_on_node
from dna_bigbird.training.seen_rows import seen_in_pretraining
from dna_bigbird.training.teachers import TaughtTask, Teachers


@dataclass(eq=False)
class RepeatWeighted:
    """The same examples with `weights`, (M,) float32: of each predicted token, for the loss."""

    # A base in lower case has the weight `repeat_weight`, every other one 1, also all of a
    # chromosome in one case; a token has the mean over its bases.

    examples: PretrainExamples
    classes: RepeatClasses
    repeat_weight: float
    piece_bp: np.ndarray

    def __getitem__(self, index: int) -> dict[str, np.ndarray | int]:
        """Return one example, as `PretrainExamples`, with `weights`."""
        example = self.examples[index]
        chroms, bounds = self.examples.predicted_spans(index, self.piece_bp, example["positions"])
        return example | {"weights": self._weights(chroms, bounds)}

    def _weights(self, chroms: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        names = self.examples.store.chromosomes
        weights = np.ones(len(chroms))
        for number in np.unique(chroms).tolist():
            here = chroms == number
            shares = self.classes.shares(names[number], bounds[here])
            weights[here] += (self.repeat_weight - 1) * shares[:, SOFT_MASKED]
        return weights.astype(np.float32)


# --- Masked tokens and contrastive predictive coding of hidden sentences (specification §2.4) ---


class CpcTask(PretrainingTask):
    """Predict masked tokens, and which of the batch's hidden sentences belongs to which gap.

    The loss is (1 - w) times that of masked tokens plus w (`weight`) times the mean negative
    log-probability of the true sentence among all hidden ones of a micro-batch, over all processes.
    More figures: `cpc_loss`, that mean in nats; `cpc_accuracy`, the share of gaps whose true
    sentence is the most similar one; `cpc_chance`, what guessing would reach.
    """

    packs_ahead = False

    def __init__(
        self, model: nn.Module, config: TrainConfig, piece_bp: np.ndarray, weight: float
    ) -> None:
        super().__init__(model, config, piece_bp, nsp_weight=0.0)
        self.weight = weight

    def loss_and_sums(self, batch: HiddenSentenceBatch) -> tuple[Tensor, Sums]:
        """Return the weighted sum of both losses, and the figures above."""
        nll_P, mlm_logits_PV, vectors = self.predict_batch(batch)
        examples = len(batch.is_random_next_B)
        result = contrast(*vectors, gather=self.training)
        mlm_loss = weighted_mean(nll_P, batch.weights_P)
        loss = (1 - self.weight) * mlm_loss + self.weight * loss_of(result)
        return loss, {
            "loss": pair(loss * examples, examples),
            **self.figures_of_masks(batch, nll_P, mlm_logits_PV),
            **figures_of(result),
        }

    def planned(self, batch: HiddenSentenceBatch) -> dict[str, Any]:
        """Return the keyword of the model for the hidden sentences of a batch, if it has any fields for them."""
        return hidden_of(batch) or super().planned(batch)


# --- Step of `pretrain`: what training reads in addition to the token stores, sites and the case of the genome ---


@dataclass(frozen=True)
class PretrainingReading:
    """What training reads in addition to the token stores; None where an option is off."""

    sites: SiteWindows | None = None
    soft_mask: RepeatClasses | None = None
    checksums: dict[str, str] = field(default_factory=dict)
    """sha256 of the files, by option."""


def open_reading(
    store: TokenStore,
    piece_bp: np.ndarray,
    objective: ObjectiveConfig,
    genome: Path | None,
    sites: Path | None,
) -> PretrainingReading:
    """Open what the objective needs: a soft-masked genome, sites in the training documents."""
    files = {}
    if objective.repeat_weight != 1:
        if genome is None:
            raise InputError(
                f"--repeat_weight {objective.repeat_weight} reads lower case from the genome: give "
                "--genome, the FASTA file that the documents come from"
            )
        files["genome"] = genome
    if objective.sites_share:
        files["sites"] = sites
    return PretrainingReading(
        site_windows(store, piece_bp, sites, objective.sites_share) if "sites" in files else None,
        soft_mask(store, genome) if "genome" in files else None,
        {name: sha256_of(path) for name, path in files.items()},
    )


def site_windows(store: TokenStore, piece_bp: np.ndarray, path: Path, share: float) -> SiteWindows:
    """Read the sites, and say how many of them are in the training documents."""
    rows = read_bed(path)
    intervals = [row.interval for row in rows]
    sites = SiteWindows(store, intervals, share, piece_bp)
    if not sites.used:
        raise InputError(
            f"{path}: none of its {len(rows):,} sites is in the documents of {store.path}. Is "
            "it of the same assembly?"
        )
    if is_first_on_node():
        note(
            f"{path}: {sites.used:,} of {len(rows):,} sites are in the training documents; "
            f"{100 * share:g} % of the examples are drawn around them. {sites.outside:,} are outside "
            "and not used"
        )
    return sites


def soft_mask(store: TokenStore, path: Path) -> RepeatClasses:
    """Return the repeat classes by lower case."""
    genome = Genome(path)
    if is_first_on_node():
        check_store_genome(store, genome)
    classes = RepeatClasses.from_soft_mask(genome)
    if all(classes.classes(Interval(chrom, 0, 1))[0] == UNKNOWN for chrom in store.chromosomes):
        raise InputError(
            f"{path}: no chromosome of {store.path} has lower and upper case: repeats are not known. "
            "Give a soft-masked FASTA, or leave out --repeat_weight"
        )
    return classes


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
    """Open the token stores; one process of a machine compares them with their checksums."""
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
    num_examples: int = 1,
) -> dict[str, PretrainExamples | HiddenSentenceExamples | RepeatWeighted]:
    """Return the examples of both splits: sentence pairs with masked tokens."""
    # Validation draws from another random stream than training. Its masked tokens are those of the
    # paper for every objective and masking, so that models can be compared.
    tokenizer, cpc = corpus.tokenizer, objective.cpc
    train: PretrainExamples | HiddenSentenceExamples | RepeatWeighted = PretrainExamples(
        corpus.train,
        tokenizer,
        encoder.max_tokens,
        masking,
        2 * seed,
        random_second=objective.nsp_weight > 0,
        sites=reading.sites,
        num_examples=num_examples,
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
    teachers: Teachers,
) -> tuple[PretrainingTask, Callable]:
    """Return the task of an objective, and how its examples are joined into a batch."""
    settings = network, training, piece_bp
    if objective.cpc is not None:
        return CpcTask(*settings, objective.cpc.weight), collate_hidden_sentences
    if teachers.bundles:
        return TaughtTask(*settings, objective.nsp_weight, teachers.models), collate_pretraining
    return PretrainingTask(*settings, objective.nsp_weight), collate_pretraining


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
    teachers: Teachers,
    copies: CopiesConfig | None = None,
) -> dict:
    """Return what decides the result, without the training settings and the seed."""
    checksums = {name: str(store.attributes["checksum"]) for name, store in corpus.stores.items()}
    return {
        "command": "pretrain",
        "model": stored_encoder(start.encoder),
        "masking": masking.stored,
        "objective": objective.stored,
        "inputs": {
            **checksums,
            "tokenizer": corpus.train.tokenizer_sha256,
            **reading.checksums,
            **start.checksums,
            **teachers.checksums,
        },
        **({} if copies is None else {"copies": asdict(copies)}),
    }


def plain_examples(examples: Any) -> PretrainExamples:
    """Return the examples inside those that add to them."""
    while not isinstance(examples, PretrainExamples):
        examples = examples.examples
    return examples


def pretrained_config(
    corpus: TokenizedCorpus,
    start: DnaStart,
    masking: MaskingConfig,
    seed: int,
    objective: ObjectiveConfig,
    examples: Any,
    teachers: Teachers,
) -> dict:
    """Return what the bundle's config says of model and data; it names no regions if earlier ones are unknown."""
    store, before = corpus.train, [start.seen_regions, *teachers.seen_regions]
    examples = plain_examples(examples)
    read: list[SeenRegions] = []
    if None not in before:
        read = [*itertools.chain.from_iterable(before), seen_in_pretraining(store)]
        read = [record for i, record in enumerate(read) if record not in read[i + 1 :]]
    return {
        "task": PRETRAINING,
        "label_names": [],
        "label_groups": [],
        "semi_synthetic": start.semi_synthetic
        or teachers.semi_synthetic
        or is_semi_synthetic(store.assembly),
        "encoder": stored_encoder(start.encoder),
        "assembly": store.assembly,
        "bp_per_token": round(store.num_bp / store.num_tokens, 3),
        "tokens_per_example": examples.mean_tokens(),
        "masking": masking.stored,
        "objective": objective.stored | teachers.stored,
        "heads": list(objective.heads),
        "seed": seed,
        **start.described,
        **({"regions_read": [asdict(record) for record in read]} if read else {}),
    }
