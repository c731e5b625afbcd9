"""BEND, noncoding variant effects (Marin et al. 2024): `variant_effects_expression.bed` and `..._disease.bed`.

Format and protocol: README, `scripts/predict_variant_effects.py` and `scripts/run_variant_effects.sh` of the repository
frederikkemarin/BEND. Tab-separated with a header: chromosome, start, end, ref, alt, label, and columns that are not
read. `start` counts from 0: the script adds 256 bases to both sides of start and end, and changes the middle
base. So both end = start and end = start + 1 name the base at start; the original files were not available
here, and that they have a column `ref` is known only from programs that read them. Published metric: AUROC of the cosine
distance between the states of the token with the variant, forward strand, 512 bp. GRCh38.
"""

from pathlib import Path

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import Suite, Task, VariantRows, published_scores
from dna_bigbird.bench.suites.tables import (
    TableVariant,
    allele,
    check_both_labels,
    label_of,
    position,
    read_table,
)
from dna_bigbird.bench.suites.variant_positions import on_genome
from dna_bigbird.core.errors import InputError
from dna_bigbird.metrics.variant_scores import AUROC

NAME = "bend-variants"
ASSEMBLY = "GRCh38"
COLUMNS = ("chromosome", "start", "end", "ref", "alt", "label")
WINDOW_BP = 512
ABOUT = {
    "variant_effects_expression": "Variants that change expression (eQTL), or background variants.",
    "variant_effects_disease": "Pathogenic variants of ClinVar, or benign ones.",
}
FOLDERS = ("data/variant_effects", "variant_effects", ".")
ENDINGS = (".bed", ".bed.gz")


def tasks(folder: Path) -> list[Task]:
    """Return the tasks whose files are in `folder` or `folder/variant_effects`."""
    listed = [
        Task(
            name,
            AUROC,
            about,
            "variants",
            published=published_scores(NAME, name),
            assembly=ASSEMBLY,
        )
        for name, about in ABOUT.items()
        if _table(folder, name) is not None
    ]
    if not listed:
        raise InputError(
            f"{folder}: no variants of BEND in it; expected variant_effects_expression.bed or "
            "variant_effects_disease.bed, in it or in variant_effects/"
        )
    return listed


def _table(folder: Path, name: str) -> Path | None:
    paths = (folder / below / f"{name}{ending}" for below in FOLDERS for ending in ENDINGS)
    return next((path for path in paths if path.is_file()), None)


def read(folder: Path, task: Task, genomes: Genomes) -> VariantRows:
    """Read the variants of a task."""
    path = _table(folder, task.name)
    if path is None:
        raise InputError(f"{folder}: no {task.name}.bed")
    variants = read_variants(path)
    check_both_labels(variants, path)
    target = genomes.open(ASSEMBLY)
    rows, counts = on_genome(variants, path, target, column="start", counted_from=0)
    return VariantRows(
        rows,
        target.genome.path,
        target.assembly,
        counts,
        "embedding_cosine",
        WINDOW_BP,
        both_strands=False,
    )


def read_variants(path: Path) -> list[TableVariant]:
    """Return the rows of a file, their positions counted from 1."""
    variants = []
    for row, cells in read_table(path, COLUMNS):
        where = f"{path}:{row}"
        start = position(cells["start"], "start", where, least=0)
        end = position(cells["end"], "end", where, least=0)
        ref = allele(cells["ref"], "ref", where)
        alt = allele(cells["alt"], "alt", where)
        if end - start not in (0, len(ref)):
            raise InputError(
                f"{where}: start {start} and end {end}, and ref is {ref!r}; expected end = start + {len(ref)}"
            )
        label = label_of(cells["label"], where)
        variants.append(TableVariant(where, cells["chromosome"], start + 1, ref, alt, label))
    return variants


SUITE = Suite(
    name=NAME,
    title="BEND variant effects",
    about="variants of expression and disease, ranked by how far the states of their base move",
    where="the repository frederikkemarin/BEND on GitHub names the server of its data, folder variant_effects",
    licence="BSD-3-Clause",
    layout=(
        "variant_effects_expression.bed and variant_effects_disease.bed with "
        "chromosome,start,end,ref,alt,label between tabs, start from 0 on GRCh38; sequences from --genome"
    ),
    source="Marin et al. 2024, ICLR, arXiv 2311.12570",
    tasks=tasks,
    read=read,
    faults=(
        "Positives and negatives are not matched: where they lie in genes and how often each base changes differ, so "
        "the substitution or the GC content of the window can rank them."
    ),
)
