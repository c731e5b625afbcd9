"""Step of `pretrain --counts`: the text that a masked model copies from, and the gate between both."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

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
from dna_bigbird.models.copies import LEAST_P, Copies, Evidence
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.read_text import CopiesConfig, ReadText, Strand
from dna_bigbird.training.data_modules import chunks
from dna_bigbird.training.objective import Sums, add_sums, ratios
from dna_bigbird.training.pretrain_run import TokenizedCorpus
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
    tokenizer: DnaTokenizer, bp_per_token: float, chromosomes: Sequence[str]
) -> CopiesConfig:
    """Return contexts of about `CONTEXTS_BP`, in tokens."""
    orders = sorted({max(2, round(bp / bp_per_token)) for bp in CONTEXTS_BP})
    return CopiesConfig(
        orders=tuple(orders),
        first_piece_id=tokenizer.first_piece_id,
        mask_id=tokenizer.mask_id,
        chromosomes=tuple(chromosomes),
    )


def own_documents(examples: PretrainExamples, number: int, text: ReadText) -> np.ndarray:
    """Return the documents of the text that an example lies in, (D,)."""
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
        logits_PV, _ = model(
            batch.token_ids_BT, batch.is_padding_BT, batch.segment_ids_BT, batch.positions_P
        )
        evidence = copies.evidence(logits_PV, batch.token_ids_BT, batch.positions_P, out)
        nll_P = nn.functional.cross_entropy(logits_PV.float(), batch.labels_P, reduction="none")
        right_PK = evidence.ids_PK == batch.labels_P[:, None]
        parts.append(tuple(x.cpu() for x in (*evidence, -nll_P, right_PK)))
    ids, inputs, log_p, right = (torch.cat(x) for x in zip(*parts, strict=True))
    return Evidence(ids, inputs), log_p, right


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
            evidence = Evidence(*(x[chosen] for x in train[0]))
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
    """Let the model copy; return what its config says of it, and the scores on validation."""
    model, tokenizer = task.model.eval(), corpus.tokenizer
    text, chromosomes = text_of(corpus.train, tokenizer)
    config = settings_of(tokenizer, corpus.train.num_bp / corpus.train.num_tokens, chromosomes)
    copies = Copies(config, torch.Generator().manual_seed(seed))
    copies.text = text
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
        note("copies of the training text do not help on validation documents: none are added")
        return {}, {}
    examples = PretrainExamples(corpus.validation, tokenizer, length, PAPER, 2 * seed + 1)
    # The training may have computed in bfloat16: both are scored alike here.
    before = scores_of(task, examples, validation_examples, batch_size)
    model.copies = copies.to(task.device)
    after = scores_of(task, examples, validation_examples, batch_size)
    bits = "bits_per_base_masked"
    note(
        f"copies of {len(text.documents):,} documents: {before[bits]:.4f} bits per base without them, "
        f"{after[bits]:.4f} with them, on validation"
    )
    return {"copies": asdict(config)}, {**after, part_score_key(bits, "network"): before[bits]}


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
