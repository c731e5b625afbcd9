"""The examples of the help texts, run one after the other as a reader would, on a small genome.

Options that make them small are added to the words of an example; its files and the order are as
they are printed. Examples that download, or need published data or a long training, do not run.
"""

import functools
import gzip

import numpy as np
import pytest

from dna_bigbird.cli import main as main_module
from dna_bigbird.cli.main import main
from dna_bigbird.cli.parser import build_parser
from dna_bigbird.core.paths import WRITTEN, paths_of
from tests.cli.examples import all_examples

CHROMOSOMES = {"chr1": 60_000, "chr7": 16_000, "chr8": 20_000, "chr9": 10_000}
STEPS = (
    "--training.max_steps 2 --training.validate_every 2 --training.batch_size 2 "
    "--training.precision 32-true --threads 1"
)
SMALL = {
    "genome": "--pieces",
    "documents": "--documents.min_sentences 2 --documents.max_sentences 4 "
    "--documents.min_sentence_bp 50 --documents.max_sentence_bp 100",
    "pretrain": f"{STEPS} --training.validation_examples 4 --model.hidden_size 16 "
    "--model.num_layers 2 --model.num_heads 2 --model.ffn_size 32 --model.max_tokens 192 "
    "--model.block_size 16",
    "evaluate-lm": "--examples 4 --pieces --threads 1",
    "promoter-set": "--upstream 40 --downstream 20 --pieces",
    "chromatin-set": "--window 200 --pieces",
    "finetune": STEPS,
    "evaluate": "--replicates 20 --threads 1",
    "mutagenesis": "--window 100",
    "attribute": "--window 100",
    "score-variants": "--window 100",
}
"""Command -> what is added to its examples."""
STORY = [
    "promoter-sequences",
    "genome",
    "documents",
    "train-tokenizer",
    "tokenize",
    "token-statistics",
    "pretrain",
    "evaluate-lm",
    "lift-over",
    "promoter-set",
    "chromatin-set",
    "leakage",
    "baseline",
    "finetune",
    "ensemble",
    "evaluate",
    "info",
    "predict",
    "embed",
    "score-variants",
    "mutagenesis",
    "attribute",
    "plot-attention",
    "completion",
    "clear-lock",
]
NOT_RUN = (
    "--method deepsea",
    "--method replicate",
    "demo/",
    "--from_huggingface",
    "zsh",
    "tcsh",
    "--folder",
    "source",
    " set.h5",
)
"""Parts of examples of these commands that do not run here."""
SHORT_REGION = {"chr8:128,748,301-128,748,400": "chr8:2,001-2,010"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder of a user with a genome, start sites, peaks and regions."""
    rng = np.random.default_rng(0)
    monkeypatch.chdir(tmp_path)
    genome = {name: "".join(rng.choice(list("ACGT"), n)) for name, n in CHROMOSOMES.items()}
    with gzip.open("hg19.fa.gz", "wt") as out:
        out.writelines(f">{name}\n{sequence}\n" for name, sequence in genome.items())
    sites = [(name, s) for name, n in CHROMOSOMES.items() for s in range(500, n - 500, 400)]
    write_sites(tmp_path, sites)
    write_peaks(tmp_path, sites, rng)
    with gzip.open("tata_promoters.txt.gz", "wt") as out:
        out.writelines("".join(rng.choice(list("ACGT"), 300)) + "\n" for _ in range(5))
    (tmp_path / "regions.bed").write_text("chr8\t1000\t2000\tone\nchr8\t3000\t3800\ttwo\n")
    (tmp_path / "regions.fa").write_text(f">one\n{genome['chr8'][:900]}\n")
    ref = genome["chr8"][999]
    alt = "A" if ref != "A" else "C"
    with gzip.open("variants.vcf.gz", "wt") as out:
        out.write("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n")
        out.write(f"chr8\t1000\tv1\t{ref}\t{alt}\t.\t.\t.\n")
    return tmp_path


def write_sites(folder, sites) -> None:
    """Start sites on the other assembly, which has the same coordinates, and further genes."""
    (folder / "promoters_hg38.bed").write_text(
        "".join(f"{name}\t{s}\t{s + 1}\tgene{i}\t0\t+\n" for i, (name, s) in enumerate(sites))
    )
    (folder / "genes.gtf").write_text(
        'chr1\tx\ttranscript\t101\t400\t.\t+\t.\tgene_id "g"; transcript_id "t";\n'
    )
    with gzip.open(folder / "hg38_to_hg19.chain.gz", "wt") as out:
        for number, (name, n) in enumerate(CHROMOSOMES.items(), start=1):
            out.write(f"chain 1 {name} {n} + 0 {n} {name} {n} + 0 {n} {number}\n{n}\n\n")


def write_peaks(folder, sites, rng) -> None:
    """Two peak files and the sheet that names them."""
    rows = ["label\tgroup\tcell\tpath"]
    for label in ("GM12878|CTCF", "GM12878|DNase"):
        chosen = [site for site in sites if rng.random() < 0.5]
        name = f"{label.replace('|', '_')}.bed"
        (folder / name).write_text("".join(f"{c}\t{s - 100}\t{s + 100}\n" for c, s in chosen))
        rows.append(f"{label}\tTF\tGM12878\t{name}")
    (folder / "peaks.tsv").write_text("\n".join(rows) + "\n")


def story():
    """The examples that run, in the order of the story."""
    examples = [each for each in all_examples() if not any(part in each.line for part in NOT_RUN)]
    return sorted(
        (each for each in examples if each.command in STORY),
        key=lambda each: STORY.index(each.command),
    )


@pytest.fixture
def written(monkeypatch):
    """The files and folders that the commands so far were told to write."""
    paths = set()

    def noted(name, argv):
        parser, function = build_parser(name, argv)

        @functools.wraps(function)
        def run(**arguments):
            result = function(**arguments)
            named = paths_of(function, arguments)
            paths.update(each.path for each in named if each.role in WRITTEN)
            return result

        return parser, run

    monkeypatch.setattr(main_module, "build_parser", noted)
    return paths


def smaller(example) -> list[str]:
    """What is added to an example so that it takes no time."""
    if example.command == "train-tokenizer":  # single bases have a size of their own
        return [] if "bases" in example.words else ["--tokenizer.vocab_size", "64"]
    if "--sites" in example.words and example.command == "score-variants":
        return []  # its windows are those of the model
    return SMALL.get(example.command, "").split()


def test_the_examples_run_one_after_the_other(folder, written, capsys):
    examples = story()
    assert {example.command for example in examples} == set(STORY)
    for example in examples:
        words = [SHORT_REGION.get(word, word) for word in example.words]
        try:
            main([*words, *smaller(example)])
        except SystemExit:
            pytest.fail(f"{example}\n{capsys.readouterr().err}")
        shown = capsys.readouterr().out
        assert shown or ">" not in example.line
        assert [path for path in written if not path.exists()] == [], example
    assert len(written) > 30
