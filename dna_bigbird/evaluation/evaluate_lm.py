"""`dna-bigbird evaluate-lm`."""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import GenomePath, InputPath, JsonOutput, TsvOutput
from dna_bigbird.core.progress import shows_progress
from dna_bigbird.core.results import Rows
from dna_bigbird.core.settings import Positive, Range
from dna_bigbird.core.shared_options import Progress, ScoredBundle, Threads
from dna_bigbird.evaluation.language_baselines import LanguageBaselines
from dna_bigbird.metrics.scores import ModelMetrics, score_text
from dna_bigbird.metrics.verdicts import best_masked, on_unseen, part_rows

if TYPE_CHECKING:
    from dna_bigbird.bundles.metrics import Metrics


@dataclass(frozen=True)
class LanguageEvaluation(Rows):
    """Scores of a pretrained model and its baselines on held-out documents."""

    output: Path
    """The bundle with these scores."""
    report: Path
    """JSON file with the scores and a description of each baseline."""
    metrics: "Metrics"
    """metrics.json of the bundle."""

    def to_dataframe(self) -> DataFrame:
        """Return a row per score of the model and of each baseline: source, score, value, low, high, n."""
        return self.metrics.to_dataframe()

    def summary(self) -> str:
        """Return bits per base of the model and each baseline, and what holds where nothing was read."""
        bits = self.metrics.score("bits_per_base_masked").value
        lines = [f"{self.output}: bits per base {bits} (masked); baselines:"]
        for name, table in self.metrics.baselines.items():
            bits, counted = next(iter(table.values())), table.scores["n_counted_bp"]
            lines.append(f"  {name}: {bits}" + (f", counted on {counted:,} bp" if counted else ""))
        scores = ModelMetrics.from_json(self.metrics.stored)
        best, _ = best_masked(on_unseen(scores))
        for row in part_rows(scores, "by_class", best):
            bits, counts, gain = (
                score_text(x.value, x.low, x.high) for x in (row.model, row.baseline, row.gain)
            )
            lines.append(f"{row.part}, {row.n_bp:,} bp: {bits}; {best} {counts}; difference {gain}")
        return "\n".join(lines)


