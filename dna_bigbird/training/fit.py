"""Training a task to the end, from the beginning or from where it was killed."""

import contextlib
import copy
import json
import logging
import os
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import pytorch_lightning as pl
import torch
from lightning_fabric.utilities.rank_zero import rank_zero_only
from pytorch_lightning.plugins.environments import LightningEnvironment, SLURMEnvironment
from pytorch_lightning.profilers import Profiler

from dna_bigbird.core.errors import InputError
from dna_bigbird.models.precision import (
    BFLOAT16,
    FLOAT32,
    float32_matmul,
    resolve_muon_precision,
    resolve_precision,
)
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training import training_checks
from dna_bigbird.training.averaging import AveragedWeights
from dna_bigbird.training.checkpoints import (
    AtomicCheckpointIO,
    Checkpoints,
    Preemption,
    load_best,
    naming_the_step,
    whole_restore,
)
from dna_bigbird.training.history import GrowingTable, History, StopAtNan
from dna_bigbird.training.objective import Objective, SeededBatches
from dna_bigbird.training.processes import (
    SameStart,
    check_agreement,
    ended_with_the_first,
    readable_loss,
)
from dna_bigbird.training.run_folder import best_path, locked, note, open_run, read_settings
from dna_bigbird.training.sharding import Sharded
from dna_bigbird.training.speed import HEADER, DataClock, Speed

# What a run computes does not depend on these settings.
FREE_SETTINGS = (
    "workers",
    "tokenize",
    "tensorboard",
    "measure_speed",
    "strategy",
    "checkpoint_every_steps",
    "checkpoint_every_minutes",
    "devices",
    "nodes",
    "accumulate",
)

LATER_SETTINGS = {
    "max_shift": 0,
    "layer_decay": 1.0,
    "start_at_probe": False,
    "muon_weight_decay": None,
    "ema_decay": 0.0,
    "swa_share": 0.0,
}
"""Settings that runs of earlier versions do not have; left out at these values, so that they continue."""

COMPILER = {"fx_graph_cache": False}
"""Options of torch.compile. Its cache on the disk (torch 2.13) may take the conditions of another model's graph, and ends
with a KeyError then."""
# Otherwise DDP packs the gradients again after the first step of each start, and with more than two
# processes their sums would be rounded differently from there: no exact restart. (That torch finds
# nothing unused, and says so at each start, is meant.)
DDP = "ddp_find_unused_parameters_true"

SILENCED = (
    ".*does not have many workers.*",
    ".*DataLoader will create .* worker processes.*",  # `limits` has said what is too many
    ".*dataloader is not resumable.*",  # the stream starts at the trainer's step
    ".*Checkpoint directory .* exists and is not empty.*",
    ".*treespec, LeafSpec.*",
    ".*is smaller than the logging interval.*",
    ".*Found .* module.s. in eval mode.*",
    ".*callback with a model that overrides the configure_model.*",  # shards are refused
    ".*You have overridden .transfer_batch_to_device. in .LightningModule.*",
    ".*srun. command is available on your system.*",
    ".*lr_scheduler.step.*before.*optimizer.step.*",
    ".*The length of .* is 0.*",
    ".*You're resuming from a checkpoint that ended before.*",
)


@dataclass(frozen=True)
class FitResult:
    """What training came to; the model itself now holds the best weights."""

    best_step: int
    best_metrics: dict[str, float]
    history: str
    """Text of history.tsv."""
    is_writer: bool
    """True on the one process that writes files."""
    precision: str
    """The arithmetic of the run: '32-true' or 'bf16-mixed'."""
    muon_precision: str
    """That of Muon's products: 'float32' or 'bfloat16'; with other optimizers the setting."""


def training_settings(config: TrainConfig) -> dict:
    """Return the settings that decide the result: micro-batches per step, but not who computes them."""
    chosen = {k: v for k, v in asdict(config).items() if k not in FREE_SETTINGS}
    settings = {k: v for k, v in chosen.items() if (k, v) not in LATER_SETTINGS.items()}
    return settings | {"micro_batches_per_step": config.accumulate * config.processes}


