"""`bench` on tasks with nothing left, and what it refuses before it trains."""

import json

import pytest

from dna_bigbird.bench import trainings
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome
from tests.pipeline.bench.label_runs import TASKS, run_bench, write_genome, write_suite, write_task
from tests.pretrained_bundle import write_pretrained_bundle
from tests.tiny_bundle import draw_dna


@pytest.fixture
def model(tmp_path):
    return write_pretrained_bundle(tmp_path / "model")


@pytest.fixture
def no_training(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("trained")

    for name in ("finetune", "fit_network_baseline", "fit_kmer_baseline"):
        monkeypatch.setattr(trainings, name, refuse)


def test_every_test_row_is_a_training_row_again(tmp_path, model, monkeypatch):
    """The published score stays; of the leak-free one there is nothing, on the page too."""
    monkeypatch.setattr(trainings, "CNN_FEWEST", 6)
    fasta = write_genome(tmp_path, 24)
    write_task(tmp_path / "data", TASKS[0], train=range(24), test=range(10, 20))
    (result,) = run_bench(
        tmp_path / "data", fasta, model, tmp_path / "bench", seeds=1, page=True
    ).results
    assert result.n == {"published": 10, "leak_free": 0}
    assert result.leaks["shares_bases"] == 10
    for source in result.sources:
        assert list(source.scores) == ["published"]
        assert set(source.minus) <= {"published"}
    assert (tmp_path / "bench" / "page" / "table.md").stat().st_size > 200


@pytest.mark.parametrize(
    ("bases", "message"),
    [
        (draw_dna(100, 0), r"no test row is left \(42 rows read; left out: 41 beyond the end\)$"),
        ("ACGT" * 600, r"the rows of input belong to 1 groups; too few to split$"),
    ],
    ids=["short", "repeated"],
)
def test_rows_that_make_no_set_end_with_one_line(tmp_path, model, no_training, bases, message):
    """The FASTA has the first training row alone; all rows are one sequence."""
    data, _ = write_suite(tmp_path)
    fasta = tmp_path / "short.fa"
    fasta.write_text(f">chr1\n{bases}\n")
    with pytest.raises(InputError, match=rf"^{TASKS[0]}: {message}"):
        run_bench(data, fasta, model, tmp_path / "bench", pieces=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": 0}, "seeds 0"),
        ({"replicates": 1}, "replicates 1"),
        ({"tasks": ["*enhancers*", "worm"]},
         r"tasks worm: no such task below .*data; there are human_enhancers_ensembl, human_ocr"),
        ({"chain": "x.chain"}, r"chain x\.chain: genome has a FASTA for GRCh38, as the intervals are"),
        ({"chain": "x.chain", "genome": {"GRCh38": "a.fa", "WBcel235": "b.fa"}},
         r"chain x\.chain: genome has a FASTA for GRCh38, as the intervals are"),
        ({"method": "half"}, r"method.*'half'.*full.*lora.*probe"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, model, no_training, options, message):
    data, fasta = write_suite(tmp_path)
    with pytest.raises(InputError, match=message):
        run_bench(data, fasta, model, tmp_path / "bench", **options)
    assert not (tmp_path / "bench").exists()


def test_two_fasta_of_one_assembly_are_one_line(tmp_path, model, capsys):
    data, fasta = write_suite(tmp_path)
    with pytest.raises(SystemExit, match=r"^2$"):
        main(
            ["bench", "genomic-benchmarks", f"--data={data}", f"--output={tmp_path / 'bench'}",
             f"--model={model}", f"--genome={{hg38: {fasta}, GRCh38: {fasta}}}"]
        )  # fmt: skip
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"--genome GRCh38={fasta}: GRCh38 is {fasta} already" in error
    assert not (tmp_path / "bench").exists()


def test_a_dry_run_lists_rows_and_minutes_and_writes_nothing(tmp_path, model, no_training, capsys):
    data, fasta = write_suite(tmp_path)
    Genome(fasta)  # writes its index
    before = sorted(tmp_path.rglob("*"))
    main(
        ["bench", "genomic-benchmarks", f"--data={data}", f"--output={tmp_path / 'bench'}",
         f"--model={model}", "--genome", f"GRCh38={fasta}", "--seeds", "2", "--dry_run", "true",
         "--training.max_steps", "20", "--threads", "1"]
    )  # fmt: skip
    assert sorted(tmp_path.rglob("*")) == before
    header, *rows, total = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert header == ["task", "rows", "left", "out", "test", "longest", "bp", "steps", "minutes"]
    assert [row[:6] for row in rows] == [[name, "42", "0", "18", "60", "20"] for name in TASKS]
    minutes = [float(row[6]) for row in rows]
    # Two seeds, with the model and with random weights, of at least the six seconds that each takes.
    assert all(0.4 <= x < 2 for x in minutes)
    assert float(total[-1]) == pytest.approx(sum(minutes), abs=0.11)


@pytest.mark.parametrize("suite", ["traitgym", "gue"])
def test_the_help_of_a_suite_has_its_name_in_the_examples(suite, capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["bench", suite, "--help"])
    text = capsys.readouterr().out
    assert f"dna-bigbird bench {suite} --data files --output bench" in text
    assert "{suite}" not in text


def test_task_json_has_no_path(tmp_path, model, monkeypatch):
    monkeypatch.setattr(trainings, "CNN_FEWEST", 6)
    data, fasta = write_suite(tmp_path)
    run_bench(data, fasta, model, tmp_path / "bench", seeds=1, tasks=[TASKS[1]])
    text = (tmp_path / "bench" / TASKS[1] / "task.json").read_text()
    assert str(tmp_path) not in text
    assert json.loads(text)["settings"]["model"] == "model"
