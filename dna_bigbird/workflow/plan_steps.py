"""Steps of `plan`: the steps of a run with their rows, minutes and memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.documents import DocumentConfig
from dna_bigbird.corpus.tokenizer import SMALLEST, TokenizerConfig
from dna_bigbird.evaluation.plan_speed import (
    Work,
    predicted_tokens,
    seconds_per_sequence,
    total_operations,
)
from dna_bigbird.labelled.chromatin.config import ChromatinConfig
from dna_bigbird.labelled.tracks.config import TrackConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder_changes import SMALL, EncoderChanges
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.label_config import LabelTrainConfig, Recipe, recipe_for
from dna_bigbird.workflow.config.run_checks import HEADS, TASKS
from dna_bigbird.workflow.config.run_settings import built
from dna_bigbird.workflow.heads import COUNTED, chosen_baselines
from dna_bigbird.workflow.plan_amounts import (
    Amounts,
    bp_per_token,
    count_amounts,
    document_count,
    region_bp,
)
from dna_bigbird.workflow.planned_step import PlannedStep

MEASURED, RULE = "measured", "rule of thumb"
START_S = 6.0
"""Of a command that loads torch."""
PROCESS_MB = 750
"""Memory of such a command before its model."""
FORWARD = 1 / 3
"""Time of a prediction by that of a training step."""
GPU_OPERATIONS = 1e18
"""A training of more is for GPUs."""
BIN_FIT_S = 90.0
"""Of k-mers and filters around the bins of tracks, before the training."""
EVALUATED, VALIDATED = 1000, 256
"""Examples of `evaluate-lm`, and of a validation of `pretrain`, by default."""


def planned_steps(run: Mapping) -> Iterator[PlannedStep]:
    """Yield the steps of a checked config in their order, or raise InputError if it has no genome."""
    if "assembly" not in run:
        raise InputError("plan: the config has no genome; a plan of text tasks is not available")
    amounts = count_amounts(run)
    bp = amounts.genome_bp
    yield PlannedStep("genome", f"{bp:,} bp" if bp else "?", bp and 1 + bp / 3e7, 100, RULE)
    encoder, token_bp = _encoder(run)
    if "pretrained" not in run:
        yield from _pretraining(run, amounts, encoder, token_bp)
    for task in (task for task in HEADS if task in run):
        head = Head.of(task, run[task], amounts, encoder, token_bp)
        yield from _head_steps(head)
        if task in TASKS:
            yield from _predictions(run.get("predictions", {}), head, amounts)
        else:
            regions = head.section.get("regions", run["splits"]["test"])
            windows = (region_bp(regions) or 0) // TrackConfig(
                **_own(TrackConfig, head.section)
            ).middle_bp
            yield _forward(head, "predict tracks", f"about {windows:,} windows", windows)
    yield PlannedStep("report", "1 page", 10, 300, RULE)


def device_name() -> str:
    """Return what computes here."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"this CPU with {torch.get_num_threads()} thread(s)"


def _encoder(run: Mapping) -> tuple[EncoderConfig, float]:
    """Return the encoder of a run, and about how many bases its tokens have."""
    if "pretrained" in run:
        from dna_bigbird.bundles.bundle import load_bundle
        from dna_bigbird.bundles.bundled import bundled_encoder

        name = run["pretrained"]
        bundle = load_bundle(bundled_encoder() if name == "bundled" else name)
        encoder, longest = bundle.config.encoder, int(bundle.tokenizer.piece_bp.max())
        return encoder, bp_per_token(encoder.vocab_size, longest)
    tokenizer = TokenizerConfig(**run.get("tokenizer", {}))
    encoder = EncoderConfig(**run.get("model", {}))
    pieces = bp_per_token(tokenizer.num_entries, tokenizer.longest_piece_bp)
    return replace(encoder, vocab_size=tokenizer.num_entries), pieces


