"""The sections on variants and on in-silico mutagenesis."""

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.errors import InputError
from dna_bigbird.report.figures.mutagenesis_figure import LETTERS, UNITS, mutagenesis_figure
from dna_bigbird.report.figures.variant_figure import SOURCES, variant_figure
from dna_bigbird.report.gallery import Gallery
from dna_bigbird.report.glossary import term
from dna_bigbird.report.markup import Html, join, not_run, number, paragraph, shown, table
from dna_bigbird.report.parts import interval_of
from dna_bigbird.report.reading import as_float, as_int, read_json_object, read_table
from dna_bigbird.report.words import against_chance, score_of, verdict

QUESTIONS = {
    "break": "broken sites, label unknown",
    "break_own_label": "broken sites, own labels",
    "create": "created sites, label unknown",
    "create_own_label": "created sites, own labels",
}
"""What is ranked above neutral variants (evaluation/variant_ranking.py)."""
MOST_ROWS = 10
PLACE = ("chrom", "pos", "id", "ref", "alt")
ENDING = "_log_odds"


def variants(folder: Path, gallery: Gallery) -> Html:
    """Return what the models say of variants, and how known ones rank.

    Args:
        folder: predictions/ of a results folder.
    """
    tables = sorted((folder / "variants").glob("*.tsv"))
    if not tables:
        return not_run("variants", "the rule score_variants (predictions/variants/*.tsv)")
    parts: list[object] = [
        paragraph(
            "For every allele the model reads the window with it and the window of the reference, "
            "both centred on the variant, on both strands. The effect on a label is the change of "
            "its log odds."
        )
    ]
    for path in tables:
        ranking = folder / "variants" / f"ranking_{path.stem}"
        if ranking.is_dir():
            parts.append(_ranking(ranking, path.stem, gallery))
        parts.append(_strongest(path))
    return join(parts)


def _ranking(folder: Path, task: str, gallery: Gallery) -> Html:
    metrics = read_json_object(folder / "metrics.json", "rank_variants")
    sources = {"model": metrics} | metrics["baselines"]
    rows = [
        (
            text,
            *(interval_of(score_of(sources.get(name, {}), f"auroc_{key}")) for name in SOURCES),
            f"{shown(metrics[f'n_{key}_positive'])} of {shown(metrics[f'n_{key}'])}",
        )
        for key, text in QUESTIONS.items()
    ]
    said = []
    for key, name in (("break", "a broken site"), ("create", "a created site")):
        score = score_of(metrics, f"auroc_{key}")
        beside = verdict(
            score,
            score_of(sources.get("kmer", {}), f"auroc_{key}"),
            what="AUROC",
            gain=score_of(metrics, f"auroc_{key}_gain_over_kmer"),
        )
        said.append(
            f"{name[0].upper()}{name[1:]} above a neutral variant: {against_chance(score)} {beside}"
        )
    drawn = read_table(folder / "ranked.tsv", ("effect",), "rank_variants")
    figure = variant_figure(
        {name: _column(drawn, f"{name}_largest", folder / "ranked.tsv") for name in SOURCES},
        np.array([row["effect"] for row in drawn]),
        tag=gallery.tag,
    )
    return join(
        [
            paragraph(
                "Planted variants of known effect (semi-synthetic), never trained on: those that break a "
                "planted site, those that repair a damaged one, and neutral ones. Who does not know the "
                "label takes the largest change over all labels; who does, its own in the expected "
                f"direction. A site often has copies beside it, which keep its label. Split: {metrics['split']}; "
                f"intervals over {shown(metrics['n_blocks'])} blocks of {shown(metrics['block_bp'])} bp.",
                Html(f"What {term('auroc')} means is said below."),
            ),
            *map(paragraph, said),
            table(
                ["ranked above neutral", *SOURCES.values(), "variants"],
                rows,
                caption=f"AUROC of planted variants above neutral ones, {task} model",
                numeric=range(1, len(SOURCES) + 1),
            ),
            gallery.show(
                f"variants_{task}",
                figure,
                alt="Largest change over all labels of broken, created and neutral variants, for the "
                "model and for k-mers.",
                caption="Each dot is a variant, the bar the median of its row.",
                wide=True,
            ),
        ]
    )


