# What the page with a genome browser shows, for the rules of browser.smk.

BROWSER_FOLDER = f"{RES}/predictions/browser"
BROWSER_MODEL = f"{RES}/models/{BROWSER['model']}"
BROWSER_TITLE = f"{NAME}: predicted and observed" + (
    " (semi-synthetic)" if "demo" in INPUTS else ""
)
TRACK_SUFFIXES = tuple(
    suffix + packed
    for suffix in (".bed", ".narrowpeak", ".broadpeak", ".gtf", ".gff", ".gff3", ".vcf")
    for packed in ("", ".gz", ".bgz")
)


def write_regions(output, regions, fasta, model):
    """Write BED rows of regions with a window of the model on either side, joined where they overlap.

    So every base of a region is in the middle of a window, even if the region is shorter than one.
    """
    from dna_bigbird.genome.fasta import Genome
    from dna_bigbird.genome.region_choice import find_region
    from dna_bigbird.report.browser.extents import Extents

    window_bp = json.loads(Path(model, "config.json").read_text())["window_bp"]
    genome = Genome(fasta)
    intervals = [find_region(genome, region) for region in regions]
    rows = bed_rows(Extents.around(genome, intervals, window_bp))
    with atomic_path(Path(output)) as path:
        path.write_text("".join(f"{row}\n" for row in rows))


def observed_peaks():
    """Pairs of label and peak file of the labels on the page, as far as the config names files.

    A file with a label per name (`*` in a sheet) is always there; the page shows the names.
    """
    peaks = INPUTS.get("peaks", [])
    if "demo" in INPUTS:
        pairs = [(x.name, f"{DEMO}/peaks/{x.name}.bed") for x in grammar.LABELS]
    elif isinstance(peaks, str):
        rows = peak_rows(Path(PEAKS)) if is_path(peaks) else []
        pairs = [(row.label, os.path.normpath(row.path)) for row in rows]
    else:
        labels = (
            peaks if isinstance(peaks, dict) else [label_of(Path(x)) for x in PEAKS]
        )
        pairs = list(zip(labels, PEAKS))
    return [
        (label, path)
        for label, path in pairs
        if label == EVERY_NAME
        or any(fnmatchcase(label, pattern) for pattern in BROWSER["labels"])
    ]


def browser_tracks():
    """Pairs of name and file of the tracks below those that are computed for the page."""
    peaks = observed_peaks() if BROWSER["model"] == "chromatin" else []
    named = [
        (
            f"{os.path.basename(path) if label == EVERY_NAME else label} observed",
            path,
        )
        for label, path in peaks
    ]
    if BROWSER["model"] in SCORING_VARIANTS:
        scored = f"{RES}/predictions/variants/{BROWSER['model']}.vcf.gz"
        named.append(("variants with effects", scored))
    elif VARIANT_FILE:
        named.append(("variants", VARIANT_FILE))
    if "promoter" in TASKS and SITES:
        named.append(("start sites", SITES))
    return [pair for pair in named if pair[1].lower().endswith(TRACK_SUFFIXES)]


NAMED_TRACKS = browser_tracks()
TRACK_NAMES = [name for name, _ in NAMED_TRACKS]
TRACK_FILES = [path for _, path in NAMED_TRACKS]
