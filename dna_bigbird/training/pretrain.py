"""`dna-bigbird pretrain`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, checked_settings
from dna_bigbird.core.paths import GenomePath, InputPath, optional_path
from dna_bigbird.core.progress import shows_progress
from dna_bigbird.core.results import DryRun, TrainedModel
from dna_bigbird.core.settings import NotNegative, Share
from dna_bigbird.core.shared_options import Checkpoints, ProcessThreads, Progress, TrainedBundle
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.objective_config import CpcConfig, objective_of

if TYPE_CHECKING:
    from dna_bigbird.models.memory import StepMemory

DEFAULT_VALIDATION_EXAMPLES = 256


@checked()
@shows_progress
def pretrain(
    train: InputPath,
    validation: InputPath,
    output: TrainedBundle,
    checkpoints: Checkpoints,
    tokenizer: InputPath | None = None,
    initial: InputPath | None = None,
    seed: int = 0,
    model: EncoderConfig = EncoderConfig(),  # noqa: B008 - --help shows the default
    masking: MaskingConfig = MaskingConfig(),  # noqa: B008
    training: TrainConfig = TrainConfig(),  # noqa: B008
    nsp_weight: NotNegative | None = None,
    cpc: CpcConfig = CpcConfig(),  # noqa: B008
    repeat_weight: NotNegative = 1.0,
    genome: GenomePath | None = None,
    sites: InputPath | None = None,
    sites_share: Share = 0.3,
    counts: Literal["none", "gate", "inputs"] = "none",
    teachers: list[InputPath] = [],  # noqa: B006 - --help shows the default
    dry_run: bool = False,
    threads: ProcessThreads = 0,
    progress: Progress = True,
) -> TrainedModel | DryRun:
    """Pretrain BigBird with masked tokens and next-sentence prediction (NSP).

    With --model.attention etc contrastive predictive coding (CPC) is in the place of NSP: every
    --model.etc.tokens_per_global tokens are a sentence, and hidden ones are found among others.

    Killed and started again with the same command, it continues from the newest checkpoint and ends
    with the same weights. With other settings or inputs an unfinished run is not given up: that needs another
    folder of `checkpoints`. The states of a finished one move to a subfolder. The bundle has the weights of the step with the
    fewest bits per base on validation.

    Examples:
        dna-bigbird pretrain --train train.h5 --validation validation.h5 --tokenizer dna_bpe.model \\
            --output results/trained/pretrained --checkpoints checkpoints/pretrained
        dna-bigbird pretrain --train train.h5 --validation validation.h5 --initial results/trained/pretrained \\
            --model.attention etc --output results/trained/etc --checkpoints checkpoints/etc

    Args:
        train: Training data: token store of the training documents.
        validation: Validation data: token store of the validation documents.
        tokenizer: Tokenizer: the SentencePiece model that made both stores.
        initial: Bundle to start from: a pretrained one, instead of --tokenizer: its tokenizer, which made both
            stores, and its --model settings are used. --model can change its attention, dropout, gradient
            checkpointing and, without a table of positions, the longest sequence; with etc the weights of
            another attention go to both streams. Other settings must be those of the bundle.
        seed: Seed of the random numbers: of initial weights, examples, masks and dropout.
        model: The encoder; its vocabulary size is taken from the tokenizer.
        masking: Which tokens are predicted in training; validation hides 15 % as in the paper.
        training: How it is trained.
        nsp_weight: Weight of NSP in the loss; by default 1 as in the paper, and 0 with attention etc. 0: the
            model has no NSP head, and training examples are contiguous.
        cpc: Hidden sentences; with attention etc.
        repeat_weight: Weight of a soft-masked base in the loss of masked tokens; needs --genome. 0.1 is
            usual; figures are never weighted.
        genome: Genome: the FASTA file that the documents come from; its lower case is read for
            --repeat_weight only.
        sites: Sites: BED rows to read more often; a share of the training examples is drawn around
            their middles. Those outside the training documents are not used.
        sites_share: Share of the training examples that are drawn around --sites.
        counts: Counts: let the model copy. What is shown around a hidden token is looked up in the training text on
            both strands. gate: what followed there is weighed against a finished network. inputs: the network
            reads it too, in every step of its training. Text and gate are part of the bundle. Where sequence
            repeats it saves much.
        teachers: Pretrained bundles of the same tokenizer: their probabilities take the place of the hidden tokens in
            the loss, of both strands where these are cut alike. Each example has one of them, in turn: several
            trainings with other seeds teach more than any of them knows, at the price of one.
        dry_run: Dry run: print parameters, tokens per step and the memory of a GPU that the settings ask for, and
            do nothing; the inputs need not be there yet.
    """
    tokenizer, initial = optional_path(tokenizer), optional_path(initial)
    if dry_run:
        model, source = sized(model, tokenizer, initial)
        with checked_settings():
            objective_of(model, cpc, nsp_weight, repeat_weight, sites_share if sites else 0.0)
        return estimate(model, source, training, masking)

    from dna_bigbird.core.limits import use_threads
    from dna_bigbird.training import pretrain_run as steps
    from dna_bigbird.training.copying import CopiedText, WithCopies, add_copies
    from dna_bigbird.training.pretrain_run import open_reading
    from dna_bigbird.training.pretraining_start import choose_start, run_pretraining
    from dna_bigbird.training.teachers import open_teachers
    from dna_bigbird.training.trained_bundle import save_trained, validation_metrics

    output = Path(output)
    start = choose_start(tokenizer, initial, model)
    encoder = start.encoder
    with checked_settings():
        objective = objective_of(
            encoder, cpc, nsp_weight, repeat_weight, sites_share if sites else 0.0
        )
    if counts == "inputs" and encoder.attention == "etc":
        raise InputError(
            "--counts inputs: attention etc does not read copies; take another --model.attention, or "
            "--counts gate"
        )
    taught_by = open_teachers(map(Path, teachers), start.tokenizer, objective)
    use_threads(threads)
    steps.note_masking(masking)
    corpus = steps.open_corpus(Path(train), Path(validation), start.tokenizer, start.tokenizer_file)
    reading = open_reading(
        corpus.train,
        corpus.tokenizer.piece_bp,
        objective,
        optional_path(genome),
        optional_path(sites),
    )
    examples: dict[str, Any] = steps.pretraining_examples(
        corpus, encoder, masking, seed, objective, reading, training.num_examples
    )
    validation_examples = training.validation_examples or DEFAULT_VALIDATION_EXAMPLES
    copies = None
    if counts == "inputs":
        read = CopiedText.of(corpus)
        copies = read.config
        examples = {name: WithCopies(e, read, name == "train") for name, e in examples.items()}
    network = start.network(objective.heads, seed, copies)
    task, collate = steps.task_of(
        network, training, corpus.tokenizer.piece_bp, objective, taught_by
    )
    result = run_pretraining(
        task,
        examples,
        training,
        validation_examples=validation_examples,
        checkpoints=Path(checkpoints),
        seed=seed,
        settings=steps.run_settings(corpus, start, masking, objective, reading, taught_by, copies),
        collate=collate,
    )
    config = steps.pretrained_config(
        corpus, start, masking, seed, objective, examples["train"], taught_by
    )
    scores = result.best_metrics
    if counts != "none" and result.is_writer:
        described, more = add_copies(task, corpus, seed, validation_examples)
        config, scores = config | described, scores | more
    return save_trained(
        output,
        task,
        corpus.tokenizer,
        training,
        result,
        config=config,
        metrics=validation_metrics(scores, result.best_step, seed, n_examples=validation_examples),
    )


# --- Steps of `pretrain --dry_run`: what a run would take on a GPU, from its settings alone ---

GPUS_GB = (40, 80, 141)
"""Memory of an A100, an H100 and an H200."""
USABLE = 0.9
"""Share of it that the estimate may fill: CUDA's runtime, workspaces and gaps are not counted."""
BACKENDS = {"gather": "gather", "flex": "flex, triton"}
"""Those whose memory differs, and the names that are printed."""


