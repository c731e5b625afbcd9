"""The card of the bundled promoter model; its numbers are those of metrics.json."""

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
DATA = """\
- **TATA promoters:** 2,000 human sequences of EPDnew without coordinates, 300 bp each (249 before the start site,
  51 from it on), read along the gene. **EPDnew sites on the pieces of hg19** (chr22:1-21,000,000 and
  chr17:1-1,000,000), nearly all without a TATA box: 102 in all, so the model has seen few of them.
- {train:,} promoters for training, {validation:,} to choose step, seed and thresholds, {test:,} for the test. Fold 0 of 5,
  seed {seed}; overlapping and nearly identical sequences are always in the same split (`dna-bigbird leakage` finds
  nothing).
- Negatives of each promoter, one of each type: {negatives}. The genomic and background ones of validation
  and test are from chr22:19,500,001-20,500,000, which pretraining did not read.
- Start: the bundled encoder, pretrained without labels on chr22:16,050,001-21,000,000 without 19.5-20.5 Mb and on
  chr17:1-1,000,000. It has read no TATA promoter, but it has read the surroundings of EPDnew sites outside of
  19.5-20.5 Mb, without labels."""
LIMITS = """\
- **Not for clinical use; not a medical device.** It says nothing about a person or a variant's harm.
- **Not for scanning genomes.** On {where} of hg19, without start sites within 500 bp, it calls
  {called:.1%} of the windows (300 bp every 100 bp, both strands) at the threshold chosen on validation ({threshold:.3f}), {per_mbp:.0f} separate
  calls per Mbp ({windows:,} windows that overlap no training row); of the windows at a start site it calls {near:.1%}.
- **Human TATA promoters above all.** Only 59 of the training promoters are not from the TATA file; on EPDnew sites of the
  pieces its AUROC against random windows is {epdnew:.3f} (n = {n_epdnew}), that of GC content {gc:.3f}.
- **Windows of 300 bp with the start site at base 250.** The head has weights for 60 parts of 5 bp: elsewhere in the
  window a start site is not found. Other lengths and species were not tested.
- **A promoter has a direction.** The table reads the given strand. `predict` takes the higher of both strands by
  default, which is right if the strand is unknown; with `--strand forward` it reads as the table does.
- The effect of single variants on its score was not compared with any measurement: do not interpret it.
- Its probabilities are for {rivals} negatives per promoter, each counted as 1/{rivals}. In a genome promoters
  are far rarer.
- The training sequences are few; the genomic negatives come from 5.7 Mbp of two chromosomes."""
CAPTION = (
    "AUROC on test rows with 95 % bootstrap intervals over promoters; {n} rows per column, `epdnew` {n_epdnew}, half of "
    "them promoters. The first three columns have TATA promoters with one type of negatives, `epdnew` the EPDnew sites "
    "of the test fold with random windows (`background`). `one part` was fitted on the "
    "training rows of its column alone, all others on the rows that the model saw; the networks' probabilities are the "
    "means of three seeds, those of the model are of one seed. F1, MCC and thresholds are in metrics.json."
)
SCANNED = "chr22:19,500,001-20,000,000"
ROWS = {
    "BigBird": None,
    "BigBird, higher of both strands": "both_strands",
    "DeePromoter, same rows": "deepromoter",
    "CNNProm, same rows": "cnnprom",
    "k-mer, same rows": "kmer_same_rows",
    "k-mer, one part": "kmer_one_kind",
    "GC content, same rows": "gc",
}
OTHERS = {name: key for name, key in ROWS.items() if key not in (None, "both_strands")}


def score_table(metrics: dict) -> str:
    """Return AUROC as a Markdown table: one row per source of scores, a column per part of the test rows."""
    lines = ["| | " + " | ".join(f"`{part}`" for part in PARTS) + " |", "|---" * 5 + "|"]
    for name, key in ROWS.items():
        source = metrics["baselines"].get(key) if key else metrics
        if source:
            cells = [_cell(source, "auroc", part) for part in PARTS]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(source: dict, score: str, negatives: str) -> str:
    point, low, high = (source[f"{score}{end}_{negatives}"] for end in ("", "_low", "_high"))
    return f"{point:.3f} [{low:.3f}, {high:.3f}]"


def verdicts(metrics: dict) -> list[str]:
    """Return for each part and each other source which is better by AUROC.

    Decided by the interval of the difference on the same bootstrap draws.
    """
    lines = []
    for part in PARTS:
        said = []
        for name, key in OTHERS.items():
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
    """Return README.md of the bundled model."""
    facts = model_card(config, {}).split("\n## Scores", 1)[0].rstrip()
    counts = {split: metrics[f"n_promoters_{split}"] for split in SPLITS}
    data = DATA.format(
        **counts, seed=metrics["seed"], negatives=config["negatives"].replace(",", ", ")
    )
    limits = LIMITS.format(
        where=SCANNED,
        called=metrics["scan_called_share"],
        threshold=metrics["scan_threshold"],
        per_mbp=metrics["scan_calls_per_mbp"],
        near=metrics["scan_called_share_near_start_sites"],
        epdnew=metrics["auroc_epdnew"],
        n_epdnew=metrics["n_epdnew"],
        gc=metrics["baselines"]["gc"]["auroc_epdnew"],
        rivals=len(config["negatives"].split(",")),
        windows=metrics["n_scan"],
    )
    sections = [
        facts,
        data,
        "## Held-out scores",
        score_table(metrics),
        CAPTION.format(n=metrics["n_random_base"], n_epdnew=metrics["n_epdnew"]),
        "The model minus each of the others, AUROC on the same draws:",
        "\n".join(verdicts(metrics)),
        "`python -m tools.bundled` computes these figures again, without those of the networks, which need "
        "training; docs/bundled-model.md says how the model was made and what was tried.",
        "## What it must not be used for",
        limits,
    ]
    return "\n\n".join(sections) + "\n"
