"""The readers that `coverage_guided` drives, each with its forms of input and a corpus made from the tests.

A form writes what lies beside its input, and reads that as a command would, to the end.
"""

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pysam
import torch
import yaml

from dna_bigbird.bench.suites.tables import read_table
from dna_bigbird.bundles import text_tasks
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.character_model import (
    CharacterDescription,
    load_character_model,
    save_character_model,
)
from dna_bigbird.core.lazy_names import load
from dna_bigbird.core.yaml_files import read_yaml
from dna_bigbird.corpus.characters import CharacterSplit
from dna_bigbird.corpus.tokenizer_files import load_tokenizer
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.bed import place_on_genome, read_bed, read_columns
from dna_bigbird.genome.fasta_stream import read_dna
from dna_bigbird.genome.lift_over import lift_interval, read_chain
from dna_bigbird.genome.motif_files import meme_text, read_motifs
from dna_bigbird.genome.sites.reading import FORMATS, read_sites
from dna_bigbird.genome.sources.specs import read_spec
from dna_bigbird.genome.variants import allele_kind, open_vcf
from dna_bigbird.labelled.chromatin.peak_sheet import read_sheet
from dna_bigbird.labelled.sequences.files import SequenceColumns, SequenceFile
from dna_bigbird.models.character_config import CharacterConfig
from dna_bigbird.models.character_model import CharacterModel
from dna_bigbird.text.data.hotpotqa import read_hotpotqa
from dna_bigbird.text.data.reading import read_documents
from dna_bigbird.text.data.squad import read_squad
from dna_bigbird.text.data.triviaqa import TriviaQaOptions
from dna_bigbird.text.data.wikihop import read_wikihop
from dna_bigbird.theory.turing.machine import read_machine
from dna_bigbird.workflow.config.run_config import read_config
from tests.fuzz.conftest import GENOME
from tests.fuzz.crash_child import DNA
from tests.genome.test_liftover import CHAIN
from tests.genome.test_motif_files import JASPAR, MEME
from tests.genome.test_sites import EPD, KINDS, UCSC
from tests.text_readers import read_natural_questions, read_summaries, read_triviaqa
from tests.text_vocabulary import TEXT, tiny_text_tokenizer
from tests.tiny_bundle import write_tiny_bundle

ROOT = Path(__file__).resolve().parents[2]
FASTA = "".join(f">{name}\n{bases}\n" for name, bases in GENOME.items()).encode()
BED = (
    b"track name=x\nchr1\t9\t80\ta/b\t3.5\t+\nchr2\t0\t25\tc\t0\t-\n",
    b"1 10 20\n# text\nscaffold_3 1 9\n",
    b"chr1\t1\t9\t.\t1000\t.\t7.1\t3\t-1\t4\n",
)
VCF = (
    "##fileformat=VCFv4.2\n##contig=<ID=chr1,length=300>\n"
    '##INFO=<ID=AF,Number=A,Type=Float,Description="x">\n'
    "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tone\n"
    f"chr1\t1\trs1\t{GENOME['chr1'][0]}\tA,<DEL>,*\t.\tPASS\tAF=0.5\tGT\t0|1\n"
    f"chr1\t7\t.\t{GENOME['chr1'][6:9]}\tG]chr1:5]\t3\t.\t.\tGT\t./.\n"
).encode()
TABLE = b'sequence,label,other\nACGTNacgtn,1,"a ""b"""\nTTGACA,0,c\n'
WORDS = b"sequence\tlabel\tother\nACG CGT GTT\tyes\tx\nTTG TGA\tno\ty\n"
SHEET = (
    b"label\tgroup\tcell\tpath\tprefix\n# text\nCTCF\tTF\tK562\tx.bed\t\n*\tTF\tA549\tx.bed\tA \n"
)


@dataclass(frozen=True)
class Form:
    """One form of input: where it is written, what reads it, and files of this form."""

    path: Path
    read: Callable[[Path], object]
    seeds: Sequence[bytes]


