"""The planted regulatory grammar: every number that decides what is planted and what it means.

The factors and their matrices are real. The rules that join them (who needs which partner at
which distance) are invented for the demo, after patterns known from real genomes, so that the
truth is known exactly. `docs/reference/demo-data.md` explains them in words.

Offsets are 0-based, counted in the direction of transcription from the first transcribed base
(offset 0, which the literature calls +1; its -1 is offset -1, its +28 is offset 27).
"""

from dataclasses import dataclass

PROMOTER_UPSTREAM_BP = 450
PROMOTER_DOWNSTREAM_BP = 350
"""Bases kept free of other elements before and after a start site, the start included after."""
FLANK_OFFSETS = (-400, 300)
"""CpG-rich flank, half-open."""
FLANK_TAPER_BP = 100
"""The share of redrawn bases falls to 0 over this many bases at either end of the flank."""
FLANK_SHARE = {"CpG": 0.6, "TATA": 0.3}
"""Share of bases redrawn in the middle of the flank, by promoter class."""
TATA_PROMOTERS = 0.35
"""Share of promoters with a TATA box."""
TATA_OFFSET = -32
"""Offset of the first TBP column; the first T of TATAAAA, its second column, is at -31."""
INR_OFFSET = -2
"""Offset of the first column of the initiator; its A is the start site itself."""
DPE_OFFSET = 25
"""Offset of the first DPE column (+26 in JASPAR POL005.1); the core motif starts at +28."""
DPE_PROMOTERS = 0.5
"""Share of TATA-less promoters with a downstream promoter element."""
YY1_OFFSETS = (40, 60)
"""Offsets between which YY1's first column lies."""
YY1_PROMOTERS = 0.4
PROXIMAL_START = -40
"""Proximal sites end at or before this offset and go upstream from there."""
PROXIMAL_GAP_BP = (4, 18)
PROXIMAL_COPIES = {"SP1": (2, 3), "NRF1": (1, 2), "NFYA": (1, 2), "GABPA": (1, 3)}
PROXIMAL_KINDS = (0.3, 0.4, 0.3)
"""Chances that a promoter has one, two or three kinds of proximal factor."""

LEAST_SHARE = 0.85
"""Planted sites score at least this share of their matrix's best score."""
LEAST_SHARE_CORE = 0.8
"""The same for initiator and DPE, whose matrices say less."""
DECOY_SHARE = 0.75
"""A decoy is a site with one base changed, so that it scores less than this share."""

CLUSTER_COPIES = {"CTCF": (1, 2), "REST": (1, 2)}
DEFAULT_COPIES = (3, 5)
"""Copies of the motif in a homotypic cluster."""
CLUSTER_GAP_BP = (8, 35)
SHORT_PAIR_BP = (30, 60)
"""Distance between the centres of a site and its near partner."""
MID_PAIR_BP = (150, 400)
LONG_PAIR_BP = (1000, 3000)
UNIT_SPACING_BP = (150, 330)
"""Unplanted bases between neighbouring distal units."""
CONVERGENT_SHARE = 0.65
"""Share of CTCF neighbours at a loop's distance that are turned towards each other."""

TF_PEAK_BP = (240, 360)


@dataclass(frozen=True)
class Unit:
    """A distal unit: one element, or two that belong together."""

    category: str
    """`cluster`: copies of `first`; `decoy`: a damaged site of `first`; `short`: pairs of both in one
    element; `mid`: a cluster of each, in two elements."""
    first: str
    second: str = ""


DECK: tuple[tuple[Unit, int], ...] = (
    (Unit("cluster", "CTCF"), 9), (Unit("cluster", "REST"), 5), (Unit("cluster", "JUN"), 5),
    (Unit("cluster", "CEBPB"), 4), (Unit("cluster", "TEAD1"), 3),
    (Unit("short", "STAT1", "IRF1"), 6), (Unit("cluster", "STAT1"), 3), (Unit("cluster", "IRF1"), 2),
    (Unit("short", "GATA1", "RUNX1"), 6), (Unit("cluster", "GATA1"), 3), (Unit("cluster", "RUNX1"), 2),
    (Unit("mid", "FOXA1", "HNF4A"), 6), (Unit("cluster", "FOXA1"), 2), (Unit("cluster", "HNF4A"), 2),
    (Unit("mid", "MEF2A", "TEAD1"), 6), (Unit("cluster", "MEF2A"), 3),
    (Unit("mid", "JUN", "CEBPB"), 2), (Unit("mid", "CEBPB", "TEAD1"), 2), (Unit("mid", "TEAD1", "JUN"), 2),
    (Unit("decoy", "CTCF"), 1), (Unit("decoy", "REST"), 1), (Unit("decoy", "JUN"), 1),
    (Unit("decoy", "CEBPB"), 1), (Unit("decoy", "TEAD1"), 1),
)  # fmt: skip
"""Distal units and how often each is in one deck. A deck is shuffled and laid out from left
to right, then the next one, so that about every 50 kb holds every kind."""
CTCF_STRIDE = 4
"""CTCF units are put into the deck in pairs, this many units apart: 1 to 3 kb on the genome."""


@dataclass(frozen=True)
class Label:
    """A chromatin label, its group, and the rule in words."""

    name: str
    group: str
    rule: str


LABELS: tuple[Label, ...] = (
    Label("SP1", "TF", "SP1 sites of a promoter"),
    Label("NRF1", "TF", "NRF1 sites of a promoter"),
    Label("NFYA", "TF", "NFYA sites of a promoter"),
    Label("GABPA", "TF", "GABPA sites of a promoter"),
    Label("YY1", "TF", "YY1 site downstream of a start"),
    Label("TBP", "TF", "TATA box of a promoter"),
    Label("CTCF", "TF", "CTCF sites"),
    Label("REST", "TF", "REST sites"),
    Label("JUN", "TF", "FOS::JUN sites"),
    Label("CEBPB", "TF", "CEBPB sites"),
    Label("TEAD1", "TF", "TEAD1 sites"),
    Label("STAT1", "TF", "STAT1 sites with an IRF1 site 30-60 bp away"),
    Label("GATA1", "TF", "GATA1 sites with a RUNX1 site 30-60 bp away"),
    Label("FOXA1", "TF", "FOXA1 sites with an HNF4A site 150-400 bp away"),
    Label("MEF2A", "TF", "MEF2A sites with a TEAD1 site 150-400 bp away"),
    Label(
        "EP300",
        "TF",
        "JUN, CEBPB or TEAD1 sites with a site of another of the three 150-400 bp away",
    ),
    Label(
        "RAD21",
        "TF",
        "CTCF sites with a convergent CTCF site 1-3 kb away: + on the left, - on the right",
    ),
    Label("POLR2A", "TF", "promoters with a FOS::JUN site 1-3 kb from the start"),
    Label(
        "DNase_common",
        "DNase",
        "promoters with at least two kinds of proximal factor, and CTCF sites",
    ),
    Label("DNase_enhancer", "DNase", "elements with a STAT1, GATA1, FOXA1, MEF2A or EP300 peak"),
    Label("H3K4me3", "Histone", "promoters with at least two kinds of proximal factor, -300..+900"),
    Label("H3K27ac", "Histone", "+-350 of EP300 elements and -400..+500 of POLR2A promoters"),
    Label(
        "H3K27me3",
        "Histone",
        "promoters without POLR2A that have a REST site 1-3 kb away, -700..+700, "
        "and +-400 of the element with that site",
    ),
    Label("H3K36me3", "Histone", "+200..+1200 of POLR2A promoters"),
)