def _pretraining(
    run: Mapping, amounts: Amounts, encoder: EncoderConfig, token_bp: float
) -> Iterator[PlannedStep]:
    documents = DocumentConfig(**run.get("documents", {}))
    tokens = None
    if amounts.genome_bp:
        covered = amounts.genome_bp * amounts.share("train")
        tokens = documents.passes * covered / token_bp
        number = document_count(documents, covered)
        seconds = 3 + covered * documents.passes / 1e8
        yield PlannedStep("documents", f"about {number:,} documents", seconds, 150, RULE)
    else:
        yield PlannedStep("documents", "?", None, None, RULE)
    yield PlannedStep("tokenizer", f"{encoder.vocab_size:,} pieces", 5, 300, RULE)
    text = f"about {tokens:,.0f} tokens" if tokens else "?"
    yield PlannedStep("tokenize", text, tokens and 3 + tokens / 1e6, 200, RULE)

    training = TrainConfig(**run["pretraining"])
    work = Work(encoder, encoder.max_tokens, training.batch_size, 0, training.precision)
    step = _training("pretrain", work, training, training.validation_examples or VALIDATED)
    # A teacher reads each example, on both strands where it can.
    strands = 1 + (TokenizerConfig(**run.get("tokenizer", {})).algorithm != "bpe")
    reads = training.num_examples * strands * bool(run.get("objective", {}).get("teachers"))
    taught = reads * FORWARD * seconds_per_sequence(work)
    yield replace(step, seconds=step.seconds + taught)
    examples = run.get("evaluation", {}).get("examples", EVALUATED)
    seconds = START_S + examples * FORWARD * seconds_per_sequence(work)
    yield PlannedStep("evaluate-lm", f"{examples:,} examples", seconds, _memory(work), MEASURED)


def _training(name: str, work: Work, training: TrainConfig, validated: int) -> PlannedStep:
    sequences = training.num_examples
    checks = training.max_steps // training.validate_every * validated * FORWARD
    seconds = START_S + (sequences + checks) * seconds_per_sequence(work)
    operations = total_operations(work, sequences)
    gpu = f"; {operations:.0e} operations: for GPUs" if operations > GPU_OPERATIONS else ""
    text = f"{training.max_steps:,} steps, {sequences:,} sequences of {work.tokens} tokens"
    return PlannedStep(name, text, seconds, _memory(work), MEASURED + gpu)


def _memory(work: Work) -> float:
    """Return the megabytes of a training, by the estimate of models/memory.py."""
    from dna_bigbird.models.memory import pretraining_memory
    from dna_bigbird.models.precision import resolve_precision

    step = pretraining_memory(
        work.encoder,
        batch_size=work.batch_size,
        predicted=predicted_tokens(work, work.batch_size),
        num_tokens=work.tokens,
        precision=resolve_precision(work.precision, "cpu"),
        device="cpu",
        backend="cpu_chunks",
    )
    return PROCESS_MB + step.total / 1e6


@dataclass(frozen=True)
class Head:
    """A model of promoters, chromatin or tracks of a run."""

    task: str
    section: Mapping
    rows: int | None
    shares: dict[str, float]
    window: int
    work: Work
    recipe: Recipe
    """What `finetune` chooses without a learning rate."""

    @classmethod
    def of(
        cls, task: str, section: Mapping, amounts: Amounts, encoder: EncoderConfig, token_bp: float
    ) -> "Head":
        """Return the model that a section describes."""
        labels = {"chromatin": amounts.labels, "tracks": amounts.tracks}.get(task) or 1
        bin_bp = 0
        if task == "promoter":
            window = section.get("upstream", 5000) + section.get("downstream", 3000)
            sets = 1 + section.get("negatives", "random_base").count(",")
            rows = amounts.sites and amounts.sites * (1 + sets)
        elif task == "tracks":
            tracks = TrackConfig(**_own(TrackConfig, section))
            window, bin_bp = tracks.window, tracks.bin
            rows = amounts.genome_bp and amounts.genome_bp // tracks.middle_bp
            if "tokenizer" in section:  # a fresh encoder on single bases
                changes = built(EncoderChanges, section.get("model", {}))
                small = replace(SMALL, vocab_size=SMALLEST, max_tokens=window + 2)
                encoder, token_bp = changes.applied_to(small), 1.0
        else:
            settings = ChromatinConfig(**_own(ChromatinConfig, section)).for_labels(labels)
            window, bin_bp = settings.window or 8000, settings.bin
            rows = amounts.bins and amounts.bins * (1 + (settings.background or 0))
        training = section.get("training", {})
        tokens = min(encoder.max_tokens, round(window / token_bp) + 2)
        batch_size = training.get("batch_size", TrainConfig().batch_size)
        work = Work(encoder, tokens, batch_size, labels, training.get("precision", "auto"))
        shares = {x: amounts.share(x) for x in ("train", "validation", "test")}
        is_tracks = task == "tracks"
        recipe = recipe_for(bin_bp=bin_bp, bp_per_token=token_bp, is_tracks=is_tracks)
        return cls(task, section, rows, shares, window, work, recipe)

    def count(self, split: str) -> int:
        """Return about the number of rows in a split; 1,000 of a set whose size is unknown."""
        return round((self.rows or 1000) * self.shares[split])


