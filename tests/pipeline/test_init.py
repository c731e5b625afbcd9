"""`dna-bigbird init`: a folder in which the workflow runs."""

import re

import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.resources import resource_folder
from dna_bigbird.workflow.init import init

NAMES = {"Snakefile", "config", "profiles", ".gitignore"}


def test_what_it_writes(tmp_path, capsys):
    main(["init", str(tmp_path / "new/mine")])
    folder = tmp_path / "new/mine"
    assert {path.name for path in folder.iterdir()} == NAMES
    for name in ("config.yaml", "grch37.yaml", "text/wikihop.yaml"):
        assert (folder / "config" / name).read_bytes() == (
            resource_folder("config") / name
        ).read_bytes()
    assert (folder / "profiles/slurm/config.v8+.yaml").is_file()
    shown = capsys.readouterr().out
    assert f"cd {folder}\n" in shown
    assert "snakemake --cores 2 all --configfile config/grch37.yaml -n " in shown
    assert "pip install" not in shown


def test_its_pages_have_no_links_that_lead_nowhere(tmp_path):
    init(tmp_path)
    page = (tmp_path / "config/README.md").read_text()
    assert [link for link in re.findall(r"\]\(([^)]*)\)", page) if "://" not in link] == []


def test_the_working_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["init", "."])
    assert {path.name for path in tmp_path.iterdir()} == NAMES
    assert "cd " not in capsys.readouterr().out


def test_a_folder_with_files_stays_as_it_is(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"has files, such as notes.txt; name a new or empty one$"):
        init(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="not a folder; expected the name of a folder"):
        init(tmp_path / "notes.txt")


def test_a_failure_leaves_nothing(tmp_path, monkeypatch):
    def fail(source, target, **options):
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr("dna_bigbird.workflow.init.shutil.copytree", fail)
    with pytest.raises(InputError, match="Snakefile: cannot write it: No space left on device"):
        init(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
