"""The cards of the bundled promoter models; their numbers are those of metrics.json."""

from collections.abc import Iterable, Mapping

from dna_bigbird.bundles.card import model_card
from dna_bigbird.labelled.splits import SPLITS
from dna_bigbird.metrics.scores import NO_SCORE, Score
from dna_bigbird.metrics.verdicts import Verdict

PARTS = {
    "random_base": ("random_base", False),
    "permuted": ("permuted", False),
    "genomic": ("genomic", False),
    "epdnew": ("background", True),
}
"""Part of the rows to the type of its negatives, and whether its promoters are the EPDnew sites on the
pieces of hg19, nearly all without a TATA box, in place of the TATA promoters without coordinates."""
BACKGROUND_PARTS = {"sites": ("background", True), "tata": ("background", False)}
"""The same for the model of all promoters."""
DATA = """\
- **TATA promoters:** 2,000 human sequences of EPDnew without coordinates, 300 bp each (249 before the start site,
  51 from it on), read along the gene. **EPDnew sites on the pieces of hg19** (chr22:1-21,000,000 and
  chr17:1-1,000,000), nearly all without a TATA box: 102 in all, so the model has seen few of them.
- {train:,} promoters for training, {validation:,} to choose step, seed and thresholds, {test:,} for the test. Fold 0 of 5,
  seed {seed}; overlapping and nearly identical sequences are always in the same split (`dna-bigbird leakage` finds
  nothing).
- Negatives of each promoter, one of each type: {negatives}. The genomic and background ones of validation
  and test are from chr22:19,500,001-20,500,000, which pretraining did not read.
- Start: an encoder pretrained without labels on chr22:16,050,001-21,000,000 without 19.5-20.5 Mb and on
  chr17:1-1,000,000. It has read no TATA promoter, but it has read the surroundings of EPDnew sites outside of
  19.5-20.5 Mb, without labels."""
SCAN_LIMIT = """\
- **In a genome most calls are false.** Expect {calls:.2g} [{low:.2g}, {high:.2g}] false calls per kb at {threshold:.3f}
  and above, which calls {called:.0%} of the {n} held-out promoters: the threshold was chosen on chr22:19.5-20.0 Mb of
  hg19 for at most 0.1, and this is chr22:20.0-20.5 Mb (windows of 300 bp every 100 bp; {windows:,} that overlap no
  training or validation row and are not within 500 bp of a start site; neighbours are one call).{more}"""
COMMON_LIMITS = """\
- **Not for clinical use; not a medical device.** It says nothing about a person or a variant's harm.
- **Not for variants.** Effects of single bases on its score were not compared with any measurement."""
LIMITS = """\
- **For the question whether a window is a TATA promoter in its place**, not whether there is a promoter: only 59 of the
  training promoters are not from the TATA file. On EPDnew sites of the pieces its AUROC against random windows is
  {epdnew:.3f} (n = {n_epdnew}), that of GC content {gc:.3f}. For all promoters: `bundled-any-promoter`.
- **Windows of 300 bp with the start site at base 250.** The head has weights for 60 parts of 5 bp, and the counts for
  each base: elsewhere in the window a start site is not found. Other lengths and species were not tested.
- **A promoter has a direction.** `predict` reads the given strand by default, as the table does. If the strand is
  unknown, `--strand both` takes the higher probability of the two.
- Its probabilities are for {rivals} negatives per promoter, each counted as 1/{rivals}. In a genome promoters
  are far rarer.
- The training sequences are few; the genomic negatives come from 5.7 Mbp of two chromosomes.
- On 929 other promoters and their negatives AUROC was up to 0.03 lower (`permuted`; no script here repeats it):
  the intervals are over promoters, not over draws of negatives."""
GENERAL_DATA = """\
- **Positives:** the 2,000 TATA promoters and the EPDnew start sites on the pieces of hg19 (chr22:1-21,000,000 and
  chr17:1-1,000,000), nearly all without a TATA box: {sites} in all, so the model has seen few of them.
- **Negatives:** a random window of the pieces for each promoter (`background`), none within 300 bp of a start site.
- **Training:** ridge logistic regression on the mean vector of the bundled encoder, whose weights stay. Both strands.
- **Held out:** each fifth of the promoters once, by a training on the others; the weights here are of the first one,
  whose test rows are those of the card of `bundled-tata`."""
GENERAL_LIMITS = """\
- **The sites are few**: {sites} promoters without a TATA box. The other positives have one.
- **It reads composition, not a start site**: it does not say where in the window or on which strand a promoter is. On
  `sites` it is not clearly ahead of k-mers or of the number of CG alone.
- Artificial negatives (`permuted`, `random_base`) have the composition of promoters and are not recognised: for these
  `bundled-tata`.
- Its probabilities are for one random window per promoter. In a genome promoters are far rarer.
- Windows of 300 bp; other lengths and species were not tested. The negatives come from 5.7 Mbp of two chromosomes."""
CAPTION = (
    "AUROC on test rows with 95 % bootstrap intervals over promoters; {n} rows per column, `epdnew` {n_epdnew}, half of "
    "them promoters. The first three columns have TATA promoters with one type of negatives, `epdnew` the EPDnew sites "
    "of the test fold with random windows (`background`). The log odds of the model are a weighted sum of those of the "
    "network and of the regression on counts by position of the next row, weighted on validation. `one part` was fitted on the "
    "training rows of its column alone, all others on the rows that the model saw; the networks' probabilities are the "
    "means of three seeds, those of the model are of one seed. F1, MCC and thresholds are in metrics.json."
)
GENERAL_CAPTION = (
    "AUROC, mean of five folds, each held out once, with 95 % bootstrap intervals over blocks of the genome and promoters; "
    "`sites` are {sites} rows, EPDnew sites on the pieces with a random window each; `tata` {tata}. The regression was fitted "
    "on the training rows of `sites`, k-mers on all. The model minus each of the others, on the same draws:"
)
ROWS = {
    "BigBird + counts by position": None,
    "the same, higher of both strands": "both_strands",
    "counts by position alone, same rows": "positional_same_rows",
    "counts by position, one part": "positional_one_kind",
    "DeePromoter, same rows": "deepromoter",
    "CNNProm, same rows": "cnnprom",
    "k-mer, same rows": "kmer_same_rows",
    "k-mer, one part": "kmer_one_kind",
    "GC content, same rows": "gc",
}
GENERAL_ROWS = {
    "BigBird": None,
    "k-mer, same rows": "kmer",
    "GC content": "gc",
    "number of CG": "cg",
    "regression on GC content and number of CG": "gc_cg",
}


