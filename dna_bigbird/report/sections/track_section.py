"""The section with predicted and true tracks along the genome."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.evaluation.pages.gallery import Gallery, Picture
from dna_bigbird.report.figures.track_figure import strip_figure
from dna_bigbird.report.run_results import HEADS, Results
from dna_bigbird.report.tracks import (
    Strip,
    build_strip,
    is_within,
    read_peak_sheet,
    read_promoters,
    region_text,
)


@dataclass(frozen=True)
class Tracks:
    """The data of the section."""

    has_predictions: bool
    picture: Picture | None = None
    """None if nothing is predicted in the region."""
    region: str = ""
    labels: Sequence[str] = ()
    split: str = ""
    """The held-out split that holds the region, if one does."""
    has_truth: bool = False
    missing_options: Sequence[str] = ()
    """Options that would have named the truth."""


def tracks(
    results: Results,
    truth_promoters: Path | None,
    truth_peaks: Path | None,
    gallery: Gallery,
) -> Tracks:
    """Choose a region and draw its predictions and truth."""
    tables = {head: results.folder / "predictions" / f"{head}.tsv" for head in HEADS}
    predictions = {head: path for head, path in tables.items() if path.is_file()}
    chromatin = results.heads["chromatin"]
    strip = build_strip(
        predictions,
        read_promoters(truth_promoters) if truth_promoters else None,
        read_peak_sheet(truth_peaks) if truth_peaks else None,
        {x.label: x.group for x in chromatin.labels} if chromatin else {},
    )
    if strip is None:
        return Tracks(has_predictions=False)
    truth = {"promoter": truth_promoters, "chromatin": truth_peaks}
    options = {"promoter": "--truth_promoters", "chromatin": "--truth_peaks"}
    return Tracks(
        has_predictions=True,
        picture=_picture(strip, gallery) if strip.tracks else None,
        region=region_text(strip.region),
        labels=list(dict.fromkeys(track.label for track in strip.tracks)),
        split=_held_out(strip, results.config),
        has_truth=strip.has_truth,
        missing_options=[options[head] for head in predictions if truth[head] is None],
    )


def _picture(strip: Strip, gallery: Gallery) -> Picture:
    title = f"{region_text(strip.region)}: predicted over true"
    return gallery.add(
        "genome_strip", strip_figure(strip, title=title, tag=gallery.tag), is_wide=True
    )


def _held_out(strip: Strip, config: dict) -> str:
    """Return the split that holds the whole region, "" if models may have learned from it."""
    splits = config.get("splits")
    for split in ("test", "validation"):
        regions = splits.get(split, []) if isinstance(splits, dict) else []
        if any(is_within(strip.region, str(region)) for region in regions):
            return split
    return ""
