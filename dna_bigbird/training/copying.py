"""Steps of `pretrain --counts`: the text that a masked model copies from, as inputs and through a gate."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dna_bigbird.core.errors import note
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.corpus.masking import PAPER
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import MOST_COUNTED_BP, TokenStore, documents_within
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.metrics.scores import part_score_key
from dna_bigbird.models.copies import LEAST_P, Copied, Copies, Evidence
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.read_text import CopiesConfig, ReadText, Strand
from dna_bigbird.training.data_modules import chunks
from dna_bigbird.training.objective import Sums, add_sums, ratios
from dna_bigbird.training.pretrain_run import TokenizedCorpus, plain_examples
from dna_bigbird.training.pretraining_task import PretrainingTask

# B examples, P predicted positions, K copies, D documents of the text

CONTEXTS_BP = (12, 16, 24)
"""About how many bases the contexts have whose occurrences are copied."""
FITTED_TOKENS, HELD_OUT_TOKENS = 1_500_000, 300_000
"""Tokens of the training and of the validation examples that the gate is fitted and chosen on."""
MOST_DRAWN = 4
"""How often they draw a corpus at most."""
MASKINGS = (
    PAPER,
    replace(PAPER, mask_share=1.0, random_share=0.0),
    replace(PAPER, fraction=0.02, mask_share=1.0, random_share=0.0),
)
"""How these examples are masked in turn: as scores have it, all of it hidden, and few tokens hidden."""
EPOCHS, BATCH, RATE = 12, 1024, 0.003
INPUT_SIZE = 32
"""Units of the layer that weighs copies as inputs."""


def text_of(store: TokenStore, tokenizer: DnaTokenizer) -> tuple[ReadText, tuple[str, ...]]:
    """Return the text of a store's covering documents, and the names of its chromosomes."""
    chosen = documents_within(store, None, MOST_COUNTED_BP)
    forward = [store.document(d) for d in chosen]
    reverse = tokenizer.encode_all([reverse_complement(tokenizer.decode(ids)) for ids in forward])
    intervals = [store.document_interval(d) for d in chosen]
    locations = [
        (store.chromosome_number(d), interval.start, interval.end)
        for d, interval in zip(chosen, intervals, strict=True)
    ]
    text = ReadText(Strand.of(forward), Strand.of(reverse), np.array(locations, np.int64))
    return text, tuple(store.chromosomes)


def settings_of(
    tokenizer: DnaTokenizer, bp_per_token: float, chromosomes: Sequence[str], **sizes: int
) -> CopiesConfig:
    """Return contexts of about `CONTEXTS_BP`, in tokens."""
    orders = sorted({max(2, round(bp / bp_per_token)) for bp in CONTEXTS_BP})
    return CopiesConfig(
        orders=tuple(orders),
        first_piece_id=tokenizer.first_piece_id,
        mask_id=tokenizer.mask_id,
        chromosomes=tuple(chromosomes),
        **sizes,
    )


@dataclass(frozen=True, eq=False)
class CopiedText:
    """The text of training documents, and how it is copied as inputs of a network."""

    text: ReadText
    config: CopiesConfig

    @classmethod
    def of(cls, corpus: TokenizedCorpus) -> "CopiedText":
        """Read the text of a corpus."""
        train, tokenizer = corpus.train, corpus.tokenizer
        text, chromosomes = text_of(train, tokenizer)
        bp_per_token = train.num_bp / train.num_tokens
        sizes = {"hidden_size": 0, "input_size": INPUT_SIZE}
        return cls(text, settings_of(tokenizer, bp_per_token, chromosomes, **sizes))


@dataclass(frozen=True, eq=False)
class WithCopies:
    """The same examples with `copied` (M, K) and `copied_scores` (M, K, F): what copies say at predicted tokens."""

    examples: Any
    read: CopiedText
    leaves_out: bool
    """The documents that an example lies in are not copied."""

    def __getitem__(self, index: int) -> dict[str, np.ndarray | int]:
        """Return one example."""
        example, (text, config) = self.examples[index], (self.read.text, self.read.config)
        ids, out = example["token_ids"], None
        if self.leaves_out:
            out = own_documents(self.examples, index, text)[None]
        rows = np.zeros(len(ids), np.int64)
        said, scores = text.copies(ids, example["positions"], config, out, rows)
        return example | {"copied": said, "copied_scores": scores}


def own_documents(examples: Any, number: int, text: ReadText) -> np.ndarray:
    """Return the documents of the text that an example lies in, (D,)."""
    examples = plain_examples(examples)
    store, pair = examples.store, examples.pair(number)
    out = np.zeros(len(text.documents), bool)
    for part in (pair.a, pair.b):
        interval = store.document_interval(part.document)
        chrom = store.chromosome_number(part.document)
        out |= text.overlapping(chrom, interval.start, interval.end)
    return out


