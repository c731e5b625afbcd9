"""Settings of HotpotQA."""

from dataclasses import dataclass

UNITS = ("words", "pieces")


@dataclass(frozen=True)
class HotpotQaOptions:
    """How HotpotQA is read, learnt and decoded."""

    max_tokens: int = 4096
    """Tokens of one question with its paragraphs; whole sentences that do not fit are left out."""
    max_question_tokens: int = 128
    """Tokens that are kept of a question."""
    top_spans: int = 50
    """Best starts and best ends whose pairs can become the answer."""
    max_answer_length: int = 30
    """Longest answer in `answer_unit`."""
    answer_unit: str = "words"
    """What `max_answer_length` counts: 'words' between spaces, as in the paper, or 'pieces', as in its
    code."""
    fact_threshold: float = 0.5
    """Probability from which a sentence is a supporting fact."""
    search_threshold: bool = False
    """Take the threshold among 0, 0.1, … 1 with the best joint F1 instead, which needs the gold
    answers of the very examples that are scored; the metrics say which it was."""

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_question_tokens", "top_spans", "max_answer_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"--options.{name} {getattr(self, name)} must be at least 1")
        if self.max_tokens < 4:
            raise ValueError(
                f"--options.max_tokens {self.max_tokens} leaves no room for a question"
            )
        if self.answer_unit not in UNITS:
            raise ValueError(
                f"--options.answer_unit {self.answer_unit!r} is not one of {', '.join(UNITS)}"
            )
        if not 0 <= self.fact_threshold <= 1:
            raise ValueError(f"--options.fact_threshold {self.fact_threshold} must be from 0 to 1")
