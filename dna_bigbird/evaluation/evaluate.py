"""`dna-bigbird evaluate`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dna_bigbird.bundles.card_scores import READ_COUNTS
from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame, read_table
from dna_bigbird.core.paths import InputPath, OutputFolder, named_paths, next_to, optional_path
from dna_bigbird.core.progress import shows_progress
from dna_bigbird.core.results import Rows, score_name
from dna_bigbird.core.settings import Count, Positive
from dna_bigbird.core.shared_options import (
    BootstrapSeed,
    Progress,
    ScoredBundle,
    SetGenome,
    Threads,
)
from dna_bigbird.metrics.scores import ModelMetrics, Score, parts_in, shown
from dna_bigbird.metrics.verdicts import FEWEST_ROWS, NOT_CLEAR, TOO_FEW, compared
from dna_bigbird.models.label_types import headlines_in

if TYPE_CHECKING:
    from dna_bigbird.bundles.metrics import Estimate, Metrics


READ_IN = ("pretraining", "an earlier fine-tuning")
"""What the keys of `READ_COUNTS` count, in their order."""


def evaluation_summary(
    output: Path, metrics: "Metrics", label_aurocs: Sequence[tuple[str, dict[str, float]]]
) -> str:
    """Return the lines that the command prints; `label_aurocs` by label, then by source."""
    name, *others = headlines_in(metrics.scores)
    sources = {"model": metrics, **metrics.baselines}
    width = max(map(len, sources))
    lines = [
        f"{output}: {score_name(name)} on {metrics.n:,} test windows, 95 % interval in brackets"
    ]
    known = ModelMetrics.from_json(metrics.stored)
    if known.has_counts:
        lines.append(f"  the model is {known.described}; counts: its counts alone")
    lines += [
        f"  {who:<{width}}  {_shown(each.score(name))}"
        for who, each in sources.items()
        if who == "model" or each.score(name).value is not None  # a constant has no correlation
    ]
    verdicts = compared(known, name)
    for baseline, verdict in verdicts:
        gain = _shown(verdict.gain, "+")
        lines.append(f"  model minus {baseline}: {gain}: {verdict.in_words(baseline)}")
    if "accuracy" in metrics.scores or "pearson" in metrics.scores:
        for other in others:
            values = (
                f"{who} {_shown(each.score(other))}"
                for who, each in sources.items()
                if each.score(other).value is not None
            )
            lines.append(f"  {score_name(other)}: {', '.join(values)}")
    for label, aurocs in label_aurocs:
        values = (f"{who} {shown(value)}" for who, value in aurocs.items())
        lines.append(f"  {label}: {', '.join(values)}")
    lines += _read_before(metrics)
    if len(verdicts) > 1:
        best, verdict = verdicts[0]
        higher = ""
        if verdict.outcome in (NOT_CLEAR, TOO_FEW) and verdict.gain.value is not None:
            higher = f"{best if verdict.gain.value < 0 else 'the model'} scores higher, but "
        needed = f" ({FEWEST_ROWS} needed)" if verdict.outcome == TOO_FEW else ""
        words = f"{higher}{verdict.in_words(best)}{needed}"
        lines.append(f"  against {best}, the best baseline: {words}")
    return "\n".join(lines)


def _shown(score: "Estimate | Score", sign: str = "") -> str:
    if score.value is None:
        return "not defined"
    value = f"{score.value:{sign}.3f}"
    if score.low is None or score.high is None:
        return value
    return f"{value} [{score.low:{sign}.3f}, {score.high:{sign}.3f}]"


def _read_before(metrics: "Metrics") -> list[str]:
    counts = {what: metrics.scores.get(key) for what, key in zip(READ_IN, READ_COUNTS, strict=True)}
    if metrics.scores.get("block_bp") == 0:
        return []
    if not any(isinstance(count, int) for count in counts.values()):
        return ["  test windows that the encoder read before: unknown"]
    told = ", ".join(
        f"{f'{count:,}' if isinstance(count, int) else 'unknown'} in {what}"
        for what, count in counts.items()
    )
    return [f"  test windows that share bases with what the encoder read before: {told}"]


Table = Literal["scores", "per_label", "calibration", "curves", "profiles", "probabilities"]
SHOWN_LABELS = 12


@dataclass(frozen=True)
class Evaluation(Rows):
    """Scores of a model and its baselines on the test rows."""

    output: Path
    """The bundle with these scores."""
    report: Path
    """Folder with scores.h5 and the tables."""
    metrics: "Metrics"
    """metrics.json of the bundle."""
    num_labels: int
    label_aurocs: list[tuple[str, dict[str, float]]] = field(default_factory=list)
    """Each label with the AUROC of the model and of each baseline, if there are at most `SHOWN_LABELS`."""

    @checked()
    def to_dataframe(self, table: Table = "scores") -> DataFrame:
        """Return a table of the evaluation.

        Args:
            table: 'scores' has a row per score of the model and of each baseline: source, score, value,
                low, high, n. The others are the files of the report: 'per_label' has a row per label,
                'calibration' and 'curves' are for pictures, as 'profiles' of tracks, and 'probabilities' has a row per
                validation and test row of the set: row, then the labels.
        """
        if table == "scores":
            return self.metrics.to_dataframe()
        if table == "probabilities":
            from dna_bigbird.labelled.scores import read_scores

            return read_scores(self.report / "scores.h5").to_dataframe()
        return read_table(self.report / f"{table}.tsv")

    def summary(self) -> str:
        """Return the AUROC of the model and of each baseline, with intervals, and what was read before."""
        return evaluation_summary(self.output, self.metrics, self.label_aurocs)


@checked()
@shows_progress
def evaluate(
    genome: SetGenome | None = None,
    model: InputPath | None = None,
    data: InputPath | None = None,
    output: ScoredBundle | None = None,
    report: OutputFolder | None = None,
    baselines: dict[str, InputPath] = {},  # noqa: B006 - --help shows the default
    strand: Literal["both", "forward"] | None = None,
    seed: BootstrapSeed = 0,
    batch_size: int = 64,
    replicates: Positive = 1000,
    block_bp: Count = 0,
    threads: Threads = 0,
    progress: Progress = True,
) -> Evaluation:
    """Score a fine-tuned model and its baselines on the held-out rows.

    Probabilities are computed in float32. Thresholds are chosen on validation rows (best F1)
    for the model and for each baseline; every score is of test rows.

    Examples:
        dna-bigbird evaluate --data set.h5 --model model --output scored
        dna-bigbird evaluate --genome hg19.fa --data chromatin.h5 --model results/trained/chromatin \\
            --output results/models/chromatin --report results/evaluation/chromatin --baselines kmer=kmer.h5 gc=gc.h5

    Args:
        model: Model bundle: a folder of `dna-bigbird finetune` or `ensemble`.
        data: Labelled set: an HDF5 file.
        report: Detailed scores: a folder to write, with scores.h5 (probabilities of validation and
            test rows), per_label.tsv, calibration.tsv and curves.tsv, of tracks profiles.tsv; by default the
            path of `output` with `.report` added.
        baselines: Score files of `dna-bigbird baseline` by name: `kmer=kmer.h5 gc=gc.h5`. If the model has
            k-mer counts next to its network, these alone are the baseline `counts`.
        strand: Strands to read: 'both' scores the mean of a window and its reverse complement,
            'forward' the window as the set orients it: a promoter with its gene, a bin on the
            forward strand. Default: 'forward' for a directional model, for which 'both' is the higher
            probability of the two, else 'both'.
        batch_size: Examples computed at once.
        replicates: Bootstrap draws: of the test rows, for each interval.
        block_bp: Bases in a block of the genome whose rows the bootstrap draws together: 0 takes
            the longest of 1 Mb, 500, 200, 100, 50, 20 and 10 kb that gives at least 20 blocks.
    """
    from dna_bigbird.bundles.bundle import load_bundle
    from dna_bigbird.bundles.card import model_card
    from dna_bigbird.bundles.metrics import Metrics
    from dna_bigbird.bundles.save import write_scored_bundle
    from dna_bigbird.core.files import sha256_of
    from dna_bigbird.core.limits import use_threads
    from dna_bigbird.core.rounding import rounded
    from dna_bigbird.evaluation import evaluate_run as steps
    from dna_bigbird.labelled.labelled_set import open_labelled_set
    from dna_bigbird.labelled.scores import read_scores, write_scores
    from dna_bigbird.training.seen_rows import count_seen_rows

    model, data, output = named_paths(model=model, data=data, output=output)
    use_threads(threads)
    bundle = load_bundle(model)
    labelled = open_labelled_set(data, optional_path(genome))
    steps.check_labels(bundle, labelled)
    strand = strand or bundle.config.default_strand
    checksum = sha256_of(data)
    held_out = steps.ScoresOnTest(
        labelled,
        seed=seed,
        replicates=replicates,
        block_bp=block_bp,
        scaling=bundle.config.calibration,
    )
    scored = {name: Path(path) for name, path in baselines.items()}
    steps.check_baselines(scored, held_out, data, checksum, strand)
    report = Path(report or next_to(output, "report"))
    for name, part in steps.with_counts(bundle).items():
        scores = steps.model_scores(
            part,
            labelled,
            held_out.rows,
            batch_size=batch_size,
            checksum=checksum,
            strand=strand,
            name=name,
        )
        if name == steps.MODEL:
            write_scores(report / "scores.h5", scores)
        held_out.score(scores, name)
        del scores  # a large set's scores take gigabytes; one source is in memory at a time
    for name, path in scored.items():
        held_out.score(read_scores(path), name)
    held_out.score_trivial(labelled, checksum)
    held_out.write(report)
    metrics = held_out.metrics() | {"step": bundle.metrics.step, "strand": strand}
    metrics |= {"n_train_rows": len(labelled.rows("train"))}
    metrics |= {"n_validation_rows": len(held_out.validation)}
    metrics |= count_seen_rows(bundle, labelled, held_out.test)
    metrics |= parts_in(bundle.metrics.scores)
    metrics = rounded(metrics)
    write_scored_bundle(bundle.folder, output, metrics, model_card(bundle.config, metrics))
    return Evaluation(
        output,
        report,
        Metrics.from_json(metrics),
        len(labelled.label_names),
        held_out.label_aurocs(SHOWN_LABELS),
    )
