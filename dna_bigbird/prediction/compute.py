"""Performance settings of everything that predicts; imports no torch."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Count
from dna_bigbird.core.shared_options import Backend, Device
from dna_bigbird.models.config import EncoderConfig

# Sequences of more tokens than a model without a table of positions was trained on.


def beyond_training(encoder: EncoderConfig, pieces: int, option: str = "--window") -> list[str]:
    """Return a line for the user if so many tokens were read at once, unlike in training.

    Example:
        >>> encoder = EncoderConfig(max_tokens=512, positions="rotary")
        >>> beyond_training(encoder, 510)
        []
        >>> print(*beyond_training(encoder, 2000))
        --window: up to 2,002 tokens are read at once; the model was trained on at most 512
    """
    tokens = pieces + 2
    if not encoder.reads_any_length or tokens <= encoder.max_tokens:
        return []
    return [
        f"{option}: up to {tokens:,} tokens are read at once; the model was trained on at most "
        f"{encoder.max_tokens:,}"
    ]


@dataclass(frozen=True)
class Compute:
    """Performance settings: they change time and memory, and scores only by rounding.

    docs/how-to/predict.md measures the rounding.

    Raises:
        InputError: If a value is not one of the choices, or a number is negative or not whole.
    """

    batch_size: Count = 0
    """Examples computed at once: windows; 0 chooses by their length and the device."""
    precision: Literal["auto", "32-true", "bf16-mixed"] = "auto"
    """Arithmetic: '32-true' is float32, 'bf16-mixed' bfloat16 autocast, which changed probabilities by
    at most 0.002. 'auto' is bf16-mixed where the processor or GPU has bfloat16 products."""
    float32_matmul: Literal["default", "onednn"] = "default"
    """Who multiplies float32 matrices on a CPU: 'onednn' is faster on AMD processors and rounds to
    bfloat16 on those with AMX. Unused with bf16-mixed."""
    backend: Backend = "auto"
    threads: Count = 0
    """CPU threads: in total, at most one per usable processor; 0 is the default of torch."""
    workers: Count = 0
    """Worker processes: they score and share the threads, at most four per usable processor and as many as fit
    into memory; 0 scores in this process."""
    device: Device = "auto"

    def __post_init__(self) -> None:
        check_fields(self)


ComputeOptions = Annotated[Any, Compute]
"""Type of `**compute`: the fields of `Compute` as keywords."""


def exact(settings: Compute) -> Compute:
    """Return the settings with float32 for 'auto'."""
    # bfloat16 rounds away most effects of variants (docs/how-to/score-variants.md)
    return replace(settings, precision="32-true") if settings.precision == "auto" else settings