def fasta(folder: Path) -> list[Form]:
    with pysam.BGZFile(str(folder / "seed.gz"), "wb") as stream:
        stream.write(FASTA)
    seeds = [FASTA, FASTA.replace(b"\n", b"\r\n"), b">a x\nACGTRYKMU\nac\n\n>b\nN\n"]
    seeds += [gzip.compress(FASTA, mtime=0), (folder / "seed.gz").read_bytes()]

    def random_access(path: Path) -> None:
        for name in (".fai", ".gzi"):
            path.with_name(path.name + name).unlink(missing_ok=True)
        genome = Genome(path)
        for chrom, length in genome.lengths.items():
            genome.fetch(Interval(chrom, 0, min(length, 1000)))

    return [
        Form(folder / "stream.fa", lambda path: list(read_dna(path)), seeds),
        Form(folder / "genome.fa", random_access, seeds),
    ]


def bed(folder: Path) -> list[Form]:
    (folder / "genome.fa").write_bytes(FASTA)
    genome = Genome(folder / "genome.fa")

    def rows_of(path: Path) -> None:
        place_on_genome(read_bed(path), genome, path, pieces=True)

    def same_columns(path: Path) -> None:
        columns, rows = read_columns(path), read_bed(path)
        read = zip(columns.chrom, columns.start, columns.end, columns.name, strict=True)
        for row, (chrom, start, end, name) in zip(rows, read, strict=True):
            place = (row.interval.chrom, row.interval.start, row.interval.end)
            assert place == (columns.chromosomes[chrom], start, end)
            assert row.name == columns.names[name]

    return [
        Form(folder / "rows.bed", rows_of, BED),
        Form(folder / "columns.bed", same_columns, BED),
    ]


def vcf(folder: Path) -> list[Form]:
    def read(path: Path) -> None:
        with open_vcf(path) as (header, variants):
            assert header.contig_lengths.keys() | header.info_ids is not None
            for variant in variants:
                assert variant.interval.start == variant.pos - 1
                list(map(allele_kind, variant.alts))

    return [Form(folder / "x.vcf", read, [VCF, gzip.compress(VCF, mtime=0)])]


def sites(folder: Path) -> list[Form]:
    texts = [*KINDS.values(), EPD, UCSC]
    return [
        Form(folder / f"{name}.txt", lambda path, name=name: read_sites(path, name),
             [text.encode() for text in (texts if name == "auto" else [KINDS[name]])])
        for name in FORMATS
    ]  # fmt: skip


def motifs(folder: Path) -> list[Form]:
    def read(path: Path) -> None:
        matrices = read_motifs(path)
        for matrix in matrices:
            assert np.allclose(matrix.shares.sum(axis=0), 1)
            assert len(matrix.consensus) == matrix.width
        meme_text(matrices, {matrix.identifier: 20 for matrix in matrices})

    return [Form(folder / "x.meme", read, [MEME.encode(), JASPAR.encode()])]


def chain(folder: Path) -> list[Form]:
    def read(path: Path) -> None:
        opened = read_chain(path)
        for place in (0, 11, 31, 55):
            lift_interval(Interval("chrA", place, place + 3, "+"), opened)

    return [Form(folder / "x.chain", read, [CHAIN.encode(), gzip.compress(CHAIN.encode())])]


def tables(folder: Path) -> list[Form]:
    (folder / "x.bed").write_bytes(BED[0])

    def labelled(path: Path, kmers: int) -> None:
        list(SequenceFile(path).rows(SequenceColumns(kmers=kmers, group="other"), None))

    return [
        Form(folder / "plain.csv", lambda path: labelled(path, 0), [TABLE]),
        Form(folder / "words.csv", lambda path: labelled(path, 3), [WORDS]),
        Form(folder / "suite.csv", lambda path: list(read_table(path, ["sequence", "label"])), [TABLE, WORDS]),
        Form(folder / "sheet.tsv", read_sheet, [SHEET]),
    ]  # fmt: skip


def _files(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(ROOT.glob(pattern))]


def yaml_files(folder: Path) -> list[Form]:
    def read(path: Path) -> None:
        file = read_yaml(path)
        for key in file.values():
            file.line([key])

    (folder / "deepsea_919_peaks.tsv").write_bytes(
        (ROOT / "data_specs/deepsea_919_peaks.tsv").read_bytes()
    )
    specs = [{**yaml.safe_load(text), "name": "spec"} for text in _files("data_specs/*.yaml")]
    merged = (
        b"a: &a {b: [1, 2.5e3, yes, 2001-01-01], c: ~}\nd:\n  <<: *a\n  e: !!str 3\nf: |\n  x\n"
    )
    return [
        Form(folder / "plain.yaml", read, [merged, *_files("config/*.yaml")]),
        Form(folder / "spec.yaml", read_spec, [yaml.safe_dump(spec).encode() for spec in specs]),
        Form(folder / "x.yaml", read_machine, _files("dna_bigbird/theory/turing/machines/*.yaml")),
    ]