def estimate(
    encoder: EncoderConfig, source: str, training: TrainConfig, masking: MaskingConfig
) -> DryRun:
    """Return the estimate; `encoder` and `source` are as `sized` returns them."""
    from dna_bigbird.models.memory import pretraining_memory, pretraining_parameters
    from dna_bigbird.models.precision import BFLOAT16

    predicted = (
        int(max(masking.fraction, masking.last_fraction) * encoder.max_tokens) * training.batch_size
    )
    is_etc = encoder.attention == "etc"
    backends = BACKENDS if encoder.has_blocks else {"auto": "auto"}
    precision = BFLOAT16 if training.precision == "auto" else training.precision
    memory = {
        name: pretraining_memory(
            encoder,
            batch_size=training.batch_size,
            predicted=predicted,
            precision=precision,
            device="cuda",
            backend=name,
            processes=training.processes,
            optimizer=training.optimizer,
            accumulates=training.accumulate > 1,
            averages=bool(training.ema_decay or training.swa_share),
        )
        for name in backends
    }
    passes = training.accumulate * training.processes
    tokens = training.batch_size * encoder.max_tokens * passes
    parameters = pretraining_parameters(encoder)
    lines = [
        f"model            {parameters:,} parameters, vocabulary {encoder.vocab_size:,} ({source})",
        f"tokens per step  {tokens:,}: {training.batch_size} sequences of {encoder.max_tokens:,} in "
        f"each of {passes} micro-batches",
        "",
        *table(memory, backends.values(), training.optimizer, precision),
        "",
        *(["The second pass over hidden sentences (CPC) is not counted.", ""] if is_etc else []),
        "An estimate from the settings, without teachers; docs/explanation/training-recipe.md has how far it was checked. A",
        f"training fits a GPU that it fills to {USABLE:.0%} at most. Nothing was read or written.",
    ]
    return DryRun(parameters, tokens, memory, "\n".join(lines))


