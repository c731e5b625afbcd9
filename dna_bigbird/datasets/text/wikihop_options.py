"""Settings of WikiHop."""

from dataclasses import dataclass


@dataclass(frozen=True)
class WikiHopOptions:
    """How WikiHop is read and learnt."""

    masked: bool = False
    """Take the masked files of the official archive, in which candidates are `___MASK5___`."""
    max_tokens: int = 4096
    """Tokens of one question with its documents; from longer ones sentences are left out."""
    max_sentences: int = 200
    """Sentences of one question's documents."""
    label_smoothing: float = 0.0
    """Share of the target that is spread over all candidates in training."""

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_sentences"):
            if getattr(self, name) < 1:
                raise ValueError(f"--options.{name} {getattr(self, name)} must be at least 1")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(
                f"--options.label_smoothing {self.label_smoothing} must be at least 0 and below 1"
            )
