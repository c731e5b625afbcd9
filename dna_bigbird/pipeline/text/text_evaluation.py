"""`dna-bigbird text evaluate`."""

from typing import Literal

from dna_bigbird.choices import checked
from dna_bigbird.inference.compute import Compute
from dna_bigbird.paths import InputPath, OutputPath
from dna_bigbird.shared_options import (
    Backend,
    Device,
    MaxUnpackedGib,
    Resume,
    RowsAtOnce,
    SetPart,
    TaskChanges,
    TaskData,
    TaskModel,
    Threads,
)


@checked()
def evaluate(
    model: TaskModel,
    data: TaskData,
    output: OutputPath,
    split: SetPart = "validation",
    train: InputPath | None = None,
    change: TaskChanges = "",
    seed: int = 0,
    replicates: int = 1000,
    resume: Resume = False,
    max_unpacked_gib: MaxUnpackedGib = 0,
    batch_size: RowsAtOnce = 0,
    precision: Literal["auto", "32-true", "bf16-mixed"] = "32-true",
    backend: Backend = "auto",
    threads: Threads = 0,
    device: Device = "auto",
) -> None:
    """Score a fine-tuned text model with the official metric of its set, beside trivial baselines.

    Writes metrics.json (scores with 95 % bootstrap intervals over examples, gains over baselines on
    the same draws, counts of what was left out) and the predictions in the official format.

    Args:
        output: Folder to write.
        train: Training data, for baselines that learn, and to count the scored examples that are
            training examples (n_in_training); without it both are left out.
        seed: Seed of the bootstrap.
        replicates: Bootstrap draws of the examples behind each interval.
        precision: Arithmetic: float32, so that scores do not depend on the processor, or bfloat16.

    Examples:
        dna-bigbird text evaluate --model models/hotpotqa --data hotpot_dev_distractor_v1.json --output scored
    """
    compute = Compute(
        batch_size=batch_size,
        precision=precision,
        backend=backend,
        threads=threads,
        device=device,
    )
    from dna_bigbird.errors import InputError
    from dna_bigbird.pipeline.text.bootstrap_scores import evaluation, lines
    from dna_bigbird.pipeline.text.running import open_model, run_set, write_files
    from dna_bigbird.pipeline.text.set_rows import read_examples
    from dna_bigbird.writing import json_text

    if replicates < 1:
        raise InputError(f"--replicates {replicates}: expected at least 1")
    bundle, kind = open_model(model, change)
    learnt_from = (
        None
        if train is None
        else read_examples(kind, train, "train", max_unpacked_gib=max_unpacked_gib)[0]
    )
    made, outputs = run_set(
        kind,
        bundle,
        data,
        compute,
        split=split,
        gold=True,
        output=output,
        resume=resume,
        max_unpacked_gib=max_unpacked_gib,
    )
    predictions = kind.decode(made, outputs)
    metrics = evaluation(
        kind,
        made,
        predictions,
        learnt_from,
        seed=seed,
        replicates=replicates,
        described={
            "split": split,
            "training_seed": bundle.config.seed,
            "step": bundle.metrics.step,
        },
    )
    files = kind.submission(made.examples, predictions)
    write_files(output, {**files, "metrics.json": json_text(metrics).encode()})
    for line in lines(metrics):
        print(f"{output}: {line}")
