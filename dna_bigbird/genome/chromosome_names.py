"""One chromosome under the names that providers give it: `chr1`, `1`, `chr01`, `CHR1`, `NC_000001.10`; `chrM`, `MT`."""

import re
from collections import Counter
from collections.abc import Mapping

from dna_bigbird.core.errors import shortened

_REFSEQ = re.compile(r"NC_0000(0[1-9]|1\d|2[0-4])(\.\d+)?")
_GENBANK = re.compile(r"CM000(66[3-9]|67\d|68[0-6])(\.\d+)?")
"""Human chromosomes from 1 on; the version says which assembly, which names do not."""
_MITOCHONDRION = frozenset({"M", "MT", "NC_012920", "NC_012920.1", "J01415", "J01415.2"})
HG19_CHRM_BP = 16_571
"""UCSC's hg19 has another sequence as chrM (NC_001807) than all others, whose MT has 16,569 bases."""
_PREFIX = re.compile(r"chr(omosome)?_?(?=.)", re.IGNORECASE)
_SHOWN_NAMES = 5


def usual_name(name: str) -> str:
    """Return what the names of one chromosome have in common.

    Example:
        >>> [usual_name(x) for x in ("chr1", "CHR01", "NC_000001.10", "CM000663.2", "chrM", "chrUn_gl1")]
        ['1', '1', '1', '1', 'MT', 'UN_GL1']
    """
    for accession, before_first in ((_REFSEQ, 0), (_GENBANK, 662)):
        if match := accession.fullmatch(name):
            number = int(match[1]) - before_first
            return {23: "X", 24: "Y"}.get(number, str(number))
    bare = _PREFIX.sub("", name, count=1).upper()
    if bare in _MITOCHONDRION:
        return "MT"
    return bare.lstrip("0") or bare if bare.isdecimal() else bare


class ChromosomeNames:
    """The names that a file has for its chromosomes, found by any other usual name.

    Example:
        >>> names = ChromosomeNames({"chr1": 249250621, "chrM": 16571})
        >>> names.find("1"), names.find("chrM"), names.find("MT")
        ('chr1', 'chrM', None)
    """

    def __init__(self, lengths: Mapping[str, int]) -> None:
        self._lengths = lengths
        counts = Counter(map(usual_name, lengths))
        self._by_usual = {usual: name for name in lengths if counts[usual := usual_name(name)] == 1}

    def find(self, name: str) -> str | None:
        """Return the file's name of a chromosome, None if it has none, or several that could be meant."""
        if name in self._lengths:
            return name
        other = self._by_usual.get(usual_name(name))
        is_hg19 = other and usual_name(name) == "MT" and self._lengths[other] == HG19_CHRM_BP
        return None if is_hg19 else other

    def why_not(self, name: str) -> str:
        """Return what a message adds about a chromosome that `find` does not give, or ''."""
        other = self._by_usual.get(usual_name(name))
        if other is None:
            return ""
        return (
            f"; its {other} has {self._lengths[other]:,} bases, but MT has 16,569 and chrM of UCSC's hg19 "
            f"{HG19_CHRM_BP:,}, of another sequence"
        )


def counted_names(counts: Mapping[str, int], rows: str) -> str:
    """Return counts by name for a note, the largest first.

    Example:
        >>> counted_names({"chrUn": 2, "MT": 11}, "rows")
        '11 rows on MT, 2 on chrUn'
    """
    most = Counter(counts).most_common()
    first, *others = [(shortened(name), count) for name, count in most[:_SHOWN_NAMES]]
    text = f"{first[1]:,} {rows} on {first[0]}"
    text += "".join(f", {count:,} on {name}" for name, count in others)
    rest = sum(count for _, count in most[_SHOWN_NAMES:])
    return text + (f", {rest:,} on {len(most) - _SHOWN_NAMES:,} others" if rest else "")
