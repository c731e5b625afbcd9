"""Puts the sections together into one HTML page that needs nothing outside itself."""

from collections.abc import Callable
from pathlib import Path

from dna_bigbird.report import background, heads
from dna_bigbird.report.gallery import Gallery
from dna_bigbird.report.glossary import glossary, term
from dna_bigbird.report.markup import Html, as_html, join, paragraph, shown
from dna_bigbird.report.pretraining import pretraining
from dna_bigbird.report.run_results import HEADS, Results, read_results
from dna_bigbird.report.summary import summary
from dna_bigbird.report.tracks import build_strip, read_features, read_peak_sheet
from dna_bigbird.report.variants import mutagenesis, variants
from dna_bigbird.report.words import SEMI_SYNTHETIC, scale

TAG = "semi-synthetic demo: planted truth"
CSS = Path(__file__).parent / "templates" / "report.css"


def build_report(
    folder: Path,
    config_file: Path,
    truth_promoters: Path | None = None,
    truth_peaks: Path | None = None,
) -> tuple[str, Gallery]:
    """Read a results folder and return the page and its pictures.

    Args:
        truth_promoters: BED file of the true promoters.
        truth_peaks: Sample sheet (label, group, path) of the true peaks.

    Raises:
        InputError: As `read_results`, and for damaged truth or prediction files.
    """
    results = read_results(folder, config_file)
    gallery = Gallery(TAG if is_semi_synthetic(results) else "")
    predictions = {
        head: path
        for head in HEADS
        if (path := results.folder / "predictions" / f"{head}.tsv").is_file()
    }
    chromatin = results.heads["chromatin"]
    strip = build_strip(
        predictions,
        read_features(truth_promoters) if truth_promoters else None,
        read_peak_sheet(truth_peaks) if truth_peaks else None,
        {x.label: x.group for x in chromatin.labels} if chromatin else {},
    )
    missing = [
        option
        for head, option, given in (
            ("promoter", "--truth_promoters", truth_promoters),
            ("chromatin", "--truth_peaks", truth_peaks),
        )
        if head in predictions and given is None
    ]
    sections: list[tuple[str, str, Callable[[], Html]]] = [
        ("summary", "In short", lambda: summary(results)),
        ("data", "Corpus and tokenizer", lambda: background.data(results)),
        ("pretraining", "Pretraining", lambda: pretraining(results, gallery)),
        ("promoter", "Promoters", lambda: heads.head(results, "promoter", gallery)),
        ("chromatin", "Chromatin labels", lambda: heads.head(results, "chromatin", gallery)),
        (
            "tracks",
            "Predicted and true, along the genome",
            lambda: background.tracks(strip, results.config, missing, gallery),
        ),
        (
            "variants",
            "Variants",
            lambda: variants(results.folder / "predictions", gallery),
        ),
        (
            "mutagenesis",
            "Every substitution in a region",
            lambda: mutagenesis(results.folder / "predictions", gallery),
        ),
        ("time", "Time and memory", lambda: background.stages(results.stages, gallery)),
        ("repeat", "How to repeat it", lambda: background.repeat(results)),
        ("glossary", "What the words mean", glossary),
    ]
    body = [
        Html(f'<section id="{key}"><h2>{as_html(title)}</h2>\n{make()}\n</section>')
        for key, title, make in sections
    ]
    links = " ".join(f'<a href="#{key}">{as_html(title)}</a>' for key, title, _ in sections)
    return _page(results, join([_opening(results), Html(f"<nav>{links}</nav>"), *body])), gallery


def is_semi_synthetic(results: Results) -> bool:
    """Tell whether any model of the run was made from planted truth."""
    models = [results.pretrained, *(m for m in results.heads.values() if m is not None)]
    return any(m.config.get("semi_synthetic") for m in models)


def _opening(results: Results) -> Html:
    config = results.pretrained.config
    training = config.get("training", {})
    batch = config.get("examples_per_step", training.get("batch_size"))
    covered = next((x.covered_bp for x in results.documents if x.split == "train"), None)
    assembly = str(config.get("assembly") or "unknown")
    semi_synthetic = is_semi_synthetic(results)
    planted = "with promoters and chromatin signals planted at known places, " * semi_synthetic
    banner = (
        f'<p class="banner"><b>Semi-synthetic demo.</b> {SEMI_SYNTHETIC.partition(": ")[2]}</p>'
    )
    return join(
        [
            Html(banner.replace("</b> r", "</b> R")) if semi_synthetic else "",
            Html(
                f'<p class="scale">{as_html(scale(results.pretrained.parameters, training.get("max_steps"), batch, covered))}</p>'
            ),
            paragraph(
                "A BigBird network read DNA as a text without labels, then learnt two tasks from "
                f"labelled windows. The genome: assembly {assembly}, {planted}split by region into "
                "training, validation and test. Beside every score stands that of a simple baseline "
                "on the same test rows.",
                Html(f"Words underlined with dots are explained {term('splits', 'below')}."),
            ),
            _text_tasks(results.folder),
        ]
    )


def _text_tasks(folder: Path) -> Html:
    """Return a link to the report of the text tasks, if there is one."""
    if not (folder / "text" / "report.html").is_file():
        return Html("")
    return paragraph(
        Html('The text tasks have <a href="text/report.html">a report of their own</a>.')
    )


def _page(results: Results, body: Html) -> str:
    title = "dna-bigbird: report of a run"
    version = results.pretrained.config.get("dna_bigbird_version", "unknown")
    size = shown(results.pretrained.config.get("encoder", {}).get("max_tokens"))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light">
<title>{title}</title>
<style>
{CSS.read_text(encoding="utf-8")}</style>
</head>
<body>
<header><h1>From a genome to predictions</h1>
<p>Report of one dna-bigbird run: pretraining, promoters, chromatin. Context of {size} tokens.</p></header>
<main>
{body}
</main>
<footer>Made by dna-bigbird {as_html(version)} from the files of the results folder alone.</footer>
</body>
</html>
"""
