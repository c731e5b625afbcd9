"""Settings of one training run."""

from dataclasses import dataclass
from typing import Annotated, Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import (
    AboveZero,
    Count,
    NotNegative,
    Positive,
    Range,
    Share,
    ShareBelowOne,
)


@dataclass(frozen=True)
class TrainConfig:
    """How a model is trained; what it is and what it reads are settings of their own."""

    max_steps: Positive = 1000
    """Optimizer steps of the whole run."""
    batch_size: Positive = 32
    """Examples computed at once: in one forward pass of one process."""
    accumulate: Positive = 1
    """Forward passes added up before an optimizer step (per process)."""
    learning_rate: AboveZero = 1e-4
    """Largest learning rate, reached at the end of the warm-up."""
    warmup_steps: Count = 0
    """Steps over which the learning rate rises from 0; afterwards it follows `schedule`."""
    schedule: Literal["linear", "linear_from_zero", "stable_decay", "inverse_sqrt", "constant"] = (
        "linear"
    )
    """After the warm-up: 'linear' falls to 0 at `max_steps`, 'linear_from_zero' (the paper's code) does so on the
    line from step 0, 'stable_decay' stays and falls to 0 in the
    last steps (`decay_share`), 'inverse_sqrt' falls with the root of the step, 'constant' stays."""
    decay_share: Annotated[float, Range(above=0, most=1)] = 0.2
    """Share of the steps, the last ones, over which 'stable_decay' falls."""
    optimizer: Literal["adamw", "muon", "adafactor", "lamb"] = "adamw"
    """Adam with decoupled weight decay; Muon for the matrices of the layers and Adam for everything
    else; LAMB, Adam's steps scaled to the size of each matrix; or Adafactor: little memory of its own, and
    steps in proportion to the size of each matrix, so its `learning_rate` is relative."""
    muon_learning_rate: AboveZero = 0.01
    """Largest learning rate of Muon: an update of a matrix has about the root mean square of Adam's at
    this rate."""
    muon_precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Arithmetic of the matrix products of Muon; 'auto' is float32 with precision 32-true or where
    the processor or GPU lacks bfloat16 products, else bfloat16, and continues a run as it began."""
    beta2: ShareBelowOne = 0.999
    """Decay of Adam's second moments; Adafactor has a rule of its own."""
    weight_decay: NotNegative = 0.01
    """Decoupled weight decay; biases and LayerNorms are spared."""
    muon_weight_decay: NotNegative | None = None
    """Decoupled weight decay of the matrices that Muon updates; by default `weight_decay` there too."""
    ema_decay: ShareBelowOne = 0.0
    """Decay of a moving mean of the weights, step by step, less in the first steps. The mean is what is validated
    and exported; 0: the weights as they are."""
    swa_share: Share = 0.0
    """Share of the steps, the last ones, whose weights have an equal mean (SWA), which is validated and exported; 0:
    the weights as they are."""
    gradient_clip: NotNegative = 0.0
    """Largest norm of the whole gradient; 0 leaves it alone, as the paper's code does."""
    precision: Literal["auto", "32-true", "bf16-mixed"] = "auto"
    """Arithmetic: float32, or bfloat16 autocast over float32 weights; 'auto' takes the latter where
    the processor or GPU has bfloat16 products, and continues a run as it began."""
    float32_matmul: Literal["default", "onednn"] = "default"
    """Who multiplies float32 matrices on a CPU: 'onednn' is faster on AMD, and rounds to bfloat16
    where the processor has AMX (docs/explanation/training-recipe.md). No matter for bf16-mixed."""
    attention_backend: Literal[
        "auto", "dense", "gather", "cpu_chunks", "flex", "native", "triton"
    ] = "auto"
    """How attention is computed (docs/explanation/attention.md); it changes time and memory, not the model."""
    compile: bool = False
    """Compile the model with torch.compile: minutes at the start, faster steps, other rounding."""
    validate_every: Positive = 100
    """Optimizer steps between two validations; divides `max_steps`, so the last step is validated."""
    validation_examples: Count = 0
    """Examples of one validation, the same ones every time; 0 takes the whole validation split
    (pretraining draws examples without end and needs a number: 0 means 256 there)."""
    checkpoint_every_steps: Count = 0
    """Steps between two extra checkpoints; one is written after every validation. 0: only those."""
    checkpoint_every_minutes: NotNegative = 0.0
    """Minutes after which a checkpoint is due, at any step; 0: never. Saving changes no result."""
    log_every: Positive = 20
    """Steps whose mean makes one row of training figures in history.tsv."""
    patience: Count = 0
    """Validations without improvement after which training stops; 0 never stops early."""
    head_learning_rate: NotNegative = 0.0
    """Largest learning rate of the layers on top of the encoder; 0: `learning_rate` there too."""
    layer_decay: Annotated[float, Range(above=0, most=1)] = 1.0
    """Factor of the learning rates from layer to layer, downwards: the head has the whole rate, the last layer
    of N has this share, the first one its N-th power, the embeddings one more. 1: all the same."""
    start_at_base_rates: bool = False
    """Begin with a last layer that gives every label its share in the training rows: without it the
    first hundreds of steps of a run with many rare labels go into learning those shares."""
    start_at_probe: bool = False
    """Begin with the last layer that is best for the encoder as it is: a regression on what the head reads, with
    the penalty that has the highest validation score (docs/how-to/fine-tune.md)."""
    positive_weight: AboveZero = 1.0
    """Weight of a positive label in the loss of a labelled set (8 for chromatin in the paper)."""
    both_strands: bool = True
    """Both strands: a labelled window is shown as its reverse complement every second time, by chance."""
    devices: Positive = 1
    """Processes (one per GPU, if there are any) on one node."""
    nodes: Positive = 1
    """Nodes of the cluster that train together."""
    strategy: Literal["auto", "ddp", "fsdp"] = "auto"
    """How several processes share: 'ddp' (which 'auto' takes) holds the model in each of them, 'fsdp'
    holds a part of it in each."""
    workers: Count = 0
    """Worker processes: they prepare data for each training process; the examples do not depend on it."""
    tokenize: Literal["once", "on_the_fly"] = "once"
    """When the training windows of a labelled set become tokens: 'once' keeps all of them in memory
    (2.5 KB each for 8000 bp and strand), 'on_the_fly' makes them in the data workers; same
    examples."""
    bpe_dropout: ShareBelowOne = 0.0
    """Chance that an occurrence of a piece of the vocabulary is left out when a training window of a
    labelled set is cut into tokens (BPE-dropout): other tokens for every example, made in the data
    workers. Validation and scores have the usual tokens. 0: the usual tokens; 0.1 is common."""
    max_shift: Count = 0
    """Most bases by which a training window of a labelled set is moved, to either side, by chance for every
    example: as far as its label still holds (docs/how-to/fine-tune.md). Validation and scores have the windows of
    the set. 0: none."""
    tensorboard: bool = False
    """Write TensorBoard files to the folder of the checkpoints."""
    measure_speed: bool = True
    """Write tokens and base pairs a second, waiting for data and utilisation to speed.tsv next to the
    checkpoints; measuring the processor's peak for it takes 0.3 s at the start."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.layer_decay < 1 and self.optimizer == "adafactor":
            raise ValueError(
                "--layer_decay with --optimizer adafactor is not supported; take adamw or muon"
            )
        if self.schedule == "inverse_sqrt" and not self.warmup_steps:
            raise ValueError(
                "--schedule inverse_sqrt falls from where the warm-up ends: --warmup_steps must be at "
                "least 1"
            )
        if self.warmup_steps >= self.max_steps:
            raise ValueError(
                f"--warmup_steps {self.warmup_steps} is not below --max_steps {self.max_steps}: "
                "the learning rate would never reach its height; 10 % of the steps is usual"
            )
        if self.max_steps % self.validate_every:
            raise ValueError(
                f"--max_steps {self.max_steps} is not a multiple of --validate_every "
                f"{self.validate_every}: the last steps would never be validated"
            )
        if self.muon_weight_decay is not None and self.optimizer != "muon":
            raise ValueError(
                f"--muon_weight_decay {self.muon_weight_decay} is read with --optimizer muon only; leave it out"
            )
        if self.ema_decay and self.swa_share:
            raise ValueError(
                f"--ema_decay {self.ema_decay} and --swa_share {self.swa_share}: choose one mean of the weights"
            )
        if (self.ema_decay or self.swa_share) and self.strategy == "fsdp":
            raise ValueError(
                f"--{'ema_decay' if self.ema_decay else 'swa_share'} with --strategy fsdp is not supported: it needs "
                "whole weights; choose ddp"
            )
        if self.compile and self.strategy == "fsdp":
            raise ValueError("--compile true with --strategy fsdp is not supported; choose one")
        if self.optimizer in ("adafactor", "muon", "lamb") and self.strategy == "fsdp":
            raise ValueError(
                f"--optimizer {self.optimizer} with --strategy fsdp is not supported: it needs whole "
                "matrices"
            )

    @property
    def num_examples(self) -> int:
        """Examples of the whole training."""
        return self.max_steps * self.batch_size * self.accumulate * self.processes

    @property
    def processes(self) -> int:
        """Training processes over all nodes."""
        return self.devices * self.nodes
