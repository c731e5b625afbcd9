"""Numbers in the text of a file or an option: ASCII digits, as every program writes them.

`int` and `float` also take `1_0`, Arabic digits and blanks, and `int` raises for more than 4,300 digits.
"""

import math
import re
from decimal import Decimal

_WHOLE = re.compile(r"-?[0-9]{1,18}")
"""18 digits: what int64 always holds."""
_MOST_DIGITS = 28
"""Of `shortest`: what Decimal keeps of a number."""


def whole_number(text: str) -> int | None:
    """Return a whole number of at most 18 digits, None for any other text.

    Example:
        >>> [whole_number(text) for text in ("-12", "007", "1_0", "1.0", "+1", " 1", "9" * 19)]
        [-12, 7, None, None, None, None, None]
    """
    return int(text) if _WHOLE.fullmatch(text) else None


def decimal_number(text: str) -> float | None:
    """Return a number with or without decimals or exponent, also nan and inf; None for any other text.

    Example:
        >>> [decimal_number(text) for text in ("1.50", "-2e3", "inf", "1_0.5", "1,5", " 1")]
        [1.5, -2000.0, inf, None, None, None]
    """
    if not text.isascii() or "_" in text or text != text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        return None


def shortest(text: str) -> str:
    """Return the one spelling of a finite number, so that equal numbers are equal texts; other texts as they are.

    Example:
        >>> [shortest(text) for text in ("1", "1.0", "01", "+1e0", "-0.0", "0.50", "1e999", "1,5", "x")]
        ['1', '1', '1', '1', '0', '0.5', '1e999', '1,5', 'x']
    """
    number = decimal_number(text)
    if number is None or not math.isfinite(number) or len(text) > _MOST_DIGITS:
        return text
    return format((Decimal(text) + 0).normalize(), "f")
