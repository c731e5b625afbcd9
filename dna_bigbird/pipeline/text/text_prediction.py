"""`dna-bigbird text predict`."""

from typing import Literal

from dna_bigbird.choices import checked
from dna_bigbird.inference.compute import Compute
from dna_bigbird.paths import InputPath, OutputPath


@checked()
def predict(
    model: InputPath,
    data: InputPath,
    output: OutputPath,
    split: Literal["train", "validation", "test"] = "test",
    change: str = "",
    resume: bool = False,
    max_unpacked_gib: float = 0,
    batch_size: int = 0,
    precision: Literal["auto", "32-true", "bf16-mixed"] = "auto",
    backend: Literal["auto", "dense", "gather", "merged", "flex", "native"] = "auto",
    threads: int = 0,
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """Write the predictions of a fine-tuned text model in the official format of its set.

    Gold answers need not be in the data, and are not looked at.

    Args:
        model: Bundle of `dna-bigbird text train`.
        data: The set in its native format, as for training.
        output: Folder to write the official files into.
        split: Part of the set, where the data holds several.
        change: Options of the task other than those of the training: name=value, several with
            commas between.
        resume: Continue an interrupted run with the same settings and inputs, if there is one.
        max_unpacked_gib: GiB that a compressed file may become when it is read; 0: 20 times its size, at
            least 0.25.
        batch_size: Rows computed at once; 0 goes by their length and what suits the device.
        precision: Arithmetic: float32 or bfloat16; 'auto' as the device is made for.
        backend: How attention is computed.
        threads: CPU threads; 0 leaves the choice to torch.
        device: 'auto' takes a GPU if there is one.

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
