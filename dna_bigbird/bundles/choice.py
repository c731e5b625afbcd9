"""The models that a user names, or the bundled model, and labels by name or pattern."""

import difflib
import fnmatch
from collections.abc import Sequence
from pathlib import Path

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.bundled import ANY_PROMOTER, BUNDLED, bundled_model
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.messages import for_reader

NEAR = 3
MAX_PATTERN = 1000
"""Letters; `fnmatch` takes hours for 100,000 opening brackets."""

_MEANINGS = {
    "tata": "a score is the probability of a human TATA promoter with its start site at base 250 of 300, on the strand "
    "that is read, not of any promoter (--model bundled-any-promoter)",
    "any_promoter": "a score is the probability of a human promoter with or without a TATA box against a random "
    "window, on either strand",
}

Model = Bundle | Path | str
"""A bundle, loaded or as a folder."""
Models = Model | Sequence[Model] | None
"""One model, or several whose probabilities are averaged; None for the bundled model."""


def load_models(model: Models) -> list[Bundle]:
    """Load the named models, or the bundled model."""
    if model is None:
        model = bundled_model()
    models = [model] if isinstance(model, Model) else model
    return [x if isinstance(x, Bundle) else load_bundle(x) for x in models]


def notes_on(model: Models, scoring: Sequence[Bundle] = (), strand: str = "") -> list[str]:
    """Return notes on models of the package, one line each: which one was taken, and what it is good for.

    Args:
        scoring: Models whose scores the user reads.
        strand: Strands that they read.
    """
    said = [text for bundle in scoring if (text := score_meaning(bundle, strand))]
    if model is None:
        more = "".join(f"{text}; " for text in said)
        said = [
            f"no --model given: using the bundled model (bundled-tata); {more}what it is good for: dna-bigbird info"
        ]
    return [for_reader(text) for text in said]


def score_meaning(bundle: Bundle, strand: str) -> str:
    """Return what a score of a classifier of the package means, in one line; '' of another bundle."""
    if not is_bundled_classifier(bundle):
        return ""
    ending = "_both_strands" if bundle.config.directional and strand == "both" else ""
    scores = bundle.metrics.scores
    threshold, calls = (scores[f"scan_{x}{ending}"] for x in ("threshold", "calls_per_kb"))
    return (
        f"{_MEANINGS[bundle.folder.name]}; expect {calls:.2g} false calls per kb of genome at a threshold of "
        f"{threshold:.3f}"
    )


def allele_notes(bundles: Sequence[Bundle], option: str, has_anchor: bool) -> list[str]:
    """Return what forbids to read effects of alleles; `option` keeps the anchor, as these windows do or not."""
    lines = []
    if any(is_bundled_classifier(bundle) for bundle in bundles):
        lines.append("the card of this model does not cover variants")
    if bundles[0].config.is_aligned and not has_anchor:
        lines.append(
            "do not read these scores as effects: this model was trained on windows aligned on "
            f"{bundles[0].config.alignment}, and here the changed base is in the middle; keep the anchor with {option}"
        )
    return lines


def is_bundled_classifier(bundle: Bundle) -> bool:
    """Return True for a classifier of the package."""
    return bundle.folder in (BUNDLED, ANY_PROMOTER)


def choose_labels(names: Sequence[str], patterns: str | Sequence[str] | None) -> list[int]:
    """Return the indices of the selected labels, in the order of the model; None selects all.

    `patterns` are names or shell patterns (`*`, `?`, `[…]`), a sequence or one text separated by
    commas; case matters. A text that is the name of a label selects only that label.

    Raises:
        InputError: If one of them matches no label; the message names similar labels.

    Example:
        >>> choose_labels(["GM12878|CTCF", "K562|CTCF", "K562|DNase"], "*|DNase,GM12878*")
        [0, 2]
    """
    if patterns is None:
        return list(range(len(names)))
    texts = patterns.split(",") if isinstance(patterns, str) else patterns
    texts = [text.strip() for text in texts if text.strip()]
    if not texts:
        raise InputError(f"--labels {patterns!r}: names no label; expected names or patterns")
    chosen: set[int] = set()
    for text in texts:
        matches = [i for i, name in enumerate(names) if name == text] or [
            i
            for i, name in enumerate(names)
            if len(text) <= MAX_PATTERN and fnmatch.fnmatchcase(name, text)
        ]
        if not matches:
            raise InputError(f"--labels {text}: {_no_match(text, names)}")
        chosen.update(matches)
    return sorted(chosen)


def _no_match(text: str, names: Sequence[str]) -> str:
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(name.casefold(), name)
    near = [folded[key] for key in difflib.get_close_matches(text.casefold(), folded, NEAR, 0.5)]
    near = near or [name for name in names if text.casefold().strip("*") in name.casefold()][:NEAR]
    if near:
        return f"the model has no such label; near are {', '.join(near)}"
    some = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"the model has no such label; it has {some}"
