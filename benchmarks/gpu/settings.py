"""What gpu.py runs: sizes for a GPU, and tiny ones for a test on a CPU."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Sizes:
    """Lengths, widths and repetitions of all parts."""

    lengths: tuple[int, ...] = (4096, 16384, 65536, 262144)
    blocks: tuple[int, ...] = (64, 128)
    heads: int = 12
    head_dim: int = 64
    attention_tokens: int = 65536
    """Tokens of a call of attention: the batch is this over the length, 1 at least."""
    step_tokens: int = 131072
    """Tokens of a training step, likewise."""
    encoder: dict[str, Any] = field(default_factory=dict)
    """Settings of the encoder that differ from the paper's base model."""
    steps: int = 10
    """Most steps that are timed."""
    seconds: float = 5.0
    """Time after which no more steps are timed, but three at least."""
    determinism_steps: int = 20
    determinism_batch: int = 4
    windows: int = 1024
    window_bp: int = 8000
    random_problems: int = 100
    all_problems: bool = True
    compiled: bool = True
    """Also whole models with torch.compile."""
    reduced_mb: int = 512
    """Megabytes of float32 that the processes add up."""

    def batch(self, tokens: int, length: int) -> int:
        """Return how many sequences of a length have about so many tokens."""
        return max(tokens // length, 1)


TINY = Sizes(
    lengths=(256,),
    blocks=(16,),
    heads=2,
    head_dim=16,
    attention_tokens=256,
    step_tokens=256,
    encoder={
        "vocab_size": 512,
        "hidden_size": 32,
        "num_layers": 1,
        "num_heads": 2,
        "ffn_size": 32,
        "max_tokens": 256,
        "block_size": 16,
        "num_random": 1,
    },
    steps=3,
    seconds=0.0,
    determinism_steps=2,
    determinism_batch=1,
    windows=2,
    window_bp=400,
    random_problems=2,
    all_problems=False,
    compiled=False,
    reduced_mb=1,
)
SIZES = {"full": Sizes(), "tiny": TINY}


@dataclass(frozen=True)
class Settings:
    """Device and sizes of a run."""

    device: str
    size: str

    @property
    def sizes(self) -> Sizes:
        """The numbers of `size`."""
        return SIZES[self.size]

    @property
    def backends(self) -> tuple[str, ...]:
        """Our attention backends on this device, the quickest to start first; without `dense`.

        On a CPU without `native` if its kernel is not built: a row must not build it.
        """
        from dna_bigbird.attention.attend import BACKENDS
        from dna_bigbird.attention.kernels.native.library import is_there

        if self.device == "cpu":
            return ("native", "gather", "cpu_chunks") if is_there() else ("gather", "cpu_chunks")
        return tuple(name for name in ("triton", "flex", "gather") if name in BACKENDS)

    @property
    def main_backend(self) -> str:
        """The backend whose rows run first, next to 'auto'."""
        return self.backends[0]

    def stored(self) -> dict:
        """Return the settings as they are saved with a part."""
        return {"device": self.device, "size": self.size, **asdict(self.sizes)}

    def encoder(self, **changes: Any):
        """Return the settings of the encoder with some changes."""
        from dna_bigbird.models.config import EncoderConfig

        return replace(EncoderConfig(**self.sizes.encoder), **changes)
