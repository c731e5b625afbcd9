"""Settings of the summarization task; read without torch."""

from dataclasses import dataclass

SETS = ("arxiv", "pubmed", "bigpatent", "cnn-dailymail", "xsum")
SOURCE_FORMS = ("auto", "cls_sep", "end", "plain")
NEWLINES = ("auto", "<n>", "space", "keep")
LENGTH_FORMULAS = ("paper", "library")
LARGEST_BEAM = 128
"""Each summary of the search has keys and values of its own in memory."""


@dataclass(frozen=True)
class SummarizationOptions:
    """What is read, how it is cut, and how summaries are searched for.

    The defaults are the paper's for arXiv, PubMed and BigPatent; config/text/summarization has those
    of the other sets.
    """

    set: str = "arxiv"
    """Whose files are read: arxiv, pubmed, bigpatent, cnn-dailymail or xsum."""
    max_source_tokens: int = 3072
    """Tokens of a document, special ones included; what is behind is cut off and counted. The paper
    has 1024 for xsum and 2048 for cnn-dailymail."""
    max_target_tokens: int = 256
    """Tokens of a summary, its end included, in training and in search. The paper has 64 for xsum and
    128 for cnn-dailymail."""
    source_form: str = "auto"
    """What stands around a document: cls_sep ([CLS] document [SEP]), end (document </s>, as Pegasus
    models of the Hugging Face library) or plain (nothing, as the published script). 'auto' is end for
    a vocabulary with the piece <n>, which Pegasus has, else cls_sep."""
    newline: str = "auto"
    """What a line end becomes before tokenising: '<n>' (of Pegasus), 'space' in documents ('<n>' in
    summaries, where lines are sentences), or 'keep': as the vocabulary reads it. 'auto' is '<n>' if it is a piece of the
    vocabulary, else 'keep' if the vocabulary can write a line end, else 'space'."""
    skip_empty: bool = False
    """Leave out, and count, examples without a document or without a summary; else they are errors."""
    label_smoothing: float = 0.1
    """Share of the target that is spread over the other pieces in training."""
    count_padding: bool = False
    """Add the loss at padding to the sum, as the published script does; it trains on nothing then."""
    beam_size: int = 5
    """Summaries kept at the same time in the search; at most 128."""
    length_penalty: float = 0.8
    """Exponent of the length by which log-probabilities are divided: 0 favours short summaries. The
    paper has 0.7 for xsum."""
    length_formula: str = "paper"
    """'paper': ((5 + length) / 6) ** penalty; 'library': length ** penalty and the stopping rules of the
    Hugging Face library."""
    early_stopping: bool = False
    """Of 'library' alone: stop when `beam_size` summaries have ended."""
    min_target_tokens: int = 0
    """Tokens before which a summary may not end."""

    def __post_init__(self) -> None:
        choices = {
            "set": SETS,
            "source_form": SOURCE_FORMS,
            "newline": NEWLINES,
            "length_formula": LENGTH_FORMULAS,
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"--options.{name} {getattr(self, name)!r} is not one of {', '.join(allowed)}"
                )
        least = {"max_source_tokens": 3, "max_target_tokens": 2, "beam_size": 1}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise ValueError(f"--options.{name} {getattr(self, name)} must be at least {value}")
        if self.beam_size > LARGEST_BEAM:
            raise ValueError(f"--options.beam_size {self.beam_size} must be at most {LARGEST_BEAM}")
        if not 0 <= self.min_target_tokens < self.max_target_tokens:
            raise ValueError(
                f"--options.min_target_tokens {self.min_target_tokens} must be at least 0 and below "
                f"--options.max_target_tokens {self.max_target_tokens}"
            )
        if self.early_stopping and self.length_formula != "library":
            raise ValueError("--options.early_stopping true needs --options.length_formula library")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(
                f"--options.label_smoothing {self.label_smoothing} must be at least 0 and below 1"
            )
