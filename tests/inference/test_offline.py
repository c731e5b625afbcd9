"""Prediction reaches no network, unpickles nothing and writes nowhere but where it was told.

The interpreter itself reports what a whole run does (`sys.addaudithook`), imports included.
"""

import json
import os
import subprocess
import sys

import pytest

WATCH = """
import json, os, sys

seen = {"network": [], "pickle": [], "written": [], "modules": []}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

def hook(event, args):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.gethostname"):
        seen["network"].append(event)
        raise RuntimeError("no network here")
    if event == "pickle.find_class":
        seen["pickle"].append(repr(args))
    if event == "open" and isinstance(args[0], str):
        path, mode, flags = args
        if (isinstance(mode, str) and set(mode) & set("wax+")) or (flags or 0) & WRITING:
            seen["written"].append(path)
    if event in ("os.rename", "os.link", "os.symlink"):
        seen["written"].append(str(args[1]))

sys.addaudithook(hook)
from dna_bigbird.cli.main import main
try:
    for line in sys.argv[2:]:
        main(line.split())
finally:
    seen["modules"] = sorted({name.partition(".")[0] for name in sys.modules})
    report = json.dumps(seen)
    with open(sys.argv[1], "w") as file:
        file.write(report)
"""
NETWORKING = {
    "transformers",
    "huggingface_hub",
    "requests",
    "httpx",
    "aiohttp",
    "pytorch_lightning",
}


@pytest.fixture(scope="module")
def project(bundle_folder, tmp_path_factory, random_dna):
    folder = tmp_path_factory.mktemp("offline")
    bases = random_dna(600, 1)
    (folder / "toy.fa").write_text(f">chr1\n{bases}\n")
    other = "A" if bases[299] != "A" else "C"
    columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
    record = f"chr1\t300\t.\t{bases[299]}\t{other}\t.\t.\t."
    (folder / "x.vcf").write_text(f"##fileformat=VCFv4.2\n{columns}\n{record}\n")
    (folder / "x.bed").write_text("chr1\t100\t350\n")
    return folder


def quiet(tmp_path):
    """Return an environment in which temporary files are known and modules are not cached."""
    (tmp_path / "scratch").mkdir()
    return os.environ | {"TMPDIR": str(tmp_path / "scratch"), "PYTHONDONTWRITEBYTECODE": "1"}


EXACT = "--precision 32-true --backend gather"


COMMANDS = (
    f"predict --fasta toy.fa --model MODEL --output out/p.tsv {EXACT}",
    f"predict --fasta toy.fa --bed x.bed --model MODEL --output out/p.h5 {EXACT}",
    f"predict --fasta toy.fa --model MODEL --output out/tracks --format bigwig {EXACT}",
    f"embed --fasta toy.fa --model MODEL --output out/e.npz {EXACT}",
    f"score-variants --vcf x.vcf --fasta toy.fa --model MODEL --output out/v.tsv {EXACT}",
    f"mutagenesis --fasta toy.fa --region chr1:100-110 --model MODEL --output out/m.tsv {EXACT}",
    "info MODEL",
    "doctor",
)


def test_what_runs_do(project, bundle_folder, tmp_path):
    report = tmp_path / "seen.json"
    lines = [line.replace("MODEL", str(bundle_folder)) for line in COMMANDS]
    done = subprocess.run(
        [sys.executable, "-c", WATCH, str(report), *lines],
        cwd=project, env=quiet(tmp_path), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = json.loads(report.read_text())
    assert seen["network"] == []
    assert seen["pickle"] == []
    assert not NETWORKING & set(seen["modules"])
    scratch = str(tmp_path / "scratch")
    index = (".toy.fa.fai.", "toy.fa.fai")  # of the genome, beside it
    written = [path.removeprefix(f"{project}/") for path in seen["written"]]
    assert [x for x in written if not x.startswith(("out/", "/dev/null", scratch, *index))] == []
    assert len(list((project / "out").iterdir())) == 6
    assert list((tmp_path / "scratch").iterdir()) == []


def test_the_watch_sees(project, tmp_path):
    """Each kind of event would be found."""
    report = tmp_path / "seen.json"
    code = WATCH.replace(
        "    for line in sys.argv[2:]:\n        main(line.split())",
        "    import pickle, socket, fractions\n"
        "    pickle.loads(pickle.dumps(fractions.Fraction(1)))\n"
        "    open(sys.argv[1] + '.other', 'w').close()\n"
        "    try:\n"
        "        socket.create_connection(('127.0.0.1', 9))\n"
        "    except RuntimeError:\n"
        "        pass",
    )
    argv = [sys.executable, "-c", code, str(report)]
    subprocess.run(argv, env=quiet(tmp_path), check=True, timeout=300)
    seen = json.loads(report.read_text())
    assert seen["network"]
    assert seen["pickle"]
    assert f"{report}.other" in seen["written"]
