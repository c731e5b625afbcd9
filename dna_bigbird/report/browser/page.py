"""The HTML page of `dna-bigbird view`: igv.js, its data and a list of regions, in one file without addresses."""

import functools
import html
import json
from collections.abc import Sequence
from pathlib import Path

from dna_bigbird.evaluation.rendering import Script, read_script, render
from dna_bigbird.genome.interval import Interval
from dna_bigbird.report.browser.extents import Extents
from dna_bigbird.report.browser.tracks import Track

LIBRARY = Path(__file__).parents[1] / "igv" / "igv.min.js"
VERSION = "3.8.10"
"""Of igv.js."""
BLUE, ORANGE, GREEN = "rgb(0,88,140)", "rgb(178,74,0)", "rgb(0,110,80)"
SOURCE_MAP = "//# sourceMappingURL="


def browser_page(
    title: str, extents: Extents, regions: Sequence[Interval], tracks: Sequence[Track]
) -> str:
    """Return the page as HTML text; the first region is shown at the start."""
    # Its policy (Content-Security-Policy) allows the two scripts by their SHA-256 and forbids every connection:
    # igv.js writes fields of a VCF file as HTML, and a script or address in one would be run or loaded.
    scripts = (Script(library()), read_script("browser/start.js"))
    return render(
        "browser/page.html",
        title=title,
        genome=extents.genome.path.name,
        regions=[region.text for region in regions],
        tracks=tracks,
        length_bp=extents.length_bp,
        version=VERSION,
        policy=" ".join(script.digest for script in scripts),
        library=scripts[0],
        start=scripts[1],
        data=Script(script_json(page_data(extents, regions, tracks))),
    )


@functools.cache
def library() -> str:
    """Return igv.js without the name of its source map, which a browser's developer tools would look for."""
    code, _, _ = LIBRARY.read_text(encoding="utf-8").rpartition(SOURCE_MAP)
    return code


def page_data(extents: Extents, regions: Sequence[Interval], tracks: Sequence[Track]) -> dict:
    """Return what the script of the page reads: names, bases, regions, tracks."""
    return {
        "genome": extents.genome.path.name,
        "fasta": extents.fasta(),
        "regions": [
            {"chr": region.chrom, "start": region.start, "end": region.end} for region in regions
        ],
        "tracks": [_track_data(track) for track in tracks],
    }


MOST_HEIGHT, LABEL_HEIGHT = 120, 26
"""Pixels of a track of intervals, and of its name above them."""
ROW_HEIGHT, LEAST_ROW_HEIGHT = 30, 2
"""Pixels of an interval with its name, and of the lowest that is drawn; what then has no room is scrolled."""


def _track_data(track: Track) -> dict:
    # igv.js writes names as HTML into labels.
    options: dict = {"name": html.escape(track.name, quote=False)}
    options["about"] = f"{track.file}: {track.format}, {track.rows:,} rows"
    if track.format in ("bigWig", "bedGraph"):
        options |= {"type": "wig", "height": 60, "color": BLUE, "altColor": ORANGE}
        if track.has_single_bases:
            values = [value for *_, value in track.values]
            # Room for the name above the letters.
            options |= {"graphType": "dynseq", "height": 110, "min": min([0.0, *values])}
            options |= {"max": 1.35 * max([0.0, *values])}
        if track.are_probabilities:
            options |= {"min": 0, "max": 1}
        return {"options": options, "values": track.values}
    text = "\n".join([*track.header, *track.lines]) + "\n"
    if track.format == "VCF":
        options |= {"type": "variant", "format": "vcf", "color": ORANGE}
    else:
        options |= {"type": "annotation", "format": track.format.lower(), "color": GREEN}
        options |= {"delimiter": "\t", "autoHeight": True, "maxHeight": MOST_HEIGHT}
        options |= {"margin": LABEL_HEIGHT, "displayMode": "EXPANDED"}
        room, rows = MOST_HEIGHT - LABEL_HEIGHT, track.most_overlapping
        if rows * ROW_HEIGHT > room:
            height = max(LEAST_ROW_HEIGHT, room // rows)
            # igv.js draws half of featureHeight
            options |= {"displayMode": "SQUISHED", "squishedRowHeight": height}
            options["featureHeight"] = min(14, 2 * height - 2)
            if hidden := max(0, rows - room // height):
                options["name"] += f" ({hidden:,} of {rows:,} hidden: scroll)"
    return {"options": options, "text": text}


def script_json(value: object) -> str:
    """Return JSON that cannot end the script element it is in.

    Example:
        >>> script_json("<!--")
        '"\\\\u003c!--"'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
