"""Writing the demo's files; equal configs give equal bytes."""

from pathlib import Path

from dna_bigbird.core.result_folders import DEMO, atomic_directory
from dna_bigbird.demo import grammar
from dna_bigbird.demo.build import Demo
from dna_bigbird.demo.label_rules import Peak
from dna_bigbird.demo.long_range import CHROM, CLASSES, CONTROLS, DISTANT, WRONG_BP, LongRange
from dna_bigbird.genome import embedded_sequence
from dna_bigbird.genome.motifs import load_motifs

LINE_BP = 100
TRUTH_COLUMNS = ("kind", "name", "start", "end", "strand", "belongs_to", "note")
VCF_HEADER = f"""\
##fileformat=VCFv4.2
##source=dna-bigbird demo-data (semi-synthetic)
##reference=demo.fa
##contig=<ID={embedded_sequence.CHROM},length={embedded_sequence.LENGTH}>
##INFO=<ID=EFFECT,Number=1,Type=String,Description="break: lowers a planted site; create: repairs a planted decoy; none: neutral">
##INFO=<ID=LABEL,Number=.,Type=String,Description="Labels that depend on the site; for EFFECT=none, labels of the element around it">
##INFO=<ID=FACTOR,Number=1,Type=String,Description="Factor whose site is changed">
##INFO=<ID=ELEMENT,Number=1,Type=String,Description="Element in truth.tsv">
##INFO=<ID=COPIES,Number=1,Type=Integer,Description="Intact sites of the factor in the element, without the variant">
##INFO=<ID=DELTA_BITS,Number=1,Type=Float,Description="Matrix score of the site with ALT minus with REF, in bits">
#CHROM	POS	ID	REF	ALT	QUAL	FILTER	INFO
"""


def write_demo(demo: Demo, folder: Path) -> None:
    """Write a demo into a folder; one that another call wrote is replaced."""
    with atomic_directory(Path(folder), DEMO) as out:
        labels = [(label.name, label.group) for label in grammar.LABELS]
        write_genome_and_peaks(out, embedded_sequence.CHROM, demo, labels)
        write_text(out / "promoters.bed", promoters_bed(demo))
        write_text(out / "variants.vcf", variants_vcf(demo))
        write_text(out / "README.md", readme(demo))


def write_genome_and_peaks(
    out: Path, chrom: str, demo: Demo | LongRange, labels: list[tuple[str, str]]
) -> None:
    """Write what both demos have: genome, peaks with their sample sheet, truth."""
    lines = (demo.sequence[i : i + LINE_BP] for i in range(0, len(demo.sequence), LINE_BP))
    write_text(out / "demo.fa", f">{chrom}\n" + "\n".join(lines) + "\n")
    (out / "peaks").mkdir()
    for label, text in peak_beds(chrom, demo.peaks).items():
        write_text(out / "peaks" / f"{label}.bed", text)
    sheet = [("label", "group", "cell", "path")]
    sheet += [(name, group, "demo", f"peaks/{name}.bed") for name, group in labels]
    write_text(out / "peaks.tsv", table_text(sheet))
    write_text(out / "truth.tsv", table_text([TRUTH_COLUMNS, *truth_rows(demo)]))


def promoters_bed(demo: Demo) -> str:
    """Return the start sites as BED6, one base each."""
    promoters = [element for element in demo.elements if element.tss is not None]
    rows = [
        (embedded_sequence.CHROM, p.tss, p.tss + 1, p.name, 0, p.strand)
        for p in sorted(promoters, key=lambda p: p.tss)
    ]
    return table_text(rows)


def peak_beds(chrom: str, peaks: dict[str, list[Peak]]) -> dict[str, str]:
    """Return one BED4 text per label; the name lists the elements that cause a peak."""
    return {
        label: table_text([(chrom, p.start, p.end, ",".join(p.members)) for p in here])
        for label, here in peaks.items()
    }


def variants_vcf(demo: Demo) -> str:
    """Return the variants as VCF 4.2: positions from 1, sorted."""
    rows = []
    for number, variant in enumerate(demo.variants, 1):
        info = [f"EFFECT={variant.effect}"]
        info += [f"LABEL={','.join(variant.labels)}"] if variant.labels else []
        info += [f"FACTOR={variant.factor}"] if variant.factor else []
        info += [f"ELEMENT={variant.element}"] if variant.element else []
        if variant.factor:
            info += [f"COPIES={variant.copies}", f"DELTA_BITS={variant.delta_bits:.3f}"]
        site = (embedded_sequence.CHROM, variant.position + 1, f"V{number:04d}")
        rows.append((*site, variant.ref, variant.alt, ".", ".", ";".join(info)))
    return VCF_HEADER + table_text(rows)


def truth_rows(demo: Demo | LongRange) -> list[tuple]:
    """Return every planted thing: promoters, flanks, distal elements, sites, decoys."""
    motifs = load_motifs()
    rows = []
    for element in demo.elements:
        if element.tss is not None:
            note = f"class={element.promoter_class}"
            rows.append(
                ("promoter", element.name, element.tss, element.tss + 1, element.strand, ".", note)
            )
            rows.append(("flank", "CpG", *element.flank, element.strand, element.name, "."))
        else:
            row = ("element", element.name, element.start, element.end, ".", ".")
            rows.append((*row, f"unit={element.category}"))
        for site in sorted(element.sites, key=lambda site: site.start):
            site_type = "decoy" if site.is_decoy else "site"
            note = f"matrix={motifs[site.factor].matrix_id};bits={site.score:.3f}"
            note += f";intact={site.intact}" if site.is_decoy else ""
            row = (site_type, site.factor, site.start, site.end, site.strand, element.name, note)
            rows.append(row)
    return sorted(rows, key=lambda row: (row[2], row[3], row[0], row[1]))


