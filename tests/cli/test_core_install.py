"""With the packages of the core alone: its commands work, the others name the extra to install."""

import pytest

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.bundles.weights import build_model
from tests.core_packages import closure, link_packages, project, run_in
from tests.tiny_bundle import draw_dna, write_tiny_bundle

COMMANDS = """
import contextlib, io, sys
from pathlib import Path
from dna_bigbird.cli.commands import every_command
from dna_bigbird.cli.main import main

folder = Path(sys.argv[1])

def run(line, expected=0):
    status, out, err = 0, io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(line.format(d=folder).split())
        except SystemExit as stop:
            status = stop.code or 0
    assert status == expected, (line, status, err.getvalue())
    return out.getvalue() + (err.getvalue() if status else "")

for name in ("", "text", *every_command()):
    assert f"dna-bigbird {name}".strip() in run(f"{name} --help"), name
assert "finetune" in run("--help")

run("predict --fasta {d}/g.fa --output {d}/p.tsv")
for format in ("bed", "bigwig", "hdf5"):
    run(f"predict --fasta {{d}}/g.fa --model {{d}}/tiny --output {{d}}/p.{format} --format {format} --labels CTCF")
run("embed --fasta {d}/g.fa --model {d}/tiny --output {d}/e.h5")
run("score-variants --vcf {d}/v.vcf --fasta {d}/g.fa --model {d}/tiny --output {d}/s.vcf.gz")
run("mutagenesis --fasta {d}/g.fa --region chr1:301-310 --model {d}/tiny --output {d}/m.tsv"
    " --picture {d}/m.png")
assert "CTCF" in run("info {d}/tiny")
assert "promoter" in run("info")
run("convert --from {d}/pretrained --to-huggingface {d}/hf --allow-different-attention true")
run("convert --from-huggingface {d}/hf --to {d}/back")
run("doctor")
print(run("finetune --pretrained {d}/tiny --data {d}/g.fa --genome {d}/g.fa"
    " --output {d}/o --checkpoints {d}/c", 2))

from dna_bigbird import finetune
try:
    finetune(
        pretrained=folder / "tiny", data=folder / "g.fa", genome=folder / "g.fa",
        output=folder / "o", checkpoints=folder / "c",
    )
except ImportError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    folder = tmp_path_factory.mktemp("core") / "packages"
    link_packages(folder, closure(project()["dependencies"]))
    return folder


@pytest.fixture
def inputs(tmp_path):
    dna = draw_dna(600, 0)
    (tmp_path / "g.fa").write_text(f">chr1\n{dna}\n")
    alt = "A" if dna[299] != "A" else "C"
    (tmp_path / "v.vcf").write_text(
        "##fileformat=VCFv4.2\n##contig=<ID=chr1,length=600>\n"
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
        f"chr1\t300\t.\t{dna[299]}\t{alt}\t.\t.\t.\n"
    )
    encoder = {
        "hidden_size": 16, "num_layers": 1, "num_heads": 1, "ffn_size": 16, "max_tokens": 512,
        "block_size": 16, "num_random": 1,
    }  # fmt: skip
    tiny = write_tiny_bundle(tmp_path / "tiny", vocab_size=300, encoder=encoder, window_bp=200)
    bundle = load_bundle(tiny)
    config = {"task": "pretraining", "encoder": bundle.config["encoder"]}
    save_bundle(
        tmp_path / "pretrained",
        model=build_model(config),
        config=config,
        tokenizer=bundle.tokenizer,
        metrics={},
        card="",
    )
    return tmp_path


def test_what_is_not_installed_is_not_found(core):
    """Otherwise the next test would prove nothing."""
    code = "import importlib.util as u, sys; print([n for n in sys.argv[1:] if u.find_spec(n)])"
    names = ["scipy", "sklearn", "pytorch_lightning", "snakemake", "transformers", "pybedtools"]
    assert run_in(core, code, *names, "numpy").stdout.strip() == "['numpy']"


def test_the_commands_of_the_core(core, inputs):
    done = run_in(core, COMMANDS, inputs)
    assert done.returncode == 0, done.stderr
    line = "threadpoolctl is not installed; type: pip install 'dna-bigbird[train]'"
    assert done.stdout.split("\n") == [f"dna-bigbird: error: {line}", "", line, ""]
    for name in (
        "p.tsv",
        "p.bed",
        "p.bigwig",
        "p.hdf5",
        "e.h5",
        "s.vcf.gz",
        "m.tsv",
        "m.png",
        "back",
    ):
        assert (inputs / name).exists()