@checked()
@shows_progress
def evaluate_lm(
    model: InputPath,
    train: InputPath,
    test: InputPath,
    output: ScoredBundle,
    report: JsonOutput,
    seed: int = 0,
    examples: Positive = 1000,
    max_tokens: Annotated[int, Range(8)] | None = None,
    batch_size: Positive = 32,
    threads: Threads = 0,
    genome: GenomePath | None = None,
    repeats: InputPath | None = None,
    pieces: bool = False,
    example_scores: TsvOutput | None = None,
    progress: Progress = True,
    **baselines: Annotated[Any, LanguageBaselines],
) -> LanguageEvaluation:
    """Score a pretrained model and n-gram baselines on held-out documents.

    Bits per base: negative log-likelihood of the predicted tokens over ln 2 times the base pairs
    they cover, in float32: over all, by chromosome, by repeat class, and by class of sequence: bases in
    a 32-mer of the training text, on either strand, are seen; the others unique or repeats. 15 % of the tokens are hidden
    as in the paper (80 % show [MASK], 10 % a random token), whatever training hid, and scored again
    with [MASK] at all of them. Masked and causal scores answer different questions and have different
    names.

    Examples:
        dna-bigbird evaluate-lm --model results/trained/pretrained --train train.h5 --test test.h5 --genome hg19.fa \\
            --output results/models/pretrained --report results/evaluation/pretrained.json

    Args:
        model: Model bundle: a folder of `dna-bigbird pretrain`.
        train: Training data: the token store that baselines count and that makes bases seen; the one
            the model was trained on. Regions that the bundle records as read are seen too.
        test: Test data: token store of held-out documents.
        report: Detailed scores: a JSON file to write, the scores again, with a description of each
            baseline.
        seed: Seed of the random numbers: of the test examples, their masks and the bootstrap.
        examples: Number of examples: of the test.
        max_tokens: Longest sequence in tokens: of a test example; by default the model's. More than in
            training needs a model without a table of positions (rotary, or attention etc).
        batch_size: Examples computed at once.
        genome: Genome: the FASTA file that the documents come from; with it, scores also come by
            repeat class: lower case against upper case, or those of --repeats. Without it, sequence that
            is not seen is not divided into unique and repeats.
        repeats: BED file with the class of a repeat in column 4: such as RepeatMasker's.
        pieces: The FASTA has only the first part of its chromosomes.
        example_scores: Scores of each block of 10 kb to write: a TSV file, from which `dna-bigbird compare-lm`
            computes differences between models on the same hidden tokens.
    """
    from dna_bigbird.baselines.kneser_ney import missing as kenlm_missing
    from dna_bigbird.bundles.card import model_card
    from dna_bigbird.bundles.metrics import Metrics
    from dna_bigbird.bundles.save import write_scored_bundle
    from dna_bigbird.core.limits import use_threads
    from dna_bigbird.core.tables import Table
    from dna_bigbird.core.writing import atomic_path, json_text
    from dna_bigbird.corpus.masking import PAPER
    from dna_bigbird.corpus.pretraining_examples import PretrainExamples
    from dna_bigbird.evaluation import evaluate_lm_run
    from dna_bigbird.evaluation.evaluate_lm_baselines import (
        MaskedBaselines,
        causal_baselines,
        one_hidden_baseline,
    )
    from dna_bigbird.evaluation.evaluate_lm_parts import (
        HiddenTokens,
        known_repeats,
        ways_to_divide,
    )

    config = LanguageBaselines(**baselines)
    if config.kenlm and kenlm_missing():
        raise InputError(
            f"--kenlm: not installed: {kenlm_missing()}; see docs/reference/comparisons.md"
        )
    use_threads(threads)
    bundle = evaluate_lm_run.load_masked_model(model)
    stores = evaluate_lm_run.load_stores(train, test, bundle.tokenizer, model)
    classes = known_repeats(stores["test"], genome, repeats, pieces)
    length = evaluate_lm_run.example_length(bundle, max_tokens)
    held_out = PretrainExamples(stores["test"], bundle.tokenizer, length, PAPER, seed)
    ways = evaluate_lm_run.ways_to_hide(held_out)
    scores, alone = evaluate_lm_run.scores_by_way(bundle, ways, examples, batch_size), {}
    if bundle.config.copies is not None:
        with evaluate_lm_run.network_alone(bundle):
            alone = evaluate_lm_run.scores_by_way(bundle, ways, examples, batch_size)
    hidden = HiddenTokens(held_out, examples, bundle.tokenizer.piece_bp)
    strata = ways_to_divide(bundle, stores["train"], stores["test"], hidden, classes)
    metrics = {}
    for shown in ("masked", "all_masked"):
        metrics |= scores[shown].metrics(seed, hidden, shown)
    metrics |= {"step": bundle.metrics.step, "seed": seed, "split": "test"}
    metrics |= {} if max_tokens is None else {"max_tokens": max_tokens}
    masked = MaskedBaselines(stores["train"], bundle.tokenizer, PAPER, config.most_counted)
    metrics |= evaluate_lm_run.masked_tables(scores, alone, ways, hidden, masked, strata)
    if config.unmasked_baselines:
        pair = (stores["train"], stores["test"], bundle.tokenizer, config)
        metrics["baselines"] |= causal_baselines(*pair, seed=seed)
        metrics["baselines"] |= one_hidden_baseline(*pair, seed=seed)
    with contextlib.ExitStack() as outputs:  # all or none
        if example_scores is not None:
            path = outputs.enter_context(atomic_path(example_scores))
            path.write_text(Table(evaluate_lm_run.block_rows(hidden, **scores)).to_tsv())
        path = outputs.enter_context(atomic_path(report))
        path.write_text(json_text(evaluate_lm_run.with_descriptions(metrics)))
        write_scored_bundle(bundle.folder, output, metrics, model_card(bundle.config, metrics))
    return LanguageEvaluation(output, report, Metrics.from_json(metrics))
