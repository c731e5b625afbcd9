"""The files of the demo: names, forms, equal bytes for equal seeds, refusals."""

import csv

import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.result_folders import RECORD
from dna_bigbird.demo.build import DemoConfig, build_demo, segments
from dna_bigbird.demo.demo_data import demo_data
from dna_bigbird.demo.demo_files import write_demo
from dna_bigbird.demo.grammar import LABELS
from dna_bigbird.demo.planted_promoters import start_sites


def all_bytes(folder) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_the_folder_holds_what_the_readme_says(folder):
    files = {"demo.fa", "promoters.bed", "peaks", "peaks.tsv", "variants.vcf", "truth.tsv"}
    assert {path.name for path in folder.iterdir()} == files | {"README.md", RECORD}
    text = (folder / "README.md").read_text()
    assert "semi-synthetic" in text
    assert all(f"`{name}" in text for name in files - {"peaks"})
    assert str(folder) not in text


def test_same_seed_same_bytes_other_seed_other_bytes(folder, tmp_path):
    demo_data(tmp_path / "again", seed=0)
    assert all_bytes(tmp_path / "again") == all_bytes(folder)
    demo_data(tmp_path / "other", seed=1)
    first, other = all_bytes(folder), all_bytes(tmp_path / "other")
    assert set(first) == set(other)
    same = {name for name in first if first[name] == other[name]}
    assert same == {"peaks.tsv", RECORD}


def test_sample_sheet_lists_every_label_with_a_relative_path(folder):
    with open(folder / "peaks.tsv", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    assert [row["label"] for row in rows] == [label.name for label in LABELS]
    assert {row["group"] for row in rows} == {"TF", "DNase", "Histone"}
    assert {row["cell"] for row in rows} == {"demo"}
    assert all((folder / row["path"]).read_text() for row in rows)


def test_promoter_bed_is_bed6_of_single_bases(folder, promoters):
    rows = [line.split("\t") for line in (folder / "promoters.bed").read_text().splitlines()]
    assert len(rows) == 300
    assert [(r[3], int(r[1]), r[5]) for r in rows] == [
        (p["name"], p["start"], p["strand"]) for p in promoters
    ]
    assert all(row[0] == "demo22" and int(row[2]) == int(row[1]) + 1 for row in rows)


def test_the_fasta_has_one_record_of_a_million_bases(folder, sequence):
    lines = (folder / "demo.fa").read_text().splitlines()
    assert lines[0] == ">demo22"
    assert len(sequence) == 1_000_000
    assert set(sequence) == set("ACGTN")


def test_promoters_keep_their_distance_at_the_highest_number():
    import numpy as np

    sites = start_sites(segments(), 560, np.random.default_rng(0))
    positions = [position for position, _ in sites]
    assert len(sites) == 560
    assert min(np.diff(positions)) >= 900  # two zones of at most 450 each


def test_fewer_promoters_leave_room_for_more_elements():
    few = build_demo(DemoConfig(promoters=30, variants=5))
    assert sum(element.tss is not None for element in few.elements) == 30
    assert [v.effect for v in few.variants].count("none") == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--promoters", "5000"], "--promoters 5000: expected at least 20 and at most 560"),
        (["--promoters", "0"], "--promoters 0"),
        (["--seed", "-1"], "--seed -1: expected a whole number"),
        (["--variants", "0"], "--variants 0"),
        (
            ["--variants", "1000000000"],
            "--variants 1000000000: expected at least 1 and at most 10000",
        ),
    ],
)
def test_impossible_settings_are_one_line(options, message, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2") as exit_info:
        main(["demo-data", "--output", str(tmp_path / "demo"), *options])
    assert exit_info.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "demo").exists()


def test_a_folder_with_other_files_is_not_replaced(folder, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"holds thesis\.tex, which no run"):
        demo_data(tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_file_is_not_replaced_by_a_folder(tmp_path):
    (tmp_path / "demo").write_text("a file")
    with pytest.raises(InputError, match="demo: this is not a folder"):
        demo_data(tmp_path / "demo")


def test_an_older_demo_with_its_index_is_replaced(tmp_path):
    demo = build_demo(DemoConfig(promoters=20, variants=1))
    write_demo(demo, tmp_path / "demo")
    (tmp_path / "demo" / "demo.fa.fai").write_text("an index of the old genome")
    write_demo(demo, tmp_path / "demo")
    assert not (tmp_path / "demo" / "demo.fa.fai").exists()
