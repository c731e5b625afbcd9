"""Checks that settings of several tasks share."""


def check_set(name: str, known: tuple[str, ...]) -> None:
    """Raise ValueError if a set is unknown."""
    if name not in known:
        raise ValueError(f"--options.set {name!r} is not one of {', '.join(known)}")


def check_tokens(max_tokens: int) -> None:
    """Raise ValueError if a pair of texts has no room."""
    if max_tokens < 5:
        raise ValueError(
            f"--options.max_tokens {max_tokens} must be at least 5: [CLS] a [SEP] b [SEP]"
        )
