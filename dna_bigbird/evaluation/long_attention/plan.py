"""The jobs: which there are, the settings that each depends on, and how they are run, each once."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dna_bigbird.core.child_processes import EndingContext
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.parts import read_json_part, write_json_part
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.evaluation.long_attention.baselines import baselines_job, score
from dna_bigbird.evaluation.long_attention.batches import Source, source_of
from dna_bigbird.evaluation.long_attention.cost import cost_job
from dna_bigbird.evaluation.long_attention.names import (
    BASELINES,
    COST,
    AttentionComparison,
    training_name,
)
from dna_bigbird.evaluation.long_attention.small_models import SmallModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.optimisation import build_optimizer

RESULT = "result.json"
Job = Callable[[Mapping[str, Any]], dict]
"""From the settings of a job to its result, without the settings; picklable."""


def result_path(folder: Path, name: str) -> Path:
    """Return the file of a job."""
    return folder / "jobs" / name / RESULT


def read_result(folder: Path, name: str, settings: Mapping[str, Any]) -> dict | None:
    """Return the result of a job; None if it must be computed: absent, damaged, of other settings."""
    return read_json_part(result_path(folder, name), settings)


def run_job(job: Job, folder: Path, name: str, settings: Mapping[str, Any]) -> None:
    """Do a job in this process, on one thread, and write its result."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        result = job(settings)
    finally:
        torch.set_num_threads(threads)
    write_json_part(result_path(folder, name), settings, result)


def run_jobs(
    work: Mapping[str, tuple[Job, Mapping[str, Any]]], folder: Path, processes: int
) -> None:
    """Do the jobs that are not complete, in processes that end with this one; 1: in this one."""
    left = [name for name, (_, x) in work.items() if read_result(folder, name, x) is None]
    if work and len(left) < len(work):
        note(f"{folder}: {len(work) - len(left)} of {len(work)} jobs are complete and are kept")
    if processes == 1 or len(left) < 2:
        for number, name in enumerate(left, 1):
            note(f"job {number} of {len(left)}: {name}")
            run_job(work[name][0], folder, name, work[name][1])
        return
    _in_processes(left, work, folder, processes)


def _in_processes(
    names: Sequence[str],
    work: Mapping[str, tuple[Job, Mapping[str, Any]]],
    folder: Path,
    processes: int,
) -> None:
    left, running = list(reversed(names)), {}
    failed: list[tuple[str, int]] = []
    try:
        while running or (left and not failed):
            while left and not failed and len(running) < processes:
                name = left.pop()
                job, settings = work[name]
                note(f"job {name}")
                process = EndingContext().Process(
                    target=run_job, args=(job, folder, name, settings)
                )
                process.start()
                running[process.sentinel] = (name, process)
            for sentinel in wait(list(running)):
                name, process = running.pop(sentinel)
                process.join()
                if process.exitcode:
                    failed.append((name, process.exitcode))
    finally:
        for _, process in running.values():  # Ctrl-C or SIGTERM: what they have saved is kept
            process.kill()
            process.join()
    if failed:
        name, status = failed[0]
        raise InputError(
            f"job {name} ended with status {status}; its message is above. The same command goes on "
            "with the jobs that are left"
        )


STAGES = (256, 512, 1024, 2048)
"""Lengths of the first stages in tokens; the last one has the whole length."""
FIRST_SHARE, LATER_RATE = 0.4, 0.3
CURVE_POINTS = 10
WARMUP = 30
PRETRAINED = "pretrained"


