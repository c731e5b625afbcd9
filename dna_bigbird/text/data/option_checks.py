"""Checks that settings of several tasks share."""

from typing import Any


def check_room(options: Any, **others: int) -> None:
    """Raise ValueError if a longest question, with so many other tokens, is longer than an input."""
    for name, tokens in others.items():
        least = options.max_question_tokens + tokens
        if getattr(options, name) < least:
            raise ValueError(
                f"--options.{name} {getattr(options, name)} must be at least {least} with "
                f"--options.max_question_tokens {options.max_question_tokens}"
            )