def run_config(folder: Path) -> list[Form]:
    return [Form(folder / "run.yaml", lambda path: read_config([path]), _files("config/*.yaml"))]


def _tiny_bundle(folder: Path) -> Path:
    encoder = {
        "hidden_size": 8, "num_layers": 1, "num_heads": 2, "ffn_size": 8,
        "max_tokens": 48, "block_size": 4, "num_random": 1, "dropout": 0.0,
    }  # fmt: skip
    write_tiny_bundle(folder, vocab_size=24, encoder=encoder, window_bp=40)
    config = json.loads((folder / "config.json").read_text())
    del config["sha256"]
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def _character_model(folder: Path) -> Path:
    config = CharacterConfig(
        vocab_size=4, hidden_size=8, num_heads=2, ffn_size=8, causal_windows=[4], dilations=[1]
    )
    about = CharacterDescription(
        config, [*b"ACGT"], None, "dna", CharacterSplit(validation=["chr1"]), "0" * 64, 0, {}
    )
    save_character_model(folder, CharacterModel(config), about, metrics={}, history="")
    return folder


def bundles(folder: Path) -> list[Form]:
    torch.set_num_threads(1)
    forms = []
    for name, write, read in (
        ("labels", _tiny_bundle, load_bundle),
        ("characters", _character_model, load_character_model),
    ):
        path = write(folder / name) / "config.json"
        compact = json.dumps(json.loads(path.read_text())).encode()
        seeds = [path.read_bytes(), compact]
        forms.append(Form(path, lambda path, read=read: read(path.parent), seeds))
    return forms


def vocabularies(folder: Path) -> list[Form]:
    own = _tiny_bundle(folder / "own") / "tokenizer.model"
    (folder / "text").mkdir()
    spiece = tiny_text_tokenizer().files["spiece.model"]

    def use(path: Path, text: str) -> None:
        tokenizer = load_tokenizer(path.parent)
        try:
            ids = np.asarray(tokenizer.encode(text))
        except ValueError as error:
            if "not A C G T N" not in str(error):  # letters that the vocabulary has lost
                raise
        else:
            assert ids.size == 0 or 0 <= ids.min() <= ids.max() < tokenizer.vocab_size

    return [
        Form(own, lambda path: use(path, DNA), [own.read_bytes()]),
        Form(folder / "text/spiece.model", lambda path: use(path, TEXT), [spiece]),
    ]


def text_sets(folder: Path) -> list[Form]:
    written: dict[str, bytes] = {}
    for part in text_tasks.synthetic_text().values():
        for name, content in load(part.write)(0, 1).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            written[name] = gzip.decompress(content) if name.endswith(".gz") else content
    reads: dict[str, Callable[[Path], object]] = {
        "squad/train-v1.1.json": lambda path: read_squad(path, "train", version="1.1"),
        "squad/dev-v2.0.json": lambda path: read_squad(path, "validation", version="2.0"),
        "hotpotqa/hotpot_train_v1.1.json": read_hotpotqa,
        "natural-questions/nq-dev-00.jsonl.gz": lambda path: read_natural_questions(path, "validation"),
        "natural-questions/simplified-nq-train.jsonl.gz": lambda path: read_natural_questions(path, "train"),
        "triviaqa/triviaqa-rc/qa/wikipedia-train.json":
            lambda path: read_triviaqa(path, "train", TriviaQaOptions()),
        "wikihop/qangaroo_v1.1/wikihop/train.json": lambda path: read_wikihop(path, "train"),
        "xsum/train.jsonl": lambda path: read_summaries("xsum", path, "train"),
        "arxiv/arxiv-dataset/train.txt": lambda path: read_summaries("arxiv", path, "train"),
        "patents/train.jsonl": lambda path: list(read_documents(path)),
    }  # fmt: skip
    return [Form(folder / name, read, [written[name]]) for name, read in reads.items()]


READERS: dict[str, Callable[[Path], list[Form]]] = {
    "fasta": fasta, "bed": bed, "vcf": vcf, "sites": sites, "motifs": motifs, "chain": chain, "tables": tables,
    "yaml": yaml_files, "run-config": run_config, "bundles": bundles, "vocabularies": vocabularies, "text-sets": text_sets,
}  # fmt: skip
