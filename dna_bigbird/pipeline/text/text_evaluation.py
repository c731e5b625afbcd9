"""`dna-bigbird text evaluate`."""

from typing import Literal

from dna_bigbird.choices import checked
from dna_bigbird.inference.compute import Compute
from dna_bigbird.paths import InputPath, OutputPath


@checked()
def evaluate(
    model: InputPath,
    data: InputPath,
    output: OutputPath,
    split: Literal["train", "validation", "test"] = "validation",
    train: InputPath | None = None,
    change: str = "",
    seed: int = 0,
    replicates: int = 1000,
    resume: bool = False,
    max_unpacked_gib: float = 0,
    batch_size: int = 0,
    precision: Literal["auto", "32-true", "bf16-mixed"] = "32-true",
    backend: Literal["auto", "dense", "gather", "merged", "flex", "native"] = "auto",
    threads: int = 0,
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """Score a fine-tuned text model with the official metric of its set, beside trivial baselines.

    Writes metrics.json (scores with 95 % bootstrap intervals over examples, gains over baselines on
    the same draws, counts of what was left out) and the predictions in the official format.

    Args:
        model: Bundle of `dna-bigbird text train`.
        data: The set in its native format, as for training.
        output: Folder to write.
        split: Part of the set, where the data holds several.
        train: Training data, for baselines that learn, and to count the scored examples that are
            training examples (n_in_training); without it both are left out.
        change: Options of the task other than those of the training: name=value, several with
            commas between.
        seed: Seed of the bootstrap.
        replicates: Bootstrap draws of the examples behind each interval.
        resume: Continue an interrupted run with the same settings and inputs, if there is one.
        max_unpacked_gib: GiB that a compressed file may become when it is read; 0: 20 times its size, at
            least 0.25.
        batch_size: Rows computed at once; 0 goes by their length and what suits the device.
        precision: Arithmetic: float32, so that scores do not depend on the processor, or bfloat16.
        backend: How attention is computed.
        threads: CPU threads; 0 leaves the choice to torch.
        device: 'auto' takes a GPU if there is one.

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