def fit(
    task: Objective,
    data: pl.LightningDataModule,
    config: TrainConfig,
    *,
    checkpoints: Path,
    seed: int,
    settings: dict,
    callbacks: tuple[pl.Callback, ...] = (),
) -> FitResult:
    """Train; the same call after a kill goes on exactly at the newest checkpoint.

    On one machine and one thread count the weights at the end are those of an undisturbed run, bit
    for bit.

    Args:
        checkpoints: Folder for the state of the run; see training.run_folder.
        seed: Seeds dropout; the data has seeds of its own and the model is already initialised.
        settings: Everything else that decides the result (architecture, input checksums); with
            other settings a finished run starts over, and an unfinished one is refused.
        callbacks: More Lightning callbacks, called first.

    Raises:
        InputError: If the loss stops being a number, another process trains in the folder, other settings
            began an unfinished run there, the processes end with different weights, another process of the run has ended, a checkpoint
            cannot be read now, or the best weights are damaged.
    """
    is_writer = rank_zero_only.rank in (None, 0)
    config, whole = with_precision(config, checkpoints, {"seed": seed, **settings}, is_writer)
    task.config = config  # of the optimizer
    averaging = AveragedWeights(config) if config.ema_decay or config.swa_share else None
    history = History(checkpoints / "history.tsv", config.log_every)
    keeper = Checkpoints(
        checkpoints,
        every_steps=config.checkpoint_every_steps,
        every_minutes=config.checkpoint_every_minutes,
        validate_every=config.validate_every,
        patience=config.patience,
        averaging=averaging,
    )
    whole_model = task.model
    if isinstance(strategy_of(config), Sharded):
        whole_model = copy.deepcopy(task.model)  # the other one is cut into shards
    with (
        ended_with_the_first(is_writer),
        warnings.catch_warnings(),
        quiet_lightning(),
        locked(checkpoints) if is_writer else contextlib.nullcontext(),
    ):
        for message in SILENCED:
            warnings.filterwarnings("ignore", message)
        is_open = training_checks.is_backend_open(task.model, config, training_device())
        choose = partial(training_checks.choose_backend, task.model, config) if is_open else None
        resume_from = open_run(checkpoints, whole, is_writer, choose)
        if is_open:
            training_checks.apply_backend(task.model, checkpoints)
        ours, waits = _callbacks(config, checkpoints, seed, history, keeper)
        trainer = build_trainer(config, checkpoints, [*callbacks, *ours], waits)
        if config.compile:
            # In place, so that weights keep their names. Sizes are variables from the first batch
            # on: else what is compiled would depend on which lengths came before, or a restart.
            task.model.compile(dynamic=True, options=COMPILER)
        with (
            float32_matmul(config.float32_matmul),
            whole_restore(resume_from, keeper),
            readable_loss(config.processes),
            naming_the_step(trainer, keeper),
        ):
            trainer.fit(task, datamodule=data, ckpt_path=resume_from)
        check_agreement(trainer, task)
        trainer.strategy.barrier()
        task.model = whole_model
        load_best(task, best_path(checkpoints, keeper.best_step))
    return FitResult(
        best_step=keeper.best_step,
        best_metrics=keeper.best_metrics,
        history=history.table(),
        is_writer=trainer.is_global_zero,
        precision=config.precision,
        muon_precision=config.muon_precision,
    )


def _callbacks(
    config: TrainConfig, checkpoints: Path, seed: int, history: History, keeper: Checkpoints
) -> tuple[list[pl.Callback], DataClock | None]:
    """Return the callbacks of every training, and the clock of the data if speed is measured."""
    callbacks = [SameStart(), SeededBatches(seed), StopAtNan(config.log_every), history]
    callbacks += [*([keeper.averaging] if keeper.averaging else []), keeper, Preemption(keeper)]
    if not config.measure_speed:
        return callbacks, None
    waits = DataClock()
    table = GrowingTable(checkpoints / "speed.tsv", HEADER)
    callbacks.append(Speed(table, waits, log_every=config.log_every, show=history.show))
    return callbacks, waits


