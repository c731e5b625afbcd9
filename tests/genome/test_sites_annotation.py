"""One annotation as the large providers write it gives the same start sites."""

import gzip

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.sites.reading import read_sites

# Ten genes of the kinds that providers write apart: name, biotype, and for each transcript its start site,
# counted from 1, and its biotype. The gene reaches from its first to its last base.
GENES = [
    ("AAA", "protein_coding", "+", [(1000, "mRNA"), (1200, "mRNA")]),
    ("BBB", "protein_coding", "-", [(5000, "mRNA")]),
    ("LNC1", "lncRNA", "+", [(6000, "lnc_RNA"), (6500, "lnc_RNA")]),
    ("MIR7", "miRNA", "-", [(8080, "miRNA")]),
    ("PSI1", "transcribed_pseudogene", "+", [(9000, "pseudogenic_transcript")]),
    ("SNORD1", "snoRNA", "+", [(11000, "snoRNA")]),
    ("TRNA-A", "tRNA", "-", [(12000, "tRNA")]),
    ("Y1", "misc_RNA", "+", [(13000, "Y_RNA")]),
    ("IGV1", "IG_V_gene", "+", [(14000, "V_gene_segment")]),
    ("PSI2", "pseudogene", "+", []),
]
SITES = [
    (name, strand, site - 1) for name, _, strand, sites in GENES for site, _ in dict(sites).items()
]
LENGTH = 60


def span(strand, site):
    return (site, site + LENGTH) if strand == "+" else (site - LENGTH, site)


def gene_span(strand, sites):
    spans = [span(strand, site) for site, _ in sites] or [(15000, 15100)]
    return min(first for first, _ in spans), max(last for _, last in spans)


def row(type, first, last, strand, attributes, chrom="chr1"):
    return f"{chrom}\tx\t{type}\t{first}\t{last}\t.\t{strand}\t.\t{attributes}\n"


def gtf(genes, more=""):
    """Ensembl, GENCODE and NCBI: every transcript is called `transcript`."""
    lines = ["#!genome-build toy\n"]
    for name, biotype, strand, sites in genes:
        told = f'gene_id "ID{name}"; gene_name "{name}"; gene_biotype "{biotype}";{more}'
        lines.append(row("gene", *gene_span(strand, sites), strand, told))
        for number, (site, _) in enumerate(sites):
            own = f'{told} transcript_id "T{name}{number}";'
            lines.append(row("transcript", *span(strand, site), strand, own))
            lines.append(row("exon", *span(strand, site), strand, own))
    return "".join(lines)


def ensembl(genes, plain=False):
    """Types by biotype, the name only at the gene; the transcript's own Name is that of the transcript."""
    lines = ["##gff-version 3\n", "##sequence-region chr1 1 20000\n", "###\n"]
    for name, biotype, strand, sites in genes:
        kind = "gene" if plain else "pseudogene" if "pseudo" in biotype else "gene"
        kind = kind if "RNA" not in biotype or plain else "ncRNA_gene"
        told = f"ID=gene:ID{name};Name={name};biotype={biotype};gene_id=ID{name}"
        lines.append(row(kind, *gene_span(strand, sites), strand, told))
        for number, (site, type) in enumerate(sites):
            own = f"ID=transcript:T{name}{number};Parent=gene:ID{name};Name={name}-20{number}"
            lines.append(row("transcript" if plain else type, *span(strand, site), strand, own))
            lines.append(
                row("exon", *span(strand, site), strand, f"Parent=transcript:T{name}{number}")
            )
    return "".join(lines)


def ncbi(genes):
    """Primary transcripts with a miRNA inside; exons of a pseudogene directly below it; a region first."""
    lines = ["##gff-version 3\n", row("region", 1, 20000, "+", "ID=chr1:1..20000;gbkey=Src")]
    for name, biotype, strand, sites in genes:
        kind = "pseudogene" if biotype == "pseudogene" else "gene"
        told = f"ID=gene-{name};Name={name};gbkey=Gene;gene={name};gene_biotype={biotype};partial"
        lines.append(row(kind, *gene_span(strand, sites), strand, told))
        if not sites:
            lines.append(row("exon", 15000, 15100, strand, f"ID=id-{name};Parent=gene-{name}"))
        for number, (site, type) in enumerate(sites):
            first = "primary_transcript" if type == "miRNA" else type
            own = f"ID=rna-{name}{number};Parent=gene-{name};gene={name};product=a%3B b"
            lines.append(row(first, *span(strand, site), strand, own))
            if type == "miRNA":
                inner = f"ID=mi-{name};Parent=rna-{name}{number};gene={name}"
                lines.append(row("miRNA", site - 30, site - 10, strand, inner))
    return "".join(lines)


def accessions(genes):
    """Types as accessions of the Sequence Ontology, which the specification allows."""
    words = {"gene": "SO:0000704", "transcript": "SO:0000673", "exon": "SO:0000147"}
    text = ensembl(genes, plain=True)
    for word, accession in words.items():
        text = text.replace(f"\tx\t{word}\t", f"\tx\t{accession}\t")
    return text


