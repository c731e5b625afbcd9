"""evaluate --strand: the single-strand protocol against `predict`, and what it is compared with."""

import json
from dataclasses import replace

import h5py
import numpy as np
import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.core.files import sha256_of
from dna_bigbird.genome import Genome, Interval, reverse_complement
from dna_bigbird.labelled.labelled_set import LabelledData, LabelledSet, write_labelled_set
from dna_bigbird.labelled.scores import LabelScores, read_scores, write_scores

ROWS, STEP_BP = 30, 1000


@pytest.fixture(scope="module")
def project(tmp_path_factory, bundle_folder, random_dna):
    """Oriented rows, every second one on '-'; 10 for validation, 20 for the test; a scored bundle."""
    folder = tmp_path_factory.mktemp("strand")
    (folder / "g.fa").write_text(f">chr1\n{random_dna(ROWS * STEP_BP + 1000, 1)}\n")
    rng = np.random.default_rng(0)
    data = LabelledData(
        task="promoter",
        window_bp=200,
        label_names=["CTCF", "DNase"],
        label_groups=["TF", "DNase"],
        intervals=[
            Interval("chr1", i * STEP_BP, i * STEP_BP + 200, "+-"[i % 2]) for i in range(ROWS)
        ],
        names=[""] * ROWS,
        labels=(rng.random((ROWS, 2)) < 0.5).astype(np.uint8),
        split=np.repeat([1, 2], [10, 20]).astype(np.uint8),
    )
    genome = Genome(folder / "g.fa")
    write_labelled_set(folder / "s.h5", data, genome, assembly="toy", command="", inputs={})
    for strand in ("both", "forward"):
        evaluate(folder, bundle_folder, strand)
    return folder


def evaluate(folder, bundle, strand, *options):
    main(
        [
            "evaluate",
            f"--genome={folder}/g.fa",
            f"--data={folder}/s.h5",
            f"--model={bundle}",
            f"--output={folder}/final/{strand}",
            f"--report={folder}/report/{strand}",
            f"--strand={strand}",
            "--replicates=20",
            *options,
        ]
    )


def scores_of(folder, strand):
    return read_scores(folder / "report" / strand / "scores.h5")


def predicted(folder, bundle, strand, texts):
    """The probabilities that `predict` writes for the same windows as records of a FASTA file."""
    (folder / "rows.fa").write_text("".join(f">{i}\n{text}\n" for i, text in enumerate(texts)))
    main(
        f"predict --fasta {folder}/rows.fa --model {bundle} --strand {strand} --window 200 "
        f"--precision 32-true --format hdf5 --output {folder}/p.h5".split()
    )
    with h5py.File(folder / "p.h5") as file:
        return file["probabilities"][:]


@pytest.mark.parametrize("strand", ["forward", "both"])
def test_probabilities_are_those_of_predict(project, bundle_folder, strand):
    made = LabelledSet(project / "s.h5", Genome(project / "g.fa"))
    texts = [made.sequence(row) for row in range(ROWS)]
    assert texts[1] == reverse_complement(made.genome.fetch(replace(made.interval(1), strand="+")))
    expected = predicted(project, bundle_folder, strand, texts)
    assert np.abs(scores_of(project, strand).values - expected).max() < 1e-6


def test_both_is_the_mean_of_forward_and_reverse_complement(project, bundle_folder):
    made = LabelledSet(project / "s.h5", Genome(project / "g.fa"))
    turned = [reverse_complement(made.sequence(row)) for row in range(ROWS)]
    reverse = predicted(project, bundle_folder, "forward", turned)
    forward, both = (scores_of(project, x).values for x in ("forward", "both"))
    assert np.abs(forward - reverse).max() > 1e-3
    assert np.abs(both - (forward + reverse) / 2).max() < 1e-6


def test_every_file_says_which_strand(project):
    for strand, words in (("both", "mean of both strands"), ("forward", "forward strand only")):
        metrics = json.loads((project / "final" / strand / "metrics.json").read_text())
        assert metrics["strand"] == scores_of(project, strand).strand == strand
        assert words in scores_of(project, strand).description
        card = (project / "final" / strand / "README.md").read_text()
        assert ("forward strand only" in card) == (strand == "forward")


@pytest.mark.parametrize(
    ("of_baseline", "is_noted"), [("both", True), ("forward", False), ("", False)]
)
def test_a_baseline_on_other_strands_is_noted(
    project, bundle_folder, of_baseline, is_noted, capsys
):
    values = np.random.default_rng(1).random((ROWS, 2)).astype(np.float32)
    checksum = sha256_of(project / "s.h5")
    scores = LabelScores("net", "noise", ["CTCF", "DNase"], np.arange(ROWS), values, checksum)
    write_scores(project / "net.h5", replace(scores, strand=of_baseline))
    assert read_scores(project / "net.h5").strand == of_baseline
    capsys.readouterr()
    options = (f"--baselines.net={project}/net.h5", f"--output={project}/final/noted")
    evaluate(project, bundle_folder, "forward", *options)
    error = capsys.readouterr().err
    note = "net.h5: mean of both strands, the model: forward strand only. To compare the same"
    assert (note in error) == is_noted
    table = json.loads((project / "final/noted/metrics.json").read_text())["baselines"]["net"]
    assert table.get("strand", "") == of_baseline


def test_another_strand_is_refused(project, bundle_folder, capsys):
    with pytest.raises(SystemExit, match="2"):
        evaluate(project, bundle_folder, "minus")
    assert "minus" in capsys.readouterr().err
