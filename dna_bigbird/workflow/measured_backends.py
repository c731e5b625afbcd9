"""Steps of `doctor --measure`: time the attention backends on this GPU and keep the choices."""

from collections.abc import Callable, Iterator
from itertools import product

from dna_bigbird.attention.autotune import Device, Row, ShapeClass, choose
from dna_bigbird.attention.autotune.choice import keep
from dna_bigbird.attention.autotune.timed import measure_on_gpu
from dna_bigbird.core.progress import progress_bar

HEAD_DIM, BLOCK_SIZES, TOKENS = 64, (64, 128), (512, 4096, 16384)


def shapes() -> list[ShapeClass]:
    """Return the classes that are measured: predictions first, for their kernels compile faster."""
    return [
        ShapeClass("bfloat16", HEAD_DIM, block_size, tokens, training)
        for training, block_size, tokens in product((False, True), BLOCK_SIZES, TOKENS)
    ]


def measure_backends(
    device: Device, measured: Callable[[ShapeClass], list[Row]] = measure_on_gpu
) -> str:
    """Measure every class, keep what was found, and return the table."""
    lines = [
        f"attention backends on {device.name}, driver {device.driver}, torch {device.torch}",
        "",
    ]
    for shape in progress_bar(shapes(), desc="measuring", unit=" problems"):
        rows = measured(shape)
        keep(shape, device, rows)
        lines += [f"{shape}: {choose(shape, device, None).backend}", *_lines(rows)]
    return "\n".join(
        [*lines, "", "kept for training with attention_backend auto and for predictions"]
    )


def _lines(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        result = f"{1000 * row.seconds:.3f} ms" if row.seconds is not None else row.reason
        yield f"  {row.backend:<8} {result}"
