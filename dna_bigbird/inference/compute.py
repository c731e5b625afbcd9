"""How scores are computed, never what they are; read without torch."""

from dataclasses import dataclass
from typing import Annotated, Literal

from dna_bigbird.choices import check_fields
from dna_bigbird.errors import InputError
from dna_bigbird.shared_options import Backend, Device


@dataclass(frozen=True)
class Compute:
    """Settings of everything that predicts: they change time and memory, not the scores.

    Scores move by rounding only; docs/predicting.md says by how much.

    Raises:
        InputError: If a value is not one of the choices, or a number is negative or not whole.
    """

    batch_size: int = 0
    """Windows computed at once; 0 goes by their length and what suits the device."""
    precision: Literal["auto", "32-true", "bf16-mixed"] = "auto"
    """'32-true' is float32, 'bf16-mixed' bfloat16 autocast: scores move by up to a hundredth. 'auto'
    takes the latter where the processor or GPU has bfloat16 products."""
    float32_matmul: Literal["default", "onednn"] = "default"
    """'onednn' multiplies float32 faster on AMD processors and rounds to bfloat16 on those with AMX.
    No matter for bf16-mixed."""
    backend: Backend = "auto"
    threads: int = 0
    """CPU threads in all, at most one per usable processor; 0 leaves the choice to torch."""
    workers: int = 0
    """Processes that score and share the threads, at most four per usable processor and what memory
    holds; 0 scores in this process."""
    device: Device = "auto"

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("batch_size", "threads", "workers"):
            if getattr(self, name) < 0:
                raise InputError(f"--{name} {getattr(self, name)} must not be negative")


ComputeOptions = Annotated[object, Compute]
"""Type of `**compute`: the fields of `Compute` as keywords."""