def readme(demo: Demo) -> str:
    """Return the README that travels with the files."""
    rules = "\n".join(f"| {x.name} | {x.group} | {x.rule} |" for x in grammar.LABELS)
    command = f"dna-bigbird demo-data --output DIR --seed {demo.config.seed}"
    command += f" --promoters {demo.config.promoters} --variants {demo.config.variants}"
    return f"""\
# Demo data: semi-synthetic

**Nothing here is a measurement.** The background is the real human sequence hg19
chr22:20,000,001-21,000,000; promoters and binding sites were planted into it by a program, and
the labels follow from what was planted. Scores reached on these data say that a pipeline works,
not that a model understands a genome.

Made by `{command}`.

| file | content |
|---|---|
| `demo.fa` | the genome: one record, `{embedded_sequence.CHROM}`, {embedded_sequence.LENGTH:,} bp; planted bases replace real ones, so position p here is hg19 chr22 position p + 20,000,000 |
| `promoters.bed` | planted start sites, BED6, one base each |
| `peaks/LABEL.bed` | peaks of a label, BED4; the name lists the elements that cause a peak |
| `peaks.tsv` | sample sheet: label, group, cell, path relative to this file |
| `variants.vcf` | substitutions that break a planted site, repair a decoy, or do neither (INFO EFFECT) |
| `truth.tsv` | every planted thing: kind, name, start, end, strand, belongs_to, note |

Intervals are 0-based and half-open; the VCF counts from 1. Bases outside the `flank`, `site` and
`decoy` rows of `truth.tsv` are the real ones. The {embedded_sequence.GAP[1] - embedded_sequence.GAP[0]:,} bp
from {embedded_sequence.GAP[0]:,} to {embedded_sequence.GAP[1]:,} are N, as in hg19.

| label | group | rule |
|---|---|---|
{rules}

Matrices: JASPAR 2024 (Rauluseviciute et al. 2024) and JASPAR 2020 (Fornes et al. 2020), CC BY 4.0.
The grammar is explained in `docs/reference/demo-data.md` of dna-bigbird.
"""


def table_text(rows: list[tuple]) -> str:
    """Return rows with tabs between their values."""
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def write_text(path: Path, text: str) -> None:
    """Write a file that has the same bytes on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")


# Writing the long-range demo; equal configs give equal bytes.

RULES = {label.name: label.rule for label in grammar.LABELS} | {
    name: f"promoters of the class {promoter_class}, -100..+220"
    for name, promoter_class in CLASSES.items()
}
GROUPS = (("Distant", DISTANT), ("Control", CONTROLS), ("Anchor", tuple(CLASSES)))
"""Groups of the sample sheet: `chromatin-set --require_group Anchor` keeps one bin per promoter."""

MISPLACED = {
    "absent": "",
    "misplaced": "\nA cluster that is not there is elsewhere: "
    + " or ".join(f"{low:,} to {high:,}" for low, high in WRONG_BP)
    + " bp from the start,\nwith equal chances, so every window of 8000 bp contains both clusters.",
}


def write_long_range(demo: LongRange, folder: Path) -> None:
    """Write the long-range demo into a folder; one that another call wrote is replaced."""
    with atomic_directory(Path(folder), DEMO) as out:
        labels = [(name, group) for group, names in GROUPS for name in names]
        write_genome_and_peaks(out, CHROM, demo, labels)
        write_text(out / "README.md", long_range_readme(demo))


def long_range_readme(demo: LongRange) -> str:
    """Return the README that travels with the files."""
    config = demo.config
    rows = "\n".join(
        f"| {name} | {group} | {RULES[name]} |" for group, names in GROUPS for name in names
    )
    command = f"dna-bigbird demo-data --output DIR --long_range {config.units}"
    command += f" --copies {config.copies} --seed {config.seed}"
    command += "" if config.negatives == "absent" else f" --negatives {config.negatives}"
    return f"""\
# Long-range demo data: semi-synthetic

**Nothing here is a measurement.** The background was generated by a Markov chain of order 5,
fitted on hg19 chr22:20,000,001-21,000,000; promoters and binding sites were planted into it.
Scores reached on these data say what a model can learn of this grammar, not of a genome.

Made by `{command}`.

`{CHROM}` is {len(demo.sequence):,} bp: {config.units:,} units of {config.unit_bp:,} bp, each with one
promoter in its middle and, by chance {config.partner_share} each, a cluster of {config.copies} FOS::JUN sites and one of
{config.copies} REST sites, 1 to 3 kb from the start on either side.{MISPLACED[config.negatives]}

| label | group | rule |
|---|---|---|
{rows}

The columns of `truth.tsv` and the rest of the grammar are explained in `docs/reference/demo-data.md` of dna-bigbird.
"""
