"""The sections round the scores: data, genome strip, time and memory, how to repeat the run."""

import importlib.metadata
import math
import platform
from collections.abc import Iterator, Sequence

from dna_bigbird import __version__
from dna_bigbird.report.figures.stage_figure import duration, stage_figure
from dna_bigbird.report.figures.track_figure import strip_figure
from dna_bigbird.report.gallery import Gallery
from dna_bigbird.report.glossary import term
from dna_bigbird.report.markup import (
    Html,
    as_html,
    is_number,
    join,
    not_run,
    number,
    paragraph,
    shown,
    table,
)
from dna_bigbird.report.run_results import Results, Stage
from dna_bigbird.report.tracks import Strip, lies_inside

PACKAGES = (
    "torch",
    "pytorch-lightning",
    "snakemake",
    "sentencepiece",
    "tokenizers",
    "safetensors",
    "h5py",
    "numpy",
    "scipy",
    "scikit-learn",
    "pysam",
    "pyfaidx",
    "pybedtools",
    "pyBigWig",
    "pyliftover",
    "matplotlib",
)
TOKENIZER_ROWS = {
    "vocab_size": "vocabulary (tokens)",
    "bp_per_token": "base pairs per token of text",
    "mean_piece_bp": "base pairs per vocabulary entry, mean",
    "sample_bp": "text measured (bp)",
    "unused_pieces_share": "share of entries that never occur",
    "pieces_with_n_share": "share of entries with an N",
    "tokens_with_n_share": "share of tokens with an N",
    "unknown_tokens": "unknown tokens",
}
PIPELINE = [
    "demo",
    "fetch",
    "genome",
    "documents",
    "tokenizer",
    "tokenize",
    "pretrain",
    "evaluate_lm",
    "lift",
    "sites",
    "set",
    "leakage",
    "baseline",
    "finetune",
    "evaluate",
    "predict",
    "score_variants",
    "rank_variants",
    "mutagenesis",
]
"""Words in the names of rules, in the order in which the rules run."""


def data(results: Results) -> Html:
    """Return the section on corpus, tokenizer and lifted sites."""
    parts: list[object] = []
    if results.documents:
        rows = [
            (
                x.split,
                number(x.documents),
                number(x.sentences),
                number(x.total_bp),
                number(x.covered_bp),
            )
            for x in results.documents
        ]
        parts.append(
            table(
                ["split", "documents", "sentences", "bp, every pass", "bp, counted once"],
                rows,
                caption="Documents for pretraining: stretches of genome cut into sentences",
                numeric=range(1, 5),
            )
        )
    else:
        parts.append(not_run("documents", "the rule documents (corpus/*.bed.gz)"))
    if results.tokenizer:
        known = {k: v for k, v in TOKENIZER_ROWS.items() if k in results.tokenizer}
        parts.append(
            table(
                ["tokenizer", "value"],
                [(text, number(results.tokenizer[key])) for key, text in known.items()],
                caption="The vocabulary, measured on training documents",
                numeric=[1],
            )
        )
    else:
        parts.append(
            not_run("tokenizer figures", "the rule train_tokenizer (tokenizer/metrics.json)")
        )
    if results.lift:
        lost, kept = results.lift["unlifted"], results.lift.get("lifted")
        moved = f"{shown(kept)} were moved to this assembly, " if is_number(kept) else ""
        parts.append(
            paragraph(
                f"Promoter start sites came from another assembly: {moved}{lost:,} were lost."
            )
        )
    intro = paragraph(
        Html(
            f"Regions for {term('splits')} lie apart in the genome. Documents may overlap, because "
            "the genome is passed several times; the last column counts every base once."
        )
    )
    return join([intro, Html('<div class="tables">'), *parts, Html("</div>")])


def tracks(strip: Strip | None, config: dict, truth_files: Sequence[str], gallery: Gallery) -> Html:
    """Return the genome strip.

    Args:
        config: Configuration of the run, for its held-out regions.
        truth_files: Options of the truth that was not given, to name in a note.
    """
    if strip is None:
        return not_run("predicted tracks", "the rule predict (predictions/*.tsv)")
    notes = [not_run("true tracks", f"the option {option}") for option in truth_files]
    if not strip.tracks:
        return join([not_run("predicted tracks in this region", "the rule predict"), *notes])
    rows = ", ".join(dict.fromkeys(t.label for t in strip.tracks))
    chosen = (
        "The region was chosen for holding the most true features, not for good predictions; so "
        "were the labels."
        if strip.has_truth
        else "No truth was given: this is the beginning of what was predicted."
    )
    legend = (
        "Coloured: predicted probability, each row on its own scale, the two numbers at its "
        "right; they are at least 0.05 apart, so a flat row is a model that sees no difference. Black below it: the truth (arrows are start sites and their direction). A score "
        "stands at the middle of its window, though the model read the whole window."
    )
    picture = gallery.show(
        "genome_strip",
        strip_figure(strip, title=f"{strip.region}: predicted over true", tag=gallery.tag),
        alt=f"Genome browser view of {strip.region} with predicted and true tracks of {rows}.",
        caption=Html(f"{as_html(legend)} On counting: {term('coordinates')}."),
        wide=True,
    )
    return join([paragraph(_held_out(strip, config), chosen), picture, *notes])