def _column(rows: list[dict[str, str]], name: str, path: Path) -> NDArray[np.float64]:
    return np.array(
        [as_float(row.get(name) or "NA", path, i) for i, row in enumerate(rows, start=2)]
    )


def _strongest(path: Path) -> Html:
    """List the variants with the largest effects."""
    rows = read_table(path, PLACE, "score_variants")
    names = [name for name in (rows[0] if rows else {}) if name.endswith(ENDING)]
    largest = []
    for line, row in enumerate(rows, start=2):
        values = [as_float(row[name] or "NA", path, line) for name in names]
        known = [
            (abs(v), v, name) for v, name in zip(values, names, strict=True) if math.isfinite(v)
        ]
        if known:
            largest.append((max(known), row))
    largest.sort(key=lambda found: -found[0][0])
    skipped = len(rows) - len(largest)
    without = f", {skipped:,} alleles without a score" if skipped else ""
    return table(
        ["variant", "ID", "label", "change of log odds"],
        [
            (
                f"{row['chrom']}:{as_int(row['pos'], path, 0):,} {row['ref']}>{row['alt']}",
                row["id"],
                name.removesuffix(ENDING),
                number(value, 2),
            )
            for (_, value, name), row in largest[:MOST_ROWS]
        ],
        caption=f"Largest effects among {len(rows):,} alleles, {path.stem} model{without}",
        numeric=[3],
    )


def mutagenesis(folder: Path, gallery: Gallery) -> Html:
    """Return the picture of every substitution in a region.

    Args:
        folder: predictions/ of a results folder.
    """
    path = folder / "mutagenesis.tsv"
    if not path.is_file():
        return not_run("mutagenesis", "the rule mutagenesis (predictions/mutagenesis.tsv)")
    rows = read_table(path, ("chrom", "pos", "ref"), "mutagenesis")
    columns = [name for name in (rows[0] if rows else {}) if name not in ("chrom", "pos", "ref")]
    effect = next((name for name in UNITS if columns and columns[0].endswith(f"_{name}")), None)
    if effect is None or len(columns) % 4:
        raise InputError(
            f"{path}:1: expected four columns a label, such as CTCF_A_log_odds. Run mutagenesis again"
        )
    labels = [name.removesuffix(f"_A_{effect}") for name in columns[::4]]
    values = [[as_float(row[c], path, i) for c in columns] for i, row in enumerate(rows, start=2)]
    effects_P4L = np.array(values).reshape(len(rows), len(labels), len(LETTERS)).swapaxes(1, 2)
    chrom, first = rows[0]["chrom"], as_int(rows[0]["pos"], path, 2)
    region = f"{chrom}:{first:,}-{first + len(rows) - 1:,}"
    try:
        figure, drawn = mutagenesis_figure(
            chrom, first - 1, "".join(row["ref"] for row in rows), labels, effects_P4L,
            effect=effect, tag=gallery.tag,
        )  # fmt: skip
    except ValueError as error:
        return paragraph(f"{region}: {error}; the matrix is in {path.name}.")
    fewer = f" Of {len(labels)} labels those with the largest effects." if drawn != labels else ""
    return join(
        [
            paragraph(
                "Each of the three other bases was put at every base of the region, one at a time. A "
                "letter stands up where changing it lowers the label's score; below it the effect of "
                "each substitution, blue down, red up, a dot at the reference base."
            ),
            gallery.show(
                "mutagenesis",
                figure,
                alt=f"Effects of all substitutions in {region} on {', '.join(drawn)}.",
                caption=f"{region}, each label on its own scale.{fewer}",
                wide=True,
            ),
        ]
    )