class Training:
    """A model in training, with the processor time of its steps.

    Sequences grow in stages of equal tokens per step. The first, in which the task is learned, has
    `FIRST_SHARE` of the steps. Later every second step is of a shorter length, and learning rates
    are `LATER_RATE` of those before: a step with few long sequences is noisy.
    """

    def __init__(self, model: SmallModel, settings: Mapping[str, Any], clock: Callable[[], float]):
        self.model, self.tokens, self.steps = model, settings["tokens"], settings["steps"]
        self.clock, self.seconds, self.step, self.positions = clock, 0.0, 0, 0
        warmup = min(WARMUP, self.steps - 1)
        config = TrainConfig(
            max_steps=self.steps, warmup_steps=warmup, schedule="constant", optimizer="muon",
            learning_rate=0.005, muon_learning_rate=0.01, weight_decay=0.0, precision="32-true",
            validate_every=self.steps,
        )  # fmt: skip
        self.optimizer, self.schedule = build_optimizer(model, config)
        self.lengths = [*(x for x in STAGES if x < self.tokens), self.tokens]
        self.rng = np.random.default_rng([settings["seed"], 1])

    def stage(self) -> int:
        """Return the number of the stage of the next step, from 0."""
        rest = self.step - FIRST_SHARE * self.steps
        last = len(self.lengths) - 1
        if rest < 0:
            return 0
        return min(1 + int(rest / ((1 - FIRST_SHARE) * self.steps) * last), last)

    def next_tokens(self) -> int:
        """Return the length of the sequences of the next step."""
        stage = self.stage()
        if stage and self.step % 2:
            return self.lengths[self.rng.integers(stage)]
        return self.lengths[stage]

    def advance(self, source: Source) -> None:
        """Do one step."""
        started_at = self.clock()
        tokens = self.next_tokens()
        batch = source.draw(max(1, self.tokens // tokens), tokens, self.rng)
        self.model.train()
        logits = self.model(batch.token_ids_BT, batch.positions_P)
        if source.choices is not None:
            logits = logits[:, source.choices]
        loss = torch.nn.functional.cross_entropy(logits, batch.answers_P)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        if self.stage():
            for group in self.optimizer.param_groups:
                group["lr"] = LATER_RATE * group["initial_lr"]
        self.step += 1
        self.positions += batch.token_ids_BT.numel()
        self.seconds += self.clock() - started_at


def train(settings: Mapping[str, Any], clock: Callable[[], float] = time.process_time) -> dict:
    """Train; return scores after equal steps, after equal processor time, and a curve."""
    part, core = settings["part"], settings["core"]
    torch.manual_seed(settings["seed"])
    source, test = source_of(part, is_test=False), source_of(part, is_test=True)
    model = SmallModel(core, source.vocabulary, settings["tokens"], settings["seed"])
    result: dict[str, Any] = {"parameters": sum(x.numel() for x in model.parameters())}
    if part == PRETRAINED:
        result["pretraining_seconds"] = _pretrain(model, settings, clock)
    training = Training(model, settings, clock)
    curve = []
    with progress_bar(total=settings["steps"], desc=f"{part} {core}", unit="step") as bar:
        while not {"equal_steps", "equal_seconds"} <= result.keys():
            training.advance(source)
            bar.update()
            at = {name: getattr(training, name) for name in ("step", "positions", "seconds")}
            if training.step % max(1, settings["steps"] // CURVE_POINTS) == 0:
                few = max(1, settings["test_sequences"] // CURVE_POINTS)
                curve.append(at | {"score": score(model, test, settings["tokens"], few)["score"]})
            whole = (model, test, settings["tokens"], settings["test_sequences"])
            if training.step == settings["steps"]:
                result["equal_steps"] = at | score(*whole)
            if training.seconds >= settings["seconds"] and "equal_seconds" not in result:
                result["equal_seconds"] = at | score(*whole)
    return result | {"curve": curve}


def _pretrain(model: SmallModel, settings: Mapping[str, Any], clock: Callable[[], float]) -> float:
    """Name hidden tokens anywhere in sequences of the task, as many steps; return the seconds."""
    training = Training(model, {**settings, "seed": settings["seed"] + 1_000_000}, clock)
    source = source_of(settings["part"], is_test=False, is_asked=False)
    for _ in range(settings["steps"]):
        training.advance(source)
    return training.seconds


Work = dict[str, tuple[Job, dict[str, Any]]]
"""Function and settings of each job by name, in the order in which they start."""
LONGEST = {"dna": 3072, "partner": 3072, "pretrained": 3072, "text": 4608}
"""Tokens of the longest sequences of each learning comparison: the largest distance, and room for the sites."""


def work_of(compared: AttentionComparison) -> Work:
    """Return all jobs: seed after seed, so that a stopped run has whole seeds."""
    work: Work = {}
    if COST in compared.comparisons:
        settings: dict[str, Any] = {"cores": compared.cores, "lengths": compared.lengths}
        work[COST] = (cost_job, {**settings, "rounds": compared.rounds})
    learned = [part for part in compared.comparisons if part != COST]
    tokens = {part: min(compared.longest_tokens, LONGEST[part]) for part in learned}
    if tokens:
        settings = {"tokens": tokens, "test_sequences": compared.test_sequences}
        work[BASELINES] = (baselines_job, settings)
    for seed in range(compared.seeds):
        for part, longest in tokens.items():
            for core in compared.cores:
                settings = {"part": part, "core": core, "seed": seed, "tokens": longest}
                settings |= {"steps": compared.training_steps, "seconds": compared.seconds}
                settings["test_sequences"] = compared.test_sequences
                work[training_name(part, core, seed)] = (train, settings)
    return work


def check_names(only: Sequence[str], work: Collection[str]) -> None:
    """Raise InputError if `--only` names a job that there is not."""
    for name in only:
        if name not in work:
            raise InputError(f"--only {name}: no such job; expected some of {', '.join(work)}")
