"""The letters of DNA: A, C, G, T and N."""

BASES = "ACGTN"
IUPAC_AMBIGUOUS = "RYSWKMBDHV"
"""Codes for more than one possible base; all of them become N."""

_TO_BASES = str.maketrans(
    BASES + BASES.lower() + IUPAC_AMBIGUOUS + IUPAC_AMBIGUOUS.lower() + "Uu",
    BASES + BASES + "N" * (2 * len(IUPAC_AMBIGUOUS)) + "TT",
)
_BYTES_TO_BASES = bytes(_TO_BASES.get(code, 0) for code in range(256))
"""The same for ASCII; 0 marks a letter that is not DNA."""
NOT_DNA = 2
IS_UNKNOWN = bytes({0: NOT_DNA, ord("N"): 1}.get(base, 0) for base in _BYTES_TO_BASES)
"""For every ASCII letter: 1 if it is N or becomes N, 0 for another base, or `NOT_DNA`."""
_COMPLEMENT = str.maketrans("ACGTN", "TGCAN")
_FIRST_BASES = str.maketrans("RYSWKMBDHV", "ACCAGACAAA")
_ALLOWED = frozenset(BASES)


class NotDnaError(ValueError):
    """A letter that is not DNA, at a 0-based position."""

    def __init__(self, letter: str, position: int) -> None:
        super().__init__(f"{letter!r} at position {position + 1} is not a DNA letter")
        self.position = position


def normalise(sequence: str) -> str:
    """Return the sequence in upper case over A, C, G, T, N.

    Lower case (soft masking) is kept as sequence, IUPAC codes become N, U becomes T.

    Raises:
        NotDnaError: Naming the first other character and its position, counted from 1.

    Example:
        >>> normalise("acgtRyNu")
        'ACGTNNNT'
    """
    result = sequence.translate(_TO_BASES)
    if not _ALLOWED.issuperset(result):
        position, letter = next((i, c) for i, c in enumerate(result) if c not in _ALLOWED)
        raise NotDnaError(letter, position)
    return result


def first_bases(letters: bytes) -> str:
    """Return letters in upper case, codes for several bases as the first of these in the alphabet (VCF 4.3).

    Example:
        >>> first_bases(b"acgtRyN")
        'ACGTACN'
    """
    return letters.decode().upper().translate(_FIRST_BASES)


def normalise_bytes(letters: bytes, offset: int = 0) -> str:
    """Return what `normalise` gives, several times as fast; `offset`: letters before, for messages.

    Example:
        >>> normalise_bytes(b"acgtRyNu")
        'ACGTNNNT'
    """
    bases = letters.translate(_BYTES_TO_BASES)
    wrong = bases.find(0)
    if wrong < 0:
        return bases.decode("ascii")
    raise NotDnaError(chr(letters[wrong]), offset + wrong)


def reverse_complement(sequence: str) -> str:
    """Return the other strand, read in its own direction, of a normalised sequence.

    Example:
        >>> reverse_complement("AACGN")
        'NCGTT'
    """
    return sequence.translate(_COMPLEMENT)[::-1]
