"""TraitGym (Benegas et al. 2025): causal variants of traits and matched controls, `DATASET/test.parquet`.

Format and protocol: README, `workflow/rules/model.smk` and `workflow/notebooks/glm_zero_shot.ipynb` of the repository
songlab-cal/TraitGym (4d80fe8), and the card of the data set of the same name. Columns chrom (without `chr`), pos
(from 1, GRCh38), ref, alt, label, match_group and others that are not read. `DATASET/subset/NAME.parquet` lists
chrom, pos, ref and alt of the variants of a subset. Published metric: average precision by chromosome, weighted by the
number of variants. The model's score without training is -LLR for Mendelian and |LLR| for complex traits, as the authors
score GPN-MSA. For each other model they take the best of five scores, chosen on the test variants; this is not
repeated here.
"""

from collections.abc import Mapping
from pathlib import Path

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import Suite, Task, VariantRows, published_scores
from dna_bigbird.bench.suites.tables import (
    TABLE_ENDINGS,
    TableVariant,
    allele,
    check_both_labels,
    label_of,
    position,
    read_table,
)
from dna_bigbird.bench.suites.variant_positions import on_genome
from dna_bigbird.core.errors import InputError
from dna_bigbird.metrics.variant_scores import BY_CHROMOSOME

NAME = "traitgym"
ASSEMBLY = "GRCh38"
COORDINATES = ("chrom", "pos", "ref", "alt")
GROUP = "match_group"
DATASETS = {
    "mendelian_traits": "mendelian_traits_matched_9",
    "complex_traits": "complex_traits_matched_9",
    "mendelian_traits_full": "mendelian_traits_all",
    "complex_traits_full": "complex_traits_all",
}
"""Names for loading and folders of the data sets."""
ABOUT = {
    "mendelian_traits": "Causal regulatory variants of Mendelian traits, nine matched common variants for each.",
    "complex_traits": "Fine-mapped regulatory variants of complex traits, nine matched controls for each.",
    "mendelian_traits_full": "Causal regulatory variants of Mendelian traits, all common variants.",
    "complex_traits_full": "Fine-mapped regulatory variants of complex traits, all controls.",
}
SEPARATOR = "."
"""Between data set and subset in the name of a task."""


def tasks(folder: Path) -> list[Task]:
    """Return the data sets below `folder`, each followed by its subsets."""
    listed = []
    for name in DATASETS:
        if _table(folder, name) is None:
            continue
        listed.append(_task(name, ABOUT[name]))
        for subset in _subsets(folder, name):
            about = f"{ABOUT[name]} Subset: {subset}."
            listed.append(_task(f"{name}{SEPARATOR}{subset}", about, only_named=True))
    if not listed:
        raise InputError(
            f"{folder}: no data set of TraitGym in it; expected files such as "
            f"{DATASETS['mendelian_traits']}/test.parquet (or .tsv, .csv with the same columns)"
        )
    return listed


def _task(name: str, about: str, *, only_named: bool = False) -> Task:
    return Task(
        name,
        BY_CHROMOSOME,
        about,
        "variants",
        published=published_scores(NAME, name),
        assembly=ASSEMBLY,
        only_named=only_named,
    )


def _table(folder: Path, name: str) -> Path | None:
    """Return the file with the variants of a data set: DATASET/test.ENDING or DATASET.ENDING."""
    stems = [f"{stem}{end}" for stem in (DATASETS[name], name) for end in ("/test", "")]
    paths = (folder / f"{stem}{ending}" for stem in stems for ending in TABLE_ENDINGS)
    return next((path for path in paths if path.is_file()), None)


def _subsets(folder: Path, name: str) -> dict[str, Path]:
    paths = {}
    for stem in (DATASETS[name], name):
        for path in sorted((folder / stem / "subset").glob("*")):
            ending = next((end for end in TABLE_ENDINGS if path.name.endswith(end)), None)
            if ending and (subset := path.name.removesuffix(ending)) != "all":
                paths.setdefault(subset, path)
    return paths


def read(folder: Path, task: Task, genomes: Genomes) -> VariantRows:
    """Read the variants of a data set or of one of its subsets."""
    name, _, subset = task.name.partition(SEPARATOR)
    path = _table(folder, name)
    if path is None:
        raise InputError(f"{folder}: no {DATASETS[name]}/test.parquet")
    variants = read_variants(path, is_matched=not name.endswith("_full"))
    if subset:
        variants = _chosen(variants, _subsets(folder, name)[subset], path)
    check_both_labels(variants, path)
    target = genomes.open(ASSEMBLY)
    rows, counts = on_genome(variants, path, target, column="pos", counted_from=1)
    zero_shot = "likelihood" if name.startswith("mendelian") else "absolute_likelihood"
    return VariantRows(rows, target.genome.path, target.assembly, counts, zero_shot)


def read_variants(path: Path, *, is_matched: bool = True) -> list[TableVariant]:
    """Return the rows of a data set."""
    needed = (*COORDINATES, "label", *((GROUP,) if is_matched else ()))
    return [
        _variant(cells, f"{path}:{row}", label_of(cells["label"], f"{path}:{row}"))
        for row, cells in read_table(path, needed, () if is_matched else (GROUP,))
    ]


def _variant(cells: Mapping[str, str], where: str, label: bool) -> TableVariant:
    return TableVariant(
        where,
        cells["chrom"],
        position(cells["pos"], "pos", where, least=1),
        allele(cells["ref"], "ref", where),
        allele(cells["alt"], "alt", where),
        label,
        cells.get(GROUP, ""),
    )


def _chosen(variants: list[TableVariant], subset: Path, path: Path) -> list[TableVariant]:
    known = {variant.key: variant for variant in variants}
    chosen = []
    for row, cells in read_table(subset, COORDINATES):
        where = f"{subset}:{row}"
        variant = _variant(cells, where, False)
        if variant.key not in known:
            raise InputError(
                f"{where}: {variant.chrom}:{variant.pos} {variant.ref}>{variant.alt} is not in {path}; do the "
                "two files belong together?"
            )
        chosen.append(known[variant.key])
    return chosen


SUITE = Suite(
    name=NAME,
    title="TraitGym",
    about="causal regulatory variants of traits, ranked above matched controls",
    where="the data set songlab/TraitGym on Hugging Face; its code is songlab-cal/TraitGym on GitHub",
    licence="MIT",
    layout=(
        "DATASET/test.parquet (or .tsv, .csv) with chrom,pos,ref,alt,label,match_group, pos from 1 on GRCh38, and "
        "DATASET/subset/NAME.parquet; parquet needs dna-bigbird[bench]; sequences from --genome"
    ),
    source="Benegas, Eraslan and Song 2025, bioRxiv 2025.02.11.637758",
    tasks=tasks,
    read=read,
    faults=(
        "Controls of Mendelian traits are common variants, so allele frequency alone separates them from causal "
        "variants. With few variants on a chromosome a random order scores above the share of positives: "
        "compare with the score of chance, not with 0.1."
    ),
)
