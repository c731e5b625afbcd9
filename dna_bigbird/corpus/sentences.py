"""Where sentences end in English text; needed by readers and by baselines, so at the top."""

import re

_WRITTEN = """al approx cf co corp dr e.g eq eqs etc fig figs gen gov i.e inc jr ltd mr mrs ms mt
prof ref refs rep rev sec sen sgt sr st u.k u.s vs"""
ABBREVIATIONS = frozenset(_WRITTEN.split())
"""Words after which a full stop ends no sentence, without their last full stop."""

_END = re.compile(
    r"(?<!\S)(?P<before>\S*?)(?P<mark>[.!?]+)(?P<close>[\"')\]’”]*)\s+(?=(?P<next>\S))"
)


def sentences(text: str) -> list[str]:
    """Cut text into sentences: at line ends, and after '.', '!' or '?' before white space.

    Example:
        >>> sentences("Dr. A. Smith met e.g. the U.S. team. It won .  then it left\\nAll went home!")
        ['Dr. A. Smith met e.g. the U.S. team.', 'It won .', 'then it left', 'All went home!']
    """
    # A mark that touches its word ends no sentence before a lower-case letter, after an
    # abbreviation or an initial, and after 'No' before a digit. A mark between spaces, as the
    # tokenised papers of arXiv and PubMed have it, always ends one.
    parts = []
    for line in text.splitlines():
        start = 0
        for match in _END.finditer(line):
            if _ends_sentence(match):
                parts.append(line[start : match.end()])
                start = match.end()
        parts.append(line[start:])
    return [sentence.strip() for sentence in parts if sentence.strip()]


def _ends_sentence(match: re.Match) -> bool:
    word = match["before"].lstrip("\"'([‘“")
    if not match["before"]:
        return True
    if match["next"].islower():
        return False
    if match["mark"] != ".":
        return True
    if word.lower() in ("no", "nos"):
        return not match["next"].isdigit()
    return not (word.lower() in ABBREVIATIONS or (len(word) == 1 and word.isupper()))