@torch.no_grad()
def evidence_of(
    model: PretrainingModel,
    copies: Copies,
    examples: Sequence[PretrainExamples],
    count: int,
    *,
    batch_size: int,
    leaves_out: bool,
) -> tuple[Evidence, Tensor, Tensor]:
    """Return the evidence at all predicted positions, log p of the network, and which copies are right."""
    parts: list[tuple[Tensor, ...]] = []
    device = model.encoder.word.weight.device
    for batch_numbers in _batches(count, batch_size):
        which = [(n, examples[n % len(examples)]) for n in batch_numbers]
        batch = collate_pretraining([(n, source[n]) for n, source in which])
        batch = type(batch)(*(field.to(device) for field in batch))
        out = None
        if leaves_out:
            rows = [own_documents(source, n, copies.text) for n, source in which]
            out = torch.from_numpy(np.stack(rows))
        ids_BT, positions_P = batch.token_ids_BT, batch.positions_P
        copied = copies.copied(ids_BT, positions_P, out)
        rest = (batch.is_padding_BT, batch.segment_ids_BT, positions_P)
        logits_PV, _ = model(ids_BT, *rest, copied=copied)
        evidence = copies.evidence(logits_PV, ids_BT, positions_P, copied)
        nll_P = nn.functional.cross_entropy(logits_PV.float(), batch.labels_P, reduction="none")
        right_PK = copied.ids_PK == batch.labels_P[:, None]
        kept = (*copied, evidence.inputs_PW, -nll_P, right_PK)
        parts.append(tuple(x.cpu() for x in kept))
    ids, scores, inputs, log_p, right = (torch.cat(x) for x in zip(*parts, strict=True))
    return Evidence(Copied(ids, scores), inputs), log_p, right


def _batches(count: int, size: int) -> Iterable[list[int]]:
    return progress_bar(chunks(list(range(count)), size), desc="copies", unit=" batches")


def nats(copies: Copies, evidence: Evidence, log_p_P: Tensor, right_PK: Tensor) -> Tensor:
    """Return -log p of the true tokens, (P,)."""
    gates = copies.gates(evidence)
    p = gates[:, 0] * log_p_P.exp() + (gates[:, 1:] * right_PK).sum(1)
    return -p.clamp(min=LEAST_P).log()


Sample = tuple[Evidence, Tensor, Tensor]
"""What `evidence_of` returns."""


def fit_gate(copies: Copies, train: Sample, held_out: Sample, seed: int) -> float:
    """Fit the gate to training examples; keep the epoch with the fewest nats on others, and return them."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(copies.parameters(), lr=RATE)
    count = len(train[1])
    steps = EPOCHS * (count // BATCH + 1)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, total_iters=steps)
    best, state = float("inf"), copies.state_dict()
    for _ in range(EPOCHS):
        for chosen in torch.randperm(count, generator=generator).split(BATCH):
            copied = Copied(*(x[chosen] for x in train[0].copied))
            evidence = Evidence(copied, train[0].inputs_PW[chosen])
            loss = nats(copies, evidence, train[1][chosen], train[2][chosen]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        with torch.no_grad():
            value = float(nats(copies, *held_out).mean())
        if value < best:
            best, state = value, {k: v.clone() for k, v in copies.state_dict().items()}
    copies.load_state_dict(state)
    return best


def add_copies(
    task: PretrainingTask, corpus: TokenizedCorpus, seed: int, validation_examples: int
) -> tuple[dict, dict[str, float]]:
    """Fit a gate and let the model copy; return what its config says of it, and the scores on validation."""
    model, tokenizer, own = task.model.eval(), corpus.tokenizer, task.model.copies
    read = CopiedText.of(corpus)
    config = replace(
        read.config,
        hidden_size=CopiesConfig.hidden_size,
        input_size=0 if own is None else INPUT_SIZE,
    )
    copies = Copies(config, model.encoder.config, torch.Generator().manual_seed(seed))
    copies.text = read.text
    if own is not None:
        copies.inputs, own.text = own.inputs, read.text
    length = model.encoder.config.max_tokens
    batch_size = max(1, 4096 // length)

    def sample(store: TokenStore, own_seed: int, tokens: int, *, leaves_out: bool) -> Sample:
        examples = [PretrainExamples(store, tokenizer, length, m, own_seed) for m in MASKINGS]
        count = -(-min(tokens, MOST_DRAWN * store.num_tokens) // length)
        return evidence_of(
            model, copies, examples, count, batch_size=batch_size, leaves_out=leaves_out
        )

    train = sample(corpus.train, 2 * seed, FITTED_TOKENS, leaves_out=True)
    held_out = sample(corpus.validation, 2 * seed + 1, HELD_OUT_TOKENS, leaves_out=False)
    if fit_gate(copies, train, held_out, seed) >= -held_out[1].mean():
        if own is None:
            note("copies of the training text do not help on validation documents: none are added")
            return {}, {}
        copies = own
    examples = PretrainExamples(corpus.validation, tokenizer, length, PAPER, 2 * seed + 1)
    # The training may have computed in bfloat16: both are scored alike here.
    model.copies = None
    before = scores_of(task, examples, validation_examples, batch_size)
    model.copies = copies.to(task.device)
    after = scores_of(task, examples, validation_examples, batch_size)
    bits = "bits_per_base_masked"
    note(
        f"copies of {len(read.text.documents):,} documents: {before[bits]:.4f} bits per base without them, "
        f"{after[bits]:.4f} with them, on validation"
    )
    described = {"copies": asdict(copies.config)}
    return described, {**after, part_score_key(bits, "network"): before[bits]}


@torch.no_grad()
def scores_of(
    task: PretrainingTask, examples: PretrainExamples, count: int, batch_size: int
) -> dict[str, float]:
    """Return the figures of masked tokens on the first examples."""
    sums: Sums = {}
    for numbers in _batches(count, batch_size):
        batch = collate_pretraining([(n, examples[n]) for n in numbers])
        batch = type(batch)(*(x.to(task.device) for x in batch))
        nll_P, logits_PV, _ = task.predict_batch(batch)
        add_sums(sums, task.figures_of_masks(batch, nll_P, logits_PV))
    return ratios(sums)
