"""The options that `text evaluate` and `text predict` share; imports no torch."""

from dataclasses import dataclass
from typing import Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Count
from dna_bigbird.core.shared_options import Backend, Device, MaxUnpackedGib, Resume, Threads
from dna_bigbird.prediction.compute import Compute


@dataclass(frozen=True)
class SetOptions:
    """How a set is read, and performance settings.

    Raises:
        InputError: If a value is not one of the choices, or a number is negative or not whole.
    """

    change: str = ""
    """Options of the task that differ from those of the training: name=value, several separated by
    commas."""
    resume: Resume = False
    max_unpacked_gib: MaxUnpackedGib = 0
    batch_size: Count = 0
    """Examples computed at once: rows; 0 chooses by their length and the device."""
    precision: Literal["auto", "32-true", "bf16-mixed"] = "auto"
    """Arithmetic: '32-true' is float32, 'bf16-mixed' bfloat16; 'auto' is bf16-mixed where the processor
    or GPU has bfloat16 products."""
    backend: Backend = "auto"
    threads: Threads = 0
    device: Device = "auto"

    def __post_init__(self) -> None:
        check_fields(self)

    def compute(self) -> Compute:
        """Return the performance settings."""
        return Compute(
            batch_size=self.batch_size,
            precision=self.precision,
            backend=self.backend,
            threads=self.threads,
            device=self.device,
        )
