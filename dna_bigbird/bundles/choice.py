"""The models that a user names, or the bundled model, and labels by name or pattern."""

import difflib
import fnmatch
from collections.abc import Sequence
from pathlib import Path

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.bundled import bundled_model
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.messages import for_reader

NEAR = 3
MAX_PATTERN = 1000
"""Letters; `fnmatch` takes hours for 100,000 opening brackets."""

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


def notes_on(model: Models) -> list[str]:
    """Return notes for a user who named no model, one line each."""
    if model is not None:
        return []
    text = (
        f"no --model given: using the bundled model ({bundled_model().name}); "
        "what it is good for: dna-bigbird info"
    )
    return [for_reader(text)]


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