def sized(
    encoder: EncoderConfig, tokenizer: Path | None, initial: Path | None
) -> tuple[EncoderConfig, str]:
    """Return the encoder as a bundle or a tokenizer, if it is there, sizes it, and its source."""
    from dna_bigbird.training.pretraining_start import choose_start

    if initial is None and tokenizer is not None and not tokenizer.is_file():
        return encoder, f"as in the settings: there is no {tokenizer}"
    return choose_start(tokenizer, initial, encoder).encoder, str(tokenizer or initial)


def table(
    memory: dict[str, "StepMemory"], backends: Iterable[str], optimizer: str, precision: str
) -> Iterator[str]:
    """Yield the lines of the table, in GB (10^9 bytes) of one GPU."""
    steps = list(memory.values())
    yield _line("GB of one GPU, attention backend", backends)
    rows = {
        "weights": [step.weights for step in steps],
        "gradients": [step.gradients for step in steps],
        f"optimizer state ({optimizer})": [step.optimizer for step in steps],
        f"copies of weights ({precision})": [step.copies for step in steps],
        "mean of the weights": [step.averaged for step in steps],
        "activations": [step.activations for step in steps],
        "logits, or a layer computed again": [max(s.logits, s.recomputed) for s in steps],
        "expected peak": [step.total for step in steps],
    }
    for name, values in rows.items():
        yield _line(name, (f"{value / 1e9:.1f}" for value in values))
    for size in GPUS_GB:
        fits = ("yes" if s.total <= USABLE * size * 1e9 else "no" for s in steps)
        yield _line(f"fits {size} GB", fits)


def _line(name: str, cells: Iterable[str]) -> str:
    return f"{name:<34}" + "".join(f"{cell:>14}" for cell in cells)
