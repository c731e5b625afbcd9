"""What a schema cannot check in a run: files, regions, and sections that need each other."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from dna_bigbird.core.choices import near
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.yaml_files import KeyPath, read_yaml
from dna_bigbird.corpus.regions import read_region
from dna_bigbird.genome import Genome
from dna_bigbird.genome.interval import parse_region
from dna_bigbird.labelled.chromatin.peak_sheet import peak_rows
from dna_bigbird.labelled.deepsea.coordinates import find_coordinates
from dna_bigbird.labelled.tracks.track_set_run import replicate_rows, track_rows
from dna_bigbird.workflow.config.config_files import (
    check_source,
    is_path,
    plain_path,
    results_folder,
)

TASKS = ("promoter", "chromatin")
HEADS = (*TASKS, "tracks")
"""Sections of models with a labelled set; `tracks` has rules, pages and predictions of its own."""
LANGUAGE_TABLES = ("table5", "figure8", "table1")
HEAD_TABLES = ("table6", "table7", "context")
Mistake = tuple[KeyPath, str]
"""Path of a setting, and what is wrong with it."""
Check = Callable[[Mapping], Iterator[Mistake]]


def peak_paths(peaks: str | list[str] | Mapping[str, str]) -> list[Path]:
    """Return what `chromatin-set --peaks` gets for `inputs: peaks`, which names no description; so `tracks`.

    Example:
        >>> [str(path) for path in peak_paths({"CTCF": "./a.bed", "TBP": "b.bed"})]
        ['CTCF=a.bed', 'TBP=b.bed']
    """
    if isinstance(peaks, Mapping):
        return [Path(f"{label}={plain_path(path)}") for label, path in peaks.items()]
    return [Path(plain_path(path)) for path in ([peaks] if isinstance(peaks, str) else peaks)]


def _tasks(run: Mapping) -> list[str]:
    return [task for task in HEADS if task in run]


def _labels(run: Mapping) -> Iterator[Mistake]:
    """Yield sections without the file that they are about."""
    inputs = run.get("inputs", {})
    if "tracks" in run and "tracks" not in inputs:
        yield ("tracks",), "needs signal: add `tracks: {NAME: FILE}` or a sheet to inputs"
    if "demo" in inputs:
        return
    if "promoter" in run and "promoters" not in inputs:
        yield ("promoter",), "needs start sites: add `promoters: FILE` to the section inputs"
    if "chromatin" in run and not {"peaks", "deepsea"} & set(inputs):
        yield ("chromatin",), "needs labels: add `peaks: SHEET` or `deepsea: FOLDER` to inputs"
    if _scored(run) and "variants" not in inputs:
        yield ("predictions", "variants"), "needs variants: add `variants: VCF` to inputs"


def _scored(run: Mapping) -> list[str]:
    return run.get("predictions", {}).get("variants", [])


def _predictions(run: Mapping) -> Iterator[Mistake]:
    """Yield models that predict but are not trained."""
    named: list[Mistake] = [(("variants", i), task) for i, task in enumerate(_scored(run))]
    predictions = run.get("predictions", {})
    parts = [part for part in ("mutagenesis", "browser") if predictions.get(part)]
    named += [((part, "model"), predictions[part]["model"]) for part in parts]
    for path, task in named:
        if task not in run:
            yield ("predictions", *path), f"needs a section {task}, which trains this model"


def _encoder(run: Mapping) -> Iterator[Mistake]:
    """Yield a bundle to start from that is none, or from which nothing is trained."""
    name = run.get("pretrained", "bundled")
    if name != "bundled" and not (Path(plain_path(name)) / "config.json").is_file():
        text = "no model bundle (a folder with config.json); expected `bundled` or such a folder"
        yield ("pretrained",), f"{name}: {text}"
    uses = {*_tasks(run), *({"experiments", "bench"} & set(run))}
    if "pretrained" in run and not uses:
        text = "nothing is trained from it; add a section `promoter: {}`, `chromatin: {}` or `tracks: {}`"
        yield ("pretrained",), text


def _regions(run: Mapping) -> Iterator[Mistake]:
    """Yield regions that are empty or written in another form."""
    for path, region in region_texts(run):
        try:
            if ":" in region or path[0] == "predictions":
                parse_region(region)
        except ValueError as error:
            yield path, str(error)


OWN_SITES = ("promoters", "promoter_sequences")
"""Words for the start sites of `inputs`; in place of a source."""


def region_texts(run: Mapping) -> Iterator[tuple[KeyPath, str]]:
    """Yield every region in a config with its path."""
    predictions = run.get("predictions", {})
    lists: list[tuple[KeyPath, Mapping, tuple[str, ...]]] = [
        ((), run, ("regions",)),
        (("splits",), run.get("splits", {}), ("validation", "test")),
        (("predictions",), predictions, ("regions",)),
        (("predictions", "browser"), predictions.get("browser", {}), ("regions",)),
    ]
    for path, section in head_sections(run):
        lists.append(((*path, "splits"), section.get("splits", {}), ("validation", "test")))
        lists.append((path, section, ("unread", "regions")))
    for path, section, keys in lists:
        for key in keys:
            for i, region in enumerate(section.get(key, [])):
                yield (*path, key, i), region
    if mutagenesis := predictions.get("mutagenesis"):
        yield ("predictions", "mutagenesis", "region"), mutagenesis["region"]


def head_sections(run: Mapping) -> Iterator[tuple[KeyPath, Mapping]]:
    """Yield the sections promoter, chromatin and tracks, those of variants too, with their paths."""
    for task in _tasks(run):
        yield (task,), run[task]
    for name, variant in run.get("experiments", {}).get("heads", {}).items():
        for task in _tasks(variant):
            yield ("experiments", "heads", name, task), variant[task]


def _sources(run: Mapping) -> Iterator[Mistake]:
    """Yield paths without a file, and names that data_specs/ does not describe."""
    for path, source in sources(run):
        try:
            check_source(source)
        except InputError as error:
            yield path, str(error)


def sources(run: Mapping) -> Iterator[tuple[KeyPath, str]]:
    """Yield every source of `inputs`, `objective: sites` and `sites` in a config with its path."""
    for key, value in run.get("inputs", {}).items():
        if key not in ("demo", "promoters_assembly"):
            if isinstance(value, str):
                yield ("inputs", key), value
                continue
            for i, source in value.items() if isinstance(value, Mapping) else enumerate(value):
                if isinstance(source, str):
                    yield ("inputs", key, i), source
    experiments = run.get("experiments", {})
    for path, section in (((), run), *_named(experiments, "variants")):
        if "sites" in section.get("objective", {}):
            yield (*path, "objective", "sites"), section["objective"]["sites"]
    for path, variant in _named(experiments, "heads"):
        sites = variant.get("sites", [])
        for source in [sites] if isinstance(sites, str) else sites:
            if source not in OWN_SITES:
                yield (*path, "sites"), source


def _named(experiments: Mapping, part: str) -> Iterator[tuple[KeyPath, Mapping]]:
    for name, section in experiments.get(part, {}).items():
        yield ("experiments", part, name), section


def _tables(run: Mapping) -> Iterator[Mistake]:
    """Yield names in a table that no variant has."""
    experiments = run.get("experiments", {})
    for table in (*LANGUAGE_TABLES, *HEAD_TABLES):
        known = [*_tasks(run), *experiments.get("heads", {})]
        if table in LANGUAGE_TABLES:
            known = list(experiments.get("variants", {}))
        for i, name in enumerate(experiments.get(table, [])):
            if name not in known:
                text = f"{name!r} is not among the variants ({', '.join(known) or 'none'})"
                yield ("experiments", table, i), text + near(name, tuple(known))


def _coordinates(run: Mapping) -> Iterator[Mistake]:
    """Yield a published bundle without the coordinates of its rows."""
    inputs = run.get("inputs", {})
    if "deepsea" not in inputs or "deepsea_coordinates" in inputs:
        return
    path, bundle = ("inputs", "deepsea"), inputs["deepsea"]
    if not is_path(bundle):
        advice = "`deepsea_coordinates: deepsea_train_coordinates`, or the path of allTFs.pos.bed"
        yield path, f"the archive {bundle!r} has no coordinates in it; add {advice}"
        return
    folder = Path(plain_path(bundle))
    if not folder.is_dir():
        yield path, f"{folder}: not a folder"
        return
    try:
        find_coordinates(folder)
    except InputError as error:
        yield path, str(error)


def check_peaks(run: Mapping) -> None:
    """Read the sample sheets of peaks and tracks, or the peak files that a config names one by one."""
    peaks = run.get("inputs", {}).get("peaks", "")
    if not isinstance(peaks, str) or is_path(peaks):
        peak_rows(peak_paths(peaks))
    if tracks := run.get("inputs", {}).get("tracks"):
        labels = [x.label for x in track_rows(peak_paths(tracks))]
        if replicates := run["inputs"].get("replicates"):
            replicate_rows(peak_paths(replicates), labels, "inputs: replicates", "inputs: tracks")


CHECKS = (_labels, _predictions, _encoder, _regions, _tables, _sources, _coordinates)


# Compares the regions in a run's config with its genome, where that is there before the run.

OF_GENOME = ("demo", "genome", "promoter_sequences")
"""Entries of `inputs` that the genome is made of."""


def check_regions(run: Mapping) -> Iterator[Mistake]:
    """Yield regions that the genome lacks, of pieces their chromosomes; without an index the first job does."""
    for genome in indexed_genomes(run) if "assembly" in run else ():
        for path, text in region_texts(run):
            try:
                read_region(text.rpartition(":")[0] or text if run["pieces"] else text, genome)
            except InputError as error:
                yield path, str(error)


def indexed_genomes(run: Mapping) -> Iterator[Genome]:
    """Yield the genome of a run if it has an index: the user's one file, or what an earlier run made of the same."""
    inputs = run.get("inputs", {})
    own = {key: inputs[key] for key in OF_GENOME if key in inputs}
    candidates = []
    if len(sources := own.get("genome", [])) == 1 and len(own) == 1 and is_path(sources[0]):
        candidates.append(Path(plain_path(sources[0])))
    results, recorded = results_folder(run), {}
    with contextlib.suppress(InputError):  # no earlier run
        recorded = read_yaml(results / "config.yaml").values().get("inputs") or {}
    if "demo" in own or (
        own and own == {key: recorded[key] for key in OF_GENOME if key in recorded}
    ):
        candidates.append(results / "genome" / "genome.fa")
    for path in candidates:
        if path.is_file() and Path(f"{path}.fai").is_file():
            try:
                yield Genome(path)
            except InputError:
                continue  # the job that reads it says why
            return
