"""The wheel and the source distribution: their files, the page of the package, a run without a checkout."""

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = """
import sys
from setuptools import build_meta
print(getattr(build_meta, sys.argv[1])(sys.argv[2]))
"""


def copy_of_the_sources(folder: Path) -> Path:
    """What git has, without building in the checkout."""
    folder.mkdir()
    skipped = shutil.ignore_patterns(
        ".*", "__pycache__", "results", "logs", "build", "dist", "*.egg-info"
    )
    return Path(shutil.copytree(ROOT, folder / "src", ignore=skipped, symlinks=True))


def build(sources: Path, target: Path, what: str) -> Path:
    """Build a distribution as pip does."""
    target.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", BUILD, what, str(target)],
        cwd=sources, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return target / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    return build(copy_of_the_sources(folder / "copy"), folder / "dist", "build_sdist")


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    """Built from the source distribution, so that this is complete."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder)  # Python 3.11.2 lacks `filter`
    (sources,) = folder.iterdir()
    return build(sources, folder / "dist", "build_wheel")


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Folder for PYTHONPATH with the wheel in it, as pip unpacks it."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def in_repository(*folders: str) -> set[str]:
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*"))
    return {
        str(path.relative_to(ROOT))
        for path in paths
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_files_of_the_source_distribution(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    expected = in_repository("workflow", "config", "data_specs", "docs", "dna_bigbird", "tests")
    expected |= {
        "Makefile",
        "Snakefile",
        "constraints.txt",
        "environment.yml",
        "setup.py",
        "LICENSE",
    }
    assert sorted(expected - names) == []
    assert "profiles/slurm/config.v8+.yaml" in names


def test_files_of_the_wheel(installed):
    names = {str(path.relative_to(installed)) for path in installed.rglob("*") if path.is_file()}
    assert sorted(in_repository("dna_bigbird") - names) == []
    copies = in_repository("workflow", "config", "data_specs") | {"environment.yml"}
    assert {f"dna_bigbird/_files/{name}" for name in copies} <= names
    for part in ("attention/native/", "bundles/data/promoter/model.safetensors", "demo/data/"):
        assert any(part in name for name in names), part
    tops = {name.partition("/")[0] for name in names}
    assert [top for top in tops if not top.startswith("dna_bigbird")] == []


def test_the_page_of_the_package_works_outside_the_repository(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        page = email.message_from_bytes(archive.read(name))
    assert page["Description-Content-Type"] == "text/markdown"
    text = page.get_payload()
    assert "BigBird for genomes" in text
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert [target for target in targets if "://" not in target] == []
    pages = re.findall(r"`(docs/[\w/-]+\.md)`", text)
    assert pages
    assert [path for path in pages if not (ROOT / path).is_file()] == []
    assert {"train", "workflow", "text", "slurm", "dev", "all"} <= set(
        page.get_all("Provides-Extra")
    )
    assert page["Keywords"]
    assert "Programming Language :: Python :: 3.11" in page.get_all("Classifier")


def test_links_become_absolute_where_a_repository_is_known():
    code = (
        "from setup import readme; "
        "print(readme(open('README.md', encoding='utf-8').read(), 'https://example.org/us/it'))"
    )
    text = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert "https://example.org/us/it/blob/main/docs/text.md" in targets
    assert [target for target in targets if "://" not in target] == []


def run(installed: Path, folder: Path, *command: str) -> str:
    environment = os.environ | {
        "PYTHONPATH": str(installed),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_the_workflow_of_the_wheel(installed, tmp_path):
    run(installed, tmp_path, "dna_bigbird", "init", "mine")
    folder = tmp_path / "mine"
    planned = run(installed, folder, "snakemake", "-n", "--cores", "2", "all")
    assert "Using workflow specific profile profiles/default" in planned
    assert re.search(r"^total +\d\d$", planned, flags=re.MULTILINE)
    paper = ("--configfile", "config/grch37.yaml")
    planned = run(installed, folder, "snakemake", "-n", "--cores", "2", "all", *paper)
    assert f"--spec {installed}/dna_bigbird/_files/data_specs/grch37_genome.yaml" in planned
    assert str(ROOT) not in planned.replace(sys.prefix, "")


def test_another_environment_of_the_workflow_imports_only_the_package(installed, tmp_path):
    run(installed, tmp_path, "dna_bigbird", "init", "mine")
    folder = tmp_path / "mine"
    code = "import dna_bigbird; print(dna_bigbird.__file__)"
    planned = run(
        installed, folder, "snakemake", "-n", "all", "--cores", "2", "--sdm", "env-modules"
    )
    (path,) = set(re.findall(r"env PYTHONPATH=(\S+) python -m dna_bigbird", planned))
    assert os.listdir(path) == ["dna_bigbird"]
    found = subprocess.check_output(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, cwd=tmp_path, text=True
    )
    assert Path(found.strip()).resolve() == installed / "dna_bigbird/__init__.py"
