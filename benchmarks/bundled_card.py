"""The card of the bundled promoter model; its numbers are those of metrics.json."""

from dna_bigbird.bundles.card import model_card
from dna_bigbird.datasets.splits import SPLITS

TYPES = ("random_base", "permuted", "genomic")
"""Types of negatives that it is scored on."""
DATA = """\
- Human TATA promoters of EPDnew, 300 bp each (249 before the start site, 51 from it on), read along
  the gene: 2,000 sequences without coordinates, {train:,} for training, {validation:,} to choose the step
  and the thresholds, and {test:,} for the test. Fold 0 of 5, seed {seed}; overlapping and nearly identical
  sequences are always in the same split (`dna-bigbird leakage` finds nothing).
- Negatives of each training promoter: {negatives}. Permuted ones were left out: with them
  the model was worse on all three types of negatives of the validation (docs/bundled-model.md).
- Pretraining, without labels: chr22:16,050,001-21,000,000 without 19.5-20.5 Mb, and chr17:1-1,000,000, of
  hg19. No promoter was read there, but most genomic negatives, also those of the test, are in these
  pieces: they may be easier for this encoder than windows of other DNA."""
LIMITS = """\
- **Not for clinical use; not a medical device.** It says nothing about a person or a variant's harm.
- **Not for scanning genomes.** On {where} of hg19, without start sites within 500 bp, it calls
  {called:.1%} of the windows (300 bp every 100 bp) at the threshold chosen on validation ({threshold:.3f}), {per_mbp:.0f} separate
  calls per Mbp ({windows:,} windows that overlap no training row); of the windows at a start site it calls {near:.1%}.
- **Human TATA promoters only.** Promoters without a TATA box, which most are, were not in training.
- **Windows of 300 bp with the start site at base 250, read along the gene.** Other lengths, positions
  and species were not tested. The score is the mean over both strands: it does not predict the strand.
- **It uses the order of motifs little.** It hardly separates a promoter from the same promoter with 12
  of its 20 parts permuted (AUROC {permuted:.3f}). The effect of single variants on its score was not compared
  with any measurement: do not interpret it.
- Its probabilities are for {rivals} negatives per promoter, each counted as 1/{rivals}. In a genome promoters
  are far rarer.
- The training sequences are few; the genomic negatives come from 5.7 Mbp of two chromosomes."""
CAPTION = (
    "Test rows, {n} per column (half of them promoters); in brackets 95 % bootstrap intervals over "
    "promoters. Thresholds of F1 are chosen on validation rows with the same negatives. `k-mer, same rows` was "
    "fitted on the rows that the model saw, `k-mer, one kind` only on rows with the negatives of its column."
)
SCANNED = "chr22:19,500,001-20,000,000"
DEEPROMOTER = (
    "A small CNN trained and tested on the same type of negatives is better on every type: DeePromoter has "
    "AUROC 0.988, 0.821 and 0.989 on the same test promoters with `random_base`, `permuted` and "
    "`genomic` negatives (docs/results.md; `snakemake --cores 2 table6 --configfile tests/real/heads.yaml`)."
)
ROWS = {"BigBird": None, "k-mer, same rows": "kmer_same_rows", "k-mer, one kind": "kmer_one_kind"}


def score_table(metrics: dict) -> str:
    """Return the scores as a Markdown table: one row per source of scores, AUROC and F1 per type of negatives."""
    heads = [f"`{negatives}`: {score}" for negatives in TYPES for score in ("AUROC", "F1")]
    lines = ["| | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for name, key in ROWS.items():
        source = metrics["baselines"][key] if key else metrics
        cells = [_cell(source, f"{s}", negatives) for negatives in TYPES for s in ("auroc", "f1")]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(source: dict, score: str, negatives: str) -> str:
    point, low, high = (source[f"{score}{end}_{negatives}"] for end in ("", "_low", "_high"))
    return f"{point:.3f} [{low:.3f}, {high:.3f}]"


def verdicts(metrics: dict) -> list[str]:
    """Return for each type of negatives and each k-mer baseline which is better by AUROC.

    Decided by the interval of the difference on the same bootstrap draws.
    """
    lines = []
    for negatives in TYPES:
        for name, key in list(ROWS.items())[1:]:
            gain, low, high = (
                metrics[f"auroc_gain_over_{key}{end}_{negatives}"] for end in ("", "_low", "_high")
            )
            gain_text = f"AUROC {gain:+.3f} [{low:+.3f}, {high:+.3f}] against {name}"
            if high < 0:
                lines.append(f"- `{negatives}`: {gain_text}: **the baseline is better.**")
            else:
                lines.append(
                    f"- `{negatives}`: {gain_text}{': ahead.' if low > 0 else ': no clear difference.'}"
                )
    return lines


def card(config: dict, metrics: dict) -> str:
    """Return README.md of the bundled model."""
    facts = model_card(config, {}).split("\n## Scores", 1)[0].rstrip()
    counts = {split: metrics[f"n_promoters_{split}"] for split in SPLITS}
    data = DATA.format(
        **counts, seed=metrics["seed"], negatives=config["negatives"].replace(",", ", ")
    )
    rivals = len(config["negatives"].split(","))
    limits = LIMITS.format(
        where=SCANNED,
        called=metrics["scan_called_share"],
        threshold=metrics["scan_threshold"],
        per_mbp=metrics["scan_calls_per_mbp"],
        near=metrics["scan_called_share_near_start_sites"],
        permuted=metrics["auroc_permuted"],
        rivals=rivals,
        windows=metrics["n_scan"],
    )
    sections = [
        facts,
        data,
        "## Held-out scores",
        score_table(metrics),
        CAPTION.format(n=metrics[f"n_{next(iter(TYPES))}"]),
        "\n".join(verdicts(metrics)),
        DEEPROMOTER,
        "`python benchmarks/bundled.py` computes these figures again; docs/bundled-model.md says how the "
        "model was made and what was tried.",
        "## What it must not be used for",
        limits,
    ]
    return "\n\n".join(sections) + "\n"