def _own(settings: type, section: Mapping) -> dict:
    """Return the values of a section that are fields of a settings class."""
    return {x.name: section[x.name] for x in fields(settings) if x.name in section}


def _head_steps(head: Head) -> Iterator[PlannedStep]:
    rows = head.rows
    text = f"at most {rows:,} rows" if rows else "? rows"
    yield PlannedStep(f"{head.task} set", text, rows and 2 + rows / 2000, 250, RULE)
    bases = rows and rows * head.window
    for name in chosen_baselines(head.task, head.section):
        is_quick = name in COUNTED and name != "gkm"
        seconds = (1 + bases / 1.5e6) if bases and is_quick else None
        yield PlannedStep(f"baseline {name}", f"{head.task}", seconds, None, RULE)
    settings = LabelTrainConfig(**head.section.get("training", {}))
    training = settings.for_rows(head.count("train"), head.recipe)
    validated = min(training.validation_examples or 10**9, head.count("validation"))
    step = _training(f"finetune {head.task}", head.work, training, validated)
    members = head.section.get("ensemble", 1)
    if head.task == "tracks" and head.section.get("words", {}).get("max_k") != 0:
        step = replace(step, seconds=step.seconds + BIN_FIT_S)
    yield replace(step, seconds=step.seconds * members)
    scored = (head.count("validation") + head.count("test")) * members
    yield _forward(head, f"evaluate {head.task}", f"{scored:,} rows", scored)


def _forward(head: Head, name: str, text: str, windows: float) -> PlannedStep:
    """Return a step that predicts windows on both strands."""
    seconds = START_S + 2 * windows * FORWARD * seconds_per_sequence(head.work)
    return PlannedStep(name, text, seconds, _memory(head.work), MEASURED)


def _predictions(section: Mapping, head: Head, amounts: Amounts) -> Iterator[PlannedStep]:
    if not section:
        return
    stride = section.get("stride", {}).get(head.task, head.window)
    windows = (region_bp(section["regions"]) or 0) // stride
    yield _forward(head, f"predict {head.task}", f"about {windows:,} windows", windows)
    if head.task in section.get("variants", []) and amounts.variants:
        text = f"{amounts.variants:,} variants"
        yield _forward(head, f"variants {head.task}", text, 2 * amounts.variants)
    mutagenesis = section.get("mutagenesis", {})
    if mutagenesis.get("model") == head.task:
        alleles = 3 * (region_bp([mutagenesis["region"]]) or 0)
        yield _forward(head, "mutagenesis", f"{alleles:,} substitutions", alleles)
    if (browser := section.get("browser", {})).get("model") == head.task:
        around_bp = 2 * head.window * len(browser["regions"])
        windows = ((region_bp(browser["regions"]) or 0) + around_bp) // stride
        labels = len(browser.get("labels", [])) or head.work.labels
        predicted = _forward(head, "browser", f"about {windows:,} windows", windows)
        seconds = START_S + 2 * windows * labels * seconds_per_sequence(head.work)
        yield replace(predicted, seconds=predicted.seconds + seconds)
