"""The section `tracks`: what a run plans for it, with commands that their parsers accept, and what is refused."""

import re
import shlex
from types import SimpleNamespace

import pytest
import yaml

from dna_bigbird.cli.parser import build_parser
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.core.errors import InputError
from tests.workflow.conftest import ROOT
from tests.workflow.run_of_config import run_of

OWN = yaml.safe_load((ROOT / "config/own-tracks.yaml").read_text())


@pytest.fixture
def config(workflow):
    """`config/own-tracks.yaml` with small files in place of the shared ones."""
    (workflow.folder / "g.fa").write_text(">chr22\nACGT\n")
    (workflow.folder / "a.bedGraph").write_text("chr22\t1\t2\t3\n")
    (workflow.folder / "sheet.tsv").write_text(
        "label\tgroup\tcell\tpath\nA\tx\t\ta.bedGraph\nB\tx\t\ta.bedGraph\n"
    )
    tracks = OWN["tracks"] | {"words": {"max_k": 3}, "model": {"num_layers": 1}}

    def write(signal: object, **others: object) -> str:
        inputs = {"genome": ["./g.fa"], "tracks": signal, **others}
        return workflow.config("config/own-tracks.yaml", inputs=inputs, tracks=tracks)

    return write


def test_set_model_bigwig_and_page_are_planned(workflow, config, monkeypatch):
    output = workflow.snakemake("-n", "-p", "--configfile", config("./sheet.tsv"), "--", "all")
    jobs = workflow.jobs_of(output)
    assert jobs == {
        "genome": 1, "track_set": 1, "baseline": 3, "finetune": 1, "evaluate": 1, "track_regions": 1,
        "predict_tracks": 1, "view_tracks": 1, "report_tracks": 1, "all": 1, "total": 12,
    }  # fmt: skip
    monkeypatch.chdir(workflow.folder)
    settings = {}
    for command in workflow.commands_of(output):
        name, *words = shlex.split(command)
        parser, _ = build_parser(name, words)
        settings[name] = SimpleNamespace(**read_arguments(parser, words))
    made = settings["track-set"]
    assert (made.bin, made.window, made.crop, made.transform) == (128, 4096, 1024, "log1p")
    assert str(made.tracks) == "sheet.tsv" or [str(x) for x in made.tracks] == ["sheet.tsv"]
    assert made.split.test == ["chr22:19,500,001-20,000,000"]
    trained = settings["finetune"]
    assert (str(trained.tokenizer), trained.pretrained) == ("bases", None)
    assert (trained.words.max_k, trained.model.num_layers) == (3, 1)
    assert trained.head.loss == "mse_log"
    assert settings["predict"].format == "bigwig"
    shown = settings["view"]
    assert shown.names == ["predicted", "A measured", "B measured"]
    assert [str(x) for x in shown.tracks][1:] == ["a.bedGraph", "a.bedGraph"]
    assert "printf '%s\\n' 'chr22\t19700000\t19800000'" in output.replace("\\t", "\t")


def test_tracks_may_be_named_in_the_config(workflow, config):
    output = workflow.snakemake("-n", "-p", "--configfile", config({"X": "./a.bedGraph"}))
    assert "--tracks X=a.bedGraph" in output
    assert '\'["predicted", "X measured"]\'' in output


def test_replicates_are_a_baseline_of_the_model(workflow, config):
    (workflow.folder / "b.bedGraph").write_text("chr22\t1\t2\t5\n")
    path = config({"X": "./a.bedGraph"}, replicates={"X": "./b.bedGraph"})
    output = workflow.snakemake("-n", "-p", "--configfile", path)
    assert workflow.jobs_of(output)["baseline"] == 4
    assert re.search(r"baseline --method replicate .* --tracks X=b.bedGraph", output)
    assert re.search(r"evaluate .*--baselines .*baselines/tracks/replicate.h5", output)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tracks: {}", "tracks: needs signal: add `tracks"),
        ('tracks: {regions: ["demo22:9-3"]}\ninputs: {genome: [{g}], tracks: [{g}]}', "regions"),
        ("tracks: {}\ninputs: {genome: [{g}], tracks: [{g}], replicates: {X: {g}}}", "replicates"),
    ],
)
def test_refused(text, message, tmp_path):
    (tmp_path / "g.bedGraph").write_text("c\t1\t2\t3\n")
    with pytest.raises(InputError, match=message):
        run_of(text.replace("{g}", str(tmp_path / "g.bedGraph")))
