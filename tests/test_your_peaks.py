"""docs/tutorials/your-peaks.md: its five commands on embedded data, and as they are on real peaks."""

import json
import re
import subprocess
from pathlib import Path

import pysam
import pytest
import yaml

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.cli.main import main

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
SMALL = {
    "chr22:20,000,001-20,500,000": "demo22:730,001-770,000",
    "chr22:19,500,001-20,000,000": "demo22:850,001-890,000",
    r"chr22\t19500000\t20000000": r"demo22\t850000\t854000",
    "--assembly hg19": "--assembly demo22",
    "chromatin-set ": "chromatin-set --window 400 --background 1 ",
    "finetune ": "finetune --training.max_steps 4 --training.batch_size 8 "
    "--training.validation_examples 40 --threads 1 ",
    "evaluate ": "evaluate --replicates 50 --threads 1 ",
}
"""Other regions and fewer steps, for the embedded data."""


@pytest.fixture(scope="module")
def script():
    from tools import own_peaks

    return own_peaks


def make_demo(folder: Path, names) -> None:
    """Write the embedded genome and three of its peak files under the page's names."""
    main(["demo-data", "--output", str(folder / "demo")])
    genome, *peaks = names
    pysam.tabix_compress(str(folder / "demo/demo.fa"), str(folder / genome), force=True)
    for name, label in zip(peaks, ("SP1", "CTCF", "H3K4me3"), strict=True):
        source = folder / f"demo/peaks/{label}.bed"
        pysam.tabix_compress(str(source), str(folder / name), force=True)


def test_the_page_on_embedded_data(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make_demo(tmp_path, script.FILES)
    called = []
    for line in script.commands():
        for text, other in SMALL.items():
            line = line.replace(text, other)
        if line.startswith("dna-bigbird "):
            called.append(line.split()[1])
            capsys.readouterr()
            main(line.split()[1:])
            out = capsys.readouterr().out
        else:
            subprocess.run(["bash", "-c", line], check=True)
        if called[-1] == "evaluate":
            shown = out
    assert called == ["chromatin-set", "baseline", "finetune", "evaluate", "predict"]
    metrics = json.loads(Path("scored/metrics.json").read_text())
    assert f"macro AUROC on {metrics['n']} test windows" in shown
    assert re.search(r"\n  model +0\.\d{3} \[(?s:.*)\n  kmer +0\.\d{3} \[", shown)
    tracks = sorted(path.name for path in Path("tracks").glob("*.bw"))
    assert tracks == ["ctcf.bw", "h3k4me3.bw", "tfbs.bw"]
    config = load_bundle("scored").config
    assert config.label_names == ["tfbs", "ctcf", "h3k4me3"]
    assert (config.head.pooling, config.head.parts) == ("parts", 2), "window 400, bins of 200"
    assert [record.training for record in config.regions_read] == ["pretraining", "chromatin"]
    # The encoder read hg19, these windows are of the demo.
    assert "what the encoder read before: unknown in pretraining, 0 in an earlier" in shown


def test_the_config_is_the_page(script):
    """Same files, regions and baseline; everything else is chosen by the same commands."""
    page = "\n".join(script.commands())
    config = yaml.safe_load((ROOT / "config/own-peaks.yaml").read_text())
    sources = {name: Path(path) for name, path in script.FILES.items()}
    files = [*config["inputs"]["genome"], *config["inputs"]["peaks"].values()]
    assert [Path(path).name for path in files] == [path.name for path in sources.values()]
    for split in ("validation", "test"):
        assert f"--split.{split} {config['splits'][split][0]}" in page
    assert config["pretrained"] == "bundled"
    assert config["chromatin"] == {"baselines": ["kmer"]}


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="needs the sample data next to the checkout")
def test_the_page_on_real_peaks(script, tmp_path):
    script.copy_files(DATA, tmp_path)
    script.time_commands(tmp_path)
    metrics = json.loads((tmp_path / "scored/metrics.json").read_text())
    assert metrics["n"] > 2000
    assert metrics["macro_auroc_low"] > 0.5
    assert metrics["n_test_windows_read_in_pretraining"] == 0
    assert metrics["n_test_windows_read_in_fine_tuning"] == 0
    assert metrics["baselines"]["kmer"]["macro_auroc_low"] > 0.5
    assert len(list((tmp_path / "tracks").glob("*.bw"))) == 3
