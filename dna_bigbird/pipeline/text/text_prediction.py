"""`dna-bigbird text predict`."""

from typing import Literal

from dna_bigbird.choices import checked
from dna_bigbird.inference.compute import Compute
from dna_bigbird.paths import OutputPath
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
def predict(
    model: TaskModel,
    data: TaskData,
    output: OutputPath,
    split: SetPart = "test",
    change: TaskChanges = "",
    resume: Resume = False,
    max_unpacked_gib: MaxUnpackedGib = 0,
    batch_size: RowsAtOnce = 0,
    precision: Literal["auto", "32-true", "bf16-mixed"] = "auto",
    backend: Backend = "auto",
    threads: Threads = 0,
    device: Device = "auto",
) -> None:
    """Write the predictions of a fine-tuned text model in the official format of its set.

    Gold answers need not be in the data, and are not looked at.

    Args:
        output: Folder to write the official files into.
        precision: Arithmetic: float32 or bfloat16; 'auto' as the device is made for.

    Examples:
        dna-bigbird text predict --model models/hotpotqa --data hotpot_test.json --output predictions
    """
    compute = Compute(
        batch_size=batch_size,
        precision=precision,
        backend=backend,
        threads=threads,
        device=device,
    )
    from dna_bigbird.pipeline.text.running import open_model, run_set, write_files

    bundle, kind = open_model(model, change)
    made, outputs = run_set(
        kind,
        bundle,
        data,
        compute,
        split=split,
        gold=False,
        output=output,
        resume=resume,
        max_unpacked_gib=max_unpacked_gib,
    )
    files = kind.submission(made.examples, kind.decode(made, outputs))
    write_files(output, files)
    print(f"{output}: {len(made.examples):,} predictions: {', '.join(files)}")
