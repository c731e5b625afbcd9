"""The wheel and the source distribution: their files, the page of the package, a run without a checkout."""

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dna_bigbird import __version__
from tests.core_packages import closure, link_packages, project
from tests.tiny_bundle import draw_dna

ROOT = Path(__file__).parents[1]
BUILD = """
import sys
from setuptools import build_meta
print(getattr(build_meta, sys.argv[1])(sys.argv[2]))
"""


OWN = (".py", ".pyi", ".cpp", ".h", ".html", ".css", ".typed")
"""Suffixes of code, which has the licence of the package."""
OWN_FOLDERS = (
    "dna_bigbird/_files/",
    "dna_bigbird/report/templates/",
    "dna_bigbird/theory/turing/machines/",
)


def copy_of_the_sources(folder: Path) -> Path:
    """What git has, without building in the checkout."""
    folder.mkdir()
    skipped = shutil.ignore_patterns(
        ".*", "__pycache__", "results", "logs", "build", "dist", "*.egg-info"
    )
    sources = Path(shutil.copytree(ROOT, folder / "src", ignore=skipped, symlinks=True))
    shutil.copy(ROOT / ".snakemake-workflow-catalog.yml", sources)
    for name in (".github", "docs/results"):
        shutil.copytree(ROOT / name, sources / name)
    return sources


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
    folders = ("workflow", "config", "data_specs", "docs", "dna_bigbird", "tests", ".github")
    expected = in_repository(*folders) | {
        ".snakemake-workflow-catalog.yml",
        "SECURITY.md",
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
    for part in (
        "attention/kernels/native/",
        "bundles/data/tata/model.safetensors",
        "genome/data/",
    ):
        assert any(part in name for name in names), part
    tops = {name.partition("/")[0] for name in names}
    assert [top for top in tops if not top.startswith("dna_bigbird")] == []


def test_the_page_of_the_package_works_outside_the_repository(wheel):
    page = metadata(wheel)
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


def metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def licence_texts(archive: zipfile.ZipFile, name: str) -> Iterator[str]:
    """Yield texts on source and licence from the folder of a file and from the folders above it."""
    for folder in Path(name).parents:
        for other in archive.namelist():
            path = Path(other)
            is_text = path.name == "PROVENANCE.md" or path.name.startswith("LICENSE")
            if is_text and path.parent == folder:
                yield archive.read(other).decode()


def test_every_embedded_data_file_is_named_with_source_and_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        data = [
            name
            for name in archive.namelist()
            if name.startswith("dna_bigbird/")
            and not name.startswith(OWN_FOLDERS)
            and not name.endswith((*OWN, "PROVENANCE.md"))
            and not Path(name).name.startswith("LICENSE")
        ]
        unnamed = [
            name
            for name in data
            if not any(f"`{Path(name).name}`" in text for text in licence_texts(archive, name))
        ]
    assert len(data) > 10
    assert unnamed == []


def test_embedded_lists_of_data_sets_have_a_licence(installed):
    folder = installed / "dna_bigbird/_files/data_specs"
    specs = [yaml.safe_load(path.read_text()) for path in folder.glob("*.yaml")]
    licences = {spec["files"]: spec["licence"] for spec in specs if "files" in spec}
    data = {path.name for path in folder.iterdir() if path.suffix not in (".yaml", ".md")}
    assert data == licences.keys()
    assert all(licences.values())


def test_the_metadata_name_the_licences_and_contain_their_texts(wheel, installed):
    page = metadata(wheel)
    assert page["License-Expression"] == "Apache-2.0 AND CC-BY-4.0 AND MIT"
    names = page.get_all("License-File")
    expected = {"LICENSE"} | {
        x for x in in_repository("dna_bigbird") if x.endswith("PROVENANCE.md")
    }
    assert set(names) == expected
    (folder,) = installed.glob("dna_bigbird-*.dist-info")
    for name in names:
        assert (folder / "licenses" / name).read_bytes() == (ROOT / name).read_bytes(), name
    assert (
        "creativecommons.org/licenses/by/4.0"
        in (folder / "licenses/dna_bigbird/genome/data/PROVENANCE.md").read_text()
    )


def test_addresses_in_the_metadata_are_real(wheel):
    """No repository or home page is published yet: the paper alone."""
    assert metadata(wheel).get_all("Project-URL") == ["Paper, https://arxiv.org/abs/2007.14062"]


def test_links_become_absolute_where_a_repository_is_known():
    code = (
        "from setup import readme; "
        "print(readme(open('README.md', encoding='utf-8').read(), 'https://example.org/us/it'))"
    )
    text = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert "https://example.org/us/it/blob/main/docs/how-to/text.md" in targets
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


def without_checkout() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A new environment with the wheel, installed by pip, and what the core requires, nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    link_packages(folder / "packages", closure(project()["dependencies"]))
    venv.create(folder / "venv", with_pip=False)
    (site_packages,) = (folder / "venv/lib").glob("python*/site-packages")
    (site_packages / "core.pth").write_text(f"{folder / 'packages'}\n")
    python = folder / "venv/bin/python"
    pip = ("-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    done = subprocess.run(
        [sys.executable, *pip], env=without_checkout(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder / "venv"


def test_predict_in_a_new_environment(environment, tmp_path):
    """The program that pip installs gives the table of the checkout, with the bundled model."""
    (tmp_path / "regions.fa").write_text(f">a\n{draw_dna(900, 0)}\n")
    variables = without_checkout() | {"XDG_CACHE_HOME": str(tmp_path / "cache")}

    def program(*words: str) -> str:
        command = [str(environment / "bin/dna-bigbird"), *words]
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert program("--version").split()[-1] == __version__
    assert f"{environment}/lib" in program("info")  # where the bundled model is
    words = ("predict", "--fasta", "regions.fa", "--precision", "32-true")
    rows = [line.split("\t") for line in program(*words).splitlines()]
    run(ROOT, tmp_path, "dna_bigbird", *words, "--output", "expected.tsv")
    expected = [line.split("\t") for line in (tmp_path / "expected.tsv").read_text().splitlines()]
    assert len(rows) == 4
    assert [row[:3] for row in rows] == [row[:3] for row in expected]
    scores, of_checkout = ([float(row[3]) for row in part[1:]] for part in (rows, expected))
    assert scores == pytest.approx(of_checkout, rel=1e-3)  # one may have the native kernel