def _held_out(strip: Strip, config: dict) -> str:
    """Say whether the models had seen the region while they learnt."""
    splits = config.get("splits")
    for split in ("test", "validation"):
        regions = splits.get(split, []) if isinstance(splits, dict) else []
        if any(lies_inside(strip.region, str(region)) for region in regions):
            return f"The region lies in the {split} split: no model learnt from it."
    return "Part of this region may have been learnt from: it is not within one held-out region."


def stages(found: tuple[Stage, ...], gallery: Gallery) -> Html:
    """Return time and memory of every stage."""
    if not found:
        return not_run("time and memory", "Snakemake's benchmark files (benchmarks/*.tsv)")
    order = sorted(found, key=lambda s: (_place(s.rule), s.rule))
    total = math.fsum(s.seconds for s in order if math.isfinite(s.seconds))
    peaks = [s for s in order if math.isfinite(s.max_rss_mb)]
    peak = max(peaks, key=lambda s: s.max_rss_mb) if peaks else None
    sentence = f"All stages together took {duration(total)}"
    if peak:
        sentence += f"; the largest, {peak.rule}, held {peak.max_rss_mb / 1024:.2f} GiB"
    rows = [
        (
            s.rule,
            Html(f"{number(s.seconds, 1)} <small>{duration(s.seconds)}</small>"),
            number(s.cpu_seconds, 1),
            number(s.max_rss_mb, 0),
        )
        for s in order
    ]
    listing = table(
        ["stage", "run time (s)", "processor time (s)", "peak memory (MiB)"],
        rows,
        caption="As measured by Snakemake; 'not defined' where a stage was too short to measure",
        numeric=range(1, 4),
    )
    return join(
        [
            paragraph(
                f"{sentence}. Stages can run at the same time, so the sum is not the waiting time.",
                Html(f"What {term('peak-memory')} means is said below."),
            ),
            gallery.show(
                "time_and_memory",
                stage_figure(order, tag=gallery.tag),
                alt=f"Run time and peak memory of {len(order)} stages. {sentence}.",
                caption="Run time and peak memory of each stage, in the order of the workflow.",
                wide=True,
            ),
            Html(f"<details><summary>The same as a table</summary>{listing}</details>"),
        ]
    )


def _place(rule: str) -> int:
    """Place a rule in the order of the workflow by the longest known word in its name."""
    found = [word for word in PIPELINE if word in rule.lower()]
    return PIPELINE.index(max(found, key=len)) if found else len(PIPELINE)


def repeat(results: Results) -> Html:
    """Return versions, seeds and the whole configuration."""
    versions = [("dna-bigbird", __version__), ("python", platform.python_version())]
    versions += [(name, _version(name)) for name in PACKAGES]
    seeds = [(key, as_html(value)) for key, value in _seeds(results.config)]
    models = {"pretrained": results.pretrained} | results.heads
    seeds += [
        (f"models/{name}/metrics.json", as_html(m.metrics["seed"]))
        for name, m in models.items()
        if m is not None and "seed" in m.metrics
    ]
    return join(
        [
            paragraph(
                "With the same version of every package, the same configuration and the same seed, "
                "a second run gives the same data sets and the same scores."
            ),
            Html('<div class="tables">'),
            table(["package", "version"], versions, caption="Versions that wrote this report"),
            table(["where", "seed"], seeds, caption="Seeds", numeric=[1])
            if seeds
            else not_run("a seed", "the configuration (seed)"),
            Html("</div>"),
            Html(
                "<details><summary>The whole configuration</summary>"
                f'<pre tabindex="0">{as_html(results.config_text)}</pre></details>'
            ),
        ]
    )


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _seeds(config: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield every setting whose name is or ends in `seed`, with its path in the configuration."""
    for key, value in config.items() if isinstance(config, dict) else ():
        here = f"{path}.{key}" if path else str(key)
        if isinstance(value, dict):
            yield from _seeds(value, here)
        elif str(key).endswith("seed"):
            yield here, value
