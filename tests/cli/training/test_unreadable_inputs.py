"""Inputs that may not be read are named with the reason, by every command."""

import shutil
from pathlib import Path

import pytest

from tests.toy_project import FINETUNE, PRETRAIN, refused
from tests.unprivileged import permissions_count

SPEC = Path(__file__).parents[3] / "data_specs" / "hg38_to_hg19_chain.yaml"
PROMOTER = (
    "promoter/config.json promoter/model.safetensors promoter/tokenizer.model promoter/metrics.json"
)
SPLIT = "--split.validation [chr1:40001-50000] --split.test [chr1:50001-60000]"
READERS = [
    ("info promoter", PROMOTER),
    ("info train.h5", "train.h5"),
    ("info set.h5", "set.h5"),
    ("genome --inputs [toy.fa] --output never", "toy.fa"),
    ("documents --genome toy.fa --output never", "toy.fa"),
    (
        "train-tokenizer --genome toy.fa --documents train.bed.gz --output never --metrics never2",
        "toy.fa train.bed.gz",
    ),
    (
        "tokenize --genome toy.fa --documents train.bed.gz --tokenizer bpe.model --output never",
        "toy.fa train.bed.gz bpe.model",
    ),
    (
        "token-statistics --store train.h5 --genome toy.fa --tokenizer bpe.model --output never "
        "--repeats sites.bed",
        "train.h5 toy.fa bpe.model sites.bed",
    ),
    (f"{PRETRAIN} --output never --checkpoints never2", "train.h5 validation.h5 bpe.model"),
    (
        "evaluate-lm --model pretrained --train train.h5 --test test.h5 --output never --report "
        "never2 --genome toy.fa --examples 2",
        "train.h5 test.h5 toy.fa pretrained/config.json pretrained/model.safetensors",
    ),
    (
        f"promoter-set --genome toy.fa --sites sites.bed --output never --assembly x {SPLIT}",
        "toy.fa sites.bed",
    ),
    (
        f"chromatin-set --genome toy.fa --peaks peaks.tsv --output never --assembly x {SPLIT}",
        "toy.fa peaks.tsv sites.bed",
    ),
    (
        "lift-over --input sites.bed --chain some.chain --output never --unlifted never2",
        "sites.bed some.chain",
    ),
    ("leakage --genome toy.fa --data set.h5 --output never", "toy.fa set.h5"),
    ("baseline --genome toy.fa --data set.h5 --output never", "toy.fa set.h5"),
    (
        f"{FINETUNE} --output never --checkpoints never2",
        "toy.fa set.h5 pretrained/config.json pretrained/model.safetensors",
    ),
    (
        'evaluate --genome toy.fa --model promoter --data set.h5 --baselines {"k":"kmer.h5"} '
        "--output never --report never2",
        f"toy.fa set.h5 kmer.h5 {PROMOTER}",
    ),
    ("ensemble --models [promoter,final/promoter] --output never", PROMOTER),
    (
        "predict --fasta toy.fa --bed sites.bed --model promoter --output never",
        f"toy.fa sites.bed {PROMOTER}",
    ),
    ("predict --fasta toy.fa --model promoter --config options.yaml", "options.yaml"),
    ("embed --fasta toy.fa --bed sites.bed --model promoter --output never.h5", "toy.fa sites.bed"),
    ("score-variants --vcf v.vcf --fasta toy.fa --model promoter", "v.vcf toy.fa"),
    ("mutagenesis --fasta toy.fa --region chr1:9-12 --model promoter", "toy.fa"),
    ("plot-attention --model promoter", "promoter/config.json"),
    ("convert --from promoter --to-huggingface never", PROMOTER),
    (f"fetch --spec {SPEC.name} --local toy.fa --output never", f"{SPEC.name} toy.fa"),
    ("text vocabulary --input corpus.txt --output never", "corpus.txt"),
]


@pytest.fixture(scope="module")
def more_inputs(toy_project):
    """Small inputs of the commands that the project does not run."""
    (toy_project / "v.vcf").write_text(
        "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    )
    (toy_project / "peaks.tsv").write_text("label\tgroup\tcell\tpath\nCTCF\tTF\tK562\tsites.bed\n")
    (toy_project / "some.chain").write_text(
        "chain 1 chr1 60000 + 0 60000 chr1 60000 + 0 60000 1\n60000\n\n"
    )
    (toy_project / "options.yaml").write_text("window: 100\n")
    shutil.copy(SPEC, toy_project / SPEC.name)
    (toy_project / "corpus.txt").write_text("A line of text.\n")


@pytest.mark.parametrize(
    ("line", "path"), [(line, path) for line, paths in READERS for path in paths.split()]
)
def test_a_file_that_may_not_be_read(project, more_inputs, line, path, capsys):
    """It is named with the reason; it is not called damaged, and nothing is written."""
    before = {p.name for p in project.iterdir()}
    mode = (project / path).stat().st_mode
    (project / path).chmod(0)
    try:
        with permissions_count():
            error = refused(line, capsys)
    finally:
        (project / path).chmod(mode)
    last = error.splitlines()[-1]
    assert last.startswith("dna-bigbird: error: ")
    assert path in last
    assert "no permission" in last
    assert "please report" not in last
    assert {p.name for p in project.iterdir()} <= before | {"toy.fa.fai", "never2"}