def with_precision(
    config: TrainConfig, checkpoints: Path, settings: dict, is_writer: bool
) -> tuple[TrainConfig, dict]:
    """Return the config with its precisions decided, and all settings of the run with them."""

    def whole(config: TrainConfig) -> dict:
        # Through JSON, as settings.json has them: tuples are lists there, and keys are text.
        return json.loads(json.dumps({"training": training_settings(config), **settings}))

    device = training_device()
    chosen = decided(config, resolve_precision(config.precision, device), device)
    if chosen != config:
        # settings.json has the precision that was decided, not 'auto'. If it equals these settings under one of the
        # possible decisions, that one is kept: a GPU node and a CPU node decide differently, and a run that went
        # on in other arithmetic would be no exact restart. Under none of them it is another run.
        begun = read_settings(checkpoints)
        chosen = next((c for c in _decisions(config) if begun == whole(c)), chosen)
    if config.precision == "auto" and is_writer:
        note(f"training in {chosen.precision}; --training.precision chooses")
    return chosen, whole(chosen)


def decided(config: TrainConfig, precision: str, device: str) -> TrainConfig:
    """Return the config in this precision, with Muon's decided too if it is the optimizer."""
    if config.optimizer != "muon":
        return replace(config, precision=precision)
    products = resolve_muon_precision(config.muon_precision, precision, device)
    return replace(config, precision=precision, muon_precision=products)


def _decisions(config: TrainConfig) -> Iterator[TrainConfig]:
    """Yield the configs that 'auto' may become, on any machine."""
    has_auto = config.optimizer == "muon" and config.muon_precision == "auto"
    for precision in (FLOAT32, BFLOAT16) if config.precision == "auto" else (config.precision,):
        for products in ("float32", "bfloat16") if has_auto else (config.muon_precision,):
            yield replace(config, precision=precision, muon_precision=products)


def training_device() -> str:
    """Return the type of device that Lightning will take."""
    return (
        torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
    )


def build_trainer(
    config: TrainConfig,
    checkpoints: Path,
    callbacks: list[pl.Callback],
    profiler: Profiler | None = None,
) -> pl.Trainer:
    """Return a Lightning trainer that counts steps, not epochs, and says little."""
    logger = False
    if config.tensorboard:
        from pytorch_lightning.loggers import TensorBoardLogger

        logger = TensorBoardLogger(checkpoints, name="tensorboard", version="")
    # Deterministic algorithms would fill all new memory with NaN first: 7 % of a step on an H100.
    torch.utils.deterministic.fill_uninitialized_memory = False
    return pl.Trainer(
        max_steps=config.max_steps,
        max_epochs=-1,
        accumulate_grad_batches=config.accumulate,
        val_check_interval=config.validate_every * config.accumulate,
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        gradient_clip_val=config.gradient_clip or None,
        precision=config.precision,
        devices=config.devices,
        num_nodes=config.nodes,
        strategy=strategy_of(config),
        plugins=[AtomicCheckpointIO(), *cluster_plugins(config)],
        use_distributed_sampler=False,
        deterministic="warn",
        logger=logger,
        callbacks=callbacks,
        profiler=profiler,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=checkpoints,
    )


def strategy_of(config: TrainConfig) -> str | Sharded:
    """Return how the processes share the work; one process has nobody to share with."""
    if config.processes == 1:
        return "auto"
    return Sharded(config.processes) if config.strategy == "fsdp" else DDP


def cluster_plugins(config: TrainConfig) -> list[LightningEnvironment | SLURMEnvironment]:
    """Take SLURM at its word only if it started several tasks."""
    # In a job of one task Lightning would otherwise believe SLURM's task count and train on one
    # process, whatever `devices` says.
    tasks = os.environ.get("SLURM_NTASKS", "1")
    if config.processes > 1 and tasks.isdigit() and int(tasks) > 1:
        try:
            return [SLURMEnvironment(auto_requeue=False)]  # see Preemption
        except RuntimeError as error:  # `sbatch --ntasks` without --ntasks-per-node
            raise InputError(str(error)) from None
    return [LightningEnvironment()]


@contextlib.contextmanager
def quiet_lightning():
    """Leave out Lightning's greetings and tips; warnings stay."""
    names = ["pytorch_lightning", "lightning_fabric", "lightning.pytorch"]
    names += [f"{name}.utilities.rank_zero" for name in names[:2]]
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
