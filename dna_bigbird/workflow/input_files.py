"""The section `inputs` of a run: what it names, as paths that rules read and options of commands."""

import functools
import hashlib
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.resources import resource_folder
from dna_bigbird.demo import grammar
from dna_bigbird.genome.sources.specs import find_spec, read_spec
from dna_bigbird.labelled.chromatin.peak_sheet import SheetRow, label_of, peak_rows
from dna_bigbird.labelled.deepsea.coordinates import find_coordinates
from dna_bigbird.labelled.tracks.track_set_run import track_rows
from dna_bigbird.workflow.config.config_files import is_path, plain_path
from dna_bigbird.workflow.config.run_checks import peak_paths
from dna_bigbird.workflow.options import Section, option

Files = str | list[str]
"""A path, or several; [] is none, as rules take it."""

_sha256_once = functools.cache(sha256_of)


@dataclass(frozen=True)
class InputFiles:
    """The files that a run starts from. Its other sources are downloaded into its results."""

    results: str
    section: Section

    @property
    def is_demo(self) -> bool:
        """Whether the workflow makes its input."""
        return "demo" in self.section

    @property
    def demo(self) -> str:
        """The folder of what it makes."""
        return f"{self.results}/inputs/demo"

    def file(self, source: str) -> str:
        """Return the path of a source."""
        if is_path(source):
            return plain_path(source)
        return f"{self.results}/inputs/{read_spec(find_spec(source)).output_name}"

    def named(self, key: str) -> Files:
        """Return the path of an entry; [] if there is none."""
        return self.file(self.section[key]) if key in self.section else []

    def option(self, key: str) -> str:
        """Return the path of an entry as an option; empty if there is none."""
        return option(key, self.named(key)) if key in self.section else ""

    @property
    def genome(self) -> list[str]:
        """FASTA files that the genome is made of."""
        files = [self.file(x) for x in self.section.get("genome", [])]
        if self.is_demo:
            files = [f"{self.demo}/demo.fa"]
        return [*files, f"{self.results}/promoter/sequences.fa"] if self.sequences else files

    @property
    def sequences(self) -> Files:
        """Promoters without coordinates."""
        section = self.section.get("promoter_sequences")
        return self.file(section["source"]) if section else []

    @property
    def sequence_sites(self) -> str:
        """Their start sites in the genome."""
        return f"{self.results}/promoter/sequences.bed"

    @property
    def promoters(self) -> Files:
        """Start sites as they are given."""
        return f"{self.demo}/promoters.bed" if self.is_demo else self.named("promoters")

    @property
    def sites(self) -> Files:
        """Start sites on the genome's assembly."""
        return f"{self.results}/promoter/sites.bed" if "chain" in self.section else self.promoters

    @property
    def variants(self) -> Files:
        return f"{self.demo}/variants.vcf" if self.is_demo else self.named("variants")

    @property
    def peaks(self) -> Files:
        """The sample sheet, or a list of the peak files that the config names one by one."""
        return f"{self.demo}/peaks.tsv" if self.is_demo else self._listed("peaks")

    @property
    def tracks(self) -> Files:
        """The sheet of tracks, or a list of their files."""
        return self._listed("tracks")

    def _listed(self, key: str) -> Files:
        named = self.section.get(key, [])
        if isinstance(named, str):
            return self.file(named)
        return [self.file(x) for x in (named.values() if isinstance(named, dict) else named)]

    @property
    def peak_sheet(self) -> Files:
        return self.peaks if isinstance(self.peaks, str) else []

    @property
    def peak_files(self) -> list[str]:
        """The files named in a local sample sheet, so that a changed one is noticed."""
        return _files_of(self._rows_of_sheet())

    @property
    def track_rows(self) -> list[SheetRow]:
        """Label and file of every track, of a sheet or as the config names them."""
        return track_rows(peak_paths(self.section["tracks"]))

    @property
    def track_files(self) -> list[str]:
        """The files of the tracks, also those named in a sheet."""
        return _files_of(self.track_rows)

    def of_baseline(self, name: str) -> list[str]:
        """Return what a baseline reads next to the labelled set: replicates, also the files named in a sheet."""
        if name != "replicate":
            return []
        listed = self._listed("replicates")
        files = _files_of(track_rows(peak_paths(self.section["replicates"])))
        return [*files, listed] if isinstance(listed, str) else files

    @property
    def peak_words(self) -> str:
        """The values of --peaks: the sheet, or peak files, which may have the names of their labels."""
        return self._words("peaks", self.peaks)

    @property
    def track_words(self) -> str:
        """The values of --tracks, likewise."""
        return self._words("tracks", self.tracks)

    @property
    def replicate_words(self) -> str:
        """The values of --tracks of the baseline `replicate`."""
        return self._words("replicates", self._listed("replicates"))

    def _words(self, key: str, files: Files) -> str:
        named = self.section.get(key)
        files = [files] if isinstance(files, str) else files
        if isinstance(named, dict):
            files = [f"{label}={path}" for label, path in zip(named, files, strict=True)]
        return shlex.join(files)

    def observed(self) -> list[tuple[str, str]]:
        """Return label and peak file of every label, as far as the config names files."""
        peaks, named = self.peaks, self.section.get("peaks", [])
        if self.is_demo:
            return [(x.name, f"{self.demo}/peaks/{x.name}.bed") for x in grammar.LABELS]
        if isinstance(peaks, str):
            return [(row.label, os.path.normpath(row.path)) for row in self._rows_of_sheet()]
        labels = named if isinstance(named, dict) else [label_of(Path(path)) for path in peaks]
        return list(zip(labels, peaks, strict=True))

    def _rows_of_sheet(self) -> list[SheetRow]:
        sheet = self.section.get("peaks")
        if not isinstance(sheet, str) or not is_path(sheet):
            return []
        return peak_rows(Path(self.file(sheet)))

    @property
    def deepsea(self) -> Files:
        """The folder of the published bundle."""
        return f"{self.results}/inputs/deepsea" if self.deepsea_archive else self.named("deepsea")

    @property
    def deepsea_archive(self) -> Files:
        """The archive that it is unpacked from, if it is downloaded."""
        archive = self.section.get("deepsea")
        return [] if archive is None or is_path(archive) else self.file(archive)

    @property
    def deepsea_coordinates(self) -> Files:
        """The coordinates of the bundle's rows; in its folder or next to it if not named."""
        if "deepsea" not in self.section or "deepsea_coordinates" in self.section:
            return self.named("deepsea_coordinates")
        return str(find_coordinates(Path(plain_path(self.section["deepsea"]))))

    @property
    def deepsea_labels(self) -> Files:
        published = f"{resource_folder('data_specs')}/deepsea_919_peaks.tsv"
        return self.named("deepsea_labels") or published

    def content(self, *files: Files) -> str:
        """Return a digest of the user's files, for params: Snakemake compares times, and a copy may keep one."""
        # Call it in a function of the wildcards alone: Snakemake does not compare params made of the input.
        listed = [x for each in files for x in ([each] if isinstance(each, str) else each)]
        own = [x for x in listed if not x.startswith(f"{self.results}/") and os.path.isfile(x)]
        return hashlib.sha256("".join(map(_sha256_once, own)).encode()).hexdigest()


def _files_of(rows: Sequence[SheetRow]) -> list[str]:
    return sorted({os.path.normpath(path) for row in rows for path in row.files.values()})


def fetched(sources: Sequence[str]) -> dict[str, str]:
    """Return the description of every source that is downloaded, by the name of its file."""
    paths = [find_spec(source) for source in sources if not is_path(source)]
    return {read_spec(path).output_name: str(path) for path in paths}