FORMS = {
    "gtf": gtf(GENES),
    "gtf with flags, escapes and comments": gtf(GENES, r' partial; note "a \"b\"; c"; level 2;'),
    "gtf with trailing tabs": gtf(GENES).replace(";\n", ";\t\n"),
    "gtf with comments at line ends": gtf(GENES).replace(";\n", "; # made by hand; or not\n"),
    "ensembl": ensembl(GENES),
    "gencode": ensembl(GENES, plain=True),
    "ncbi": ncbi(GENES),
    "accessions": accessions(GENES),
    "children first": "##gff-version 3\n" + "".join(ensembl(GENES).splitlines(True)[:2:-1]),
    "percent encoding": ensembl(GENES).replace("chr1\t", "chr%31\t").replace("Name=A", "Name=%41"),
}


def read(tmp_path, text):
    path = tmp_path / "annotation"
    path.write_text(text)
    return read_sites(path)


def facts(sites):
    return sorted(
        (site.name.rpartition("_")[0], site.interval.strand, site.interval.start) for site in sites
    )


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_an_annotation_gives_the_same_sites(tmp_path, form, capsys):
    sites = read(tmp_path, FORMS[form])
    assert facts(sites) == sorted(SITES)
    assert {site.interval.chrom for site in sites} == {"chr1"}
    assert {site.gene.removeprefix("ID") for site in sites} == {name for name, *_ in SITES}
    assert "1 pseudogene without a transcript" in capsys.readouterr().err


def test_features_that_give_no_site_are_counted_by_type(tmp_path, capsys):
    more = row("enhancer", 1, 9, ".", "ID=e1") * 3 + row("mRNA", 5, 9, ".", "ID=m;Parent=g")
    read(tmp_path, ncbi(GENES) + more)
    (line,) = capsys.readouterr().err.splitlines()
    for part in (
        "3 enhancer",
        "1 region",
        "1 miRNA within a transcript",
        "1 mRNA without a strand",
    ):
        assert part in line
    assert "exon" not in line


def test_rows_without_a_strand_are_left_out(tmp_path, capsys):
    """As StringTie writes transcripts of one exon."""
    text = row("transcript", 10, 20, ".", 'gene_id "S.1"; transcript_id "S.1.1";')
    text += row("transcript", 30, 40, "-", 'gene_id "S.2"; transcript_id "S.2.1";')
    (site,) = read(tmp_path, text)
    assert (site.interval.start, site.gene) == (39, "S.2")
    assert "1 transcript without a strand" in capsys.readouterr().err


def test_genes_without_transcripts_start_themselves(tmp_path):
    """Genes of bacteria contain their CDS directly; only those of RNA have a transcript."""
    text = "##gff-version 3\n"
    for name, strand, first, last in [("dnaA", "+", 100, 200), ("gyrB", "-", 300, 400)]:
        text += row("gene", first, last, strand, f"ID=gene-{name};Name={name}")
        text += row("CDS", first, last, strand, f"ID=cds-{name};Parent=gene-{name}")
    text += row("gene", 500, 600, "+", "ID=gene-r;Name=r") + row(
        "tRNA", 500, 600, "+", "Parent=gene-r"
    )
    assert facts(read(tmp_path, text)) == [("dnaA", "+", 99), ("gyrB", "-", 399), ("r", "+", 499)]


def test_a_feature_beyond_the_last_base_of_a_circle(tmp_path):
    text = "##gff-version 3\n" + row("region", 1, 5386, "+", "ID=phix;Is_circular=true")
    text += row("gene", 3981, 5522, "-", "ID=gene-A;Name=A") + "###\n>phix\nACGT\n"
    (site,) = read(tmp_path, text)
    assert site.interval.start == 5522 - 5386 - 1


def test_one_transcript_on_several_rows_starts_where_the_first_one_starts(tmp_path):
    parts = [row("mRNA", first, first + 50, "-", "ID=t;Name=t") for first in (100, 900, 500)]
    (site,) = read(tmp_path, "".join(parts))
    assert site.interval.start == 949


@pytest.mark.parametrize("attributes", ['gene_id "A', "gene_id A B;", 'gene_id "A" "B";'])
def test_attributes_that_cannot_be_read(tmp_path, attributes):
    with pytest.raises(InputError, match=r"annotation:1: .*column 9"):
        read(tmp_path, row("transcript", 1, 9, "+", attributes))


@pytest.mark.parametrize("form", [gtf, ensembl, ncbi])
def test_real_gene_spans(real_data, tmp_path, form):
    """Genes of hg19 written as annotation, one transcript each, of types drawn for them."""
    path = real_data / "promoters/genes_hg19_chr17_chr22.bed.gz"
    rows = [line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    kinds = [("protein_coding", "mRNA"), ("lncRNA", "lnc_RNA"), ("snRNA", "snRNA")]
    drawn = np.random.default_rng(0).integers(len(kinds), size=len(rows))
    starts, genes = set(), []
    for number, (fields, kind) in enumerate(zip(rows, drawn, strict=True)):
        strand = fields[5]
        site = int(fields[1]) + 1 if strand == "+" else int(fields[2])
        biotype, type = kinds[kind]
        genes.append((f"{fields[3]}.{number}", biotype, strand, [(site, type)]))
        starts.add((strand, site - 1))
    sites = read(tmp_path, form(genes))
    assert {(site.interval.strand, site.interval.start) for site in sites} == starts