def _others(rows: dict) -> dict[str, str]:
    return {name: key for name, key in rows.items() if key not in (None, "both_strands")}


def score_table(metrics: dict, parts: Iterable[str] = PARTS, rows: Mapping = ROWS) -> str:
    """Return AUROC as a Markdown table: one row per source of scores, a column per part of the test rows."""
    parts = list(parts)
    lines = ["| | " + " | ".join(f"`{part}`" for part in parts) + " |"]
    lines.append("|---" * (1 + len(parts)) + "|")
    for name, key in rows.items():
        source = metrics["baselines"].get(key) if key else metrics
        if source:
            cells = [_cell(source, "auroc", part) for part in parts]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def general_table(metrics: dict) -> str:
    """Return the table of the model of all promoters."""
    return score_table(metrics, BACKGROUND_PARTS, GENERAL_ROWS)


def _cell(source: dict, score: str, negatives: str) -> str:
    point, low, high = (source[f"{score}{end}_{negatives}"] for end in ("", "_low", "_high"))
    return f"{point:.3f} [{low:.3f}, {high:.3f}]"


def verdicts(metrics: dict, parts: Iterable[str] = PARTS, rows: Mapping = ROWS) -> list[str]:
    """Return for each part and each other source which is better by AUROC.

    Decided by the interval of the difference on the same bootstrap draws.
    """
    lines = []
    for part in parts:
        said = []
        for name, key in _others(rows).items():
            if f"auroc_gain_over_{key}_{part}" not in metrics:
                continue
            gain = Score(
                *(metrics[f"auroc_gain_over_{key}{end}_{part}"] for end in ("", "_low", "_high"))
            )
            told = Verdict(NO_SCORE, NO_SCORE, gain, n=metrics[f"n_{part}"]).in_words(f"**{name}**")
            said.append(f"{name} {gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] ({told})")
        lines.append(f"- `{part}`: against {'; '.join(said)}.")
    return lines


def card(config: dict, metrics: dict) -> str:
    """Return README.md of the model of TATA promoters."""
    counts = {split: metrics[f"n_promoters_{split}"] for split in SPLITS}
    data = DATA.format(
        **counts, seed=metrics["seed"], negatives=config["negatives"].replace(",", ", ")
    )
    limits = LIMITS.format(
        epdnew=metrics["auroc_epdnew"],
        n_epdnew=metrics["n_epdnew"],
        gc=metrics["baselines"]["gc"]["auroc_epdnew"],
        rivals=len(config["negatives"].split(",")),
    )
    both = (
        f" With `--strand both`: {metrics['scan_calls_per_kb_both_strands']:.2g} per kb at "
        f"{metrics['scan_threshold_both_strands']:.3f}, {metrics['scan_promoters_called_both_strands']:.0%} of the promoters."
    )
    return _card(
        "bundled-tata",
        config,
        data,
        score_table(metrics),
        CAPTION.format(n=metrics["n_random_base"], n_epdnew=metrics["n_epdnew"]),
        "The model minus each of the others, AUROC on the same draws:",
        "\n".join(verdicts(metrics)),
        "`python -m tools.bundled` computes these figures again, without those of the networks, which need "
        "training; docs/reference/bundled-models.md says how the model was made and what was tried.",
        limits="\n".join([COMMON_LIMITS, _scan_limit(metrics, both), limits]),
    )


def general_card(config: dict, metrics: dict) -> str:
    """Return README.md of the model of all promoters."""
    sites = metrics["n_sites"] // 2
    return _card(
        "bundled-any-promoter",
        config,
        GENERAL_DATA.format(sites=sites),
        general_table(metrics),
        GENERAL_CAPTION.format(sites=metrics["n_sites"], tata=metrics["n_tata"]),
        "\n".join(verdicts(metrics, BACKGROUND_PARTS, GENERAL_ROWS)),
        "`python -m tools.bundled_general` trains it and computes these figures again.",
        limits="\n".join([COMMON_LIMITS, _scan_limit(metrics), GENERAL_LIMITS.format(sites=sites)]),
    )


def _scan_limit(metrics: dict, more: str = "") -> str:
    return SCAN_LIMIT.format(
        calls=metrics["scan_calls_per_kb"],
        low=metrics["scan_calls_per_kb_low"],
        high=metrics["scan_calls_per_kb_high"],
        threshold=metrics["scan_threshold"],
        called=metrics["scan_promoters_called"],
        n=metrics["n_scan_promoters"],
        windows=metrics["n_scan"],
        more=more,
    )


def _card(name: str, config: dict, data: str, *scores: str, limits: str) -> str:
    facts = model_card(config, {}).split("\n## Scores", 1)[0].rstrip()
    facts = facts.replace(": promoter\n", f": {name}\n", 1)
    sections = [
        facts,
        data,
        "## Held-out scores",
        *scores,
        "## What it must not be used for",
        limits,
    ]
    return "\n\n".join(sections) + "\n"
