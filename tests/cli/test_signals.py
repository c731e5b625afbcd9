"""SIGTERM and Ctrl-C at any place of any command: status 143 or 130, one line, nothing half-written."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dna_bigbird.cli.main import main
from tests import signalled
from tests.pipeline.bench.label_runs import TASKS, write_suite
from tests.pretrained_bundle import write_pretrained_bundle
from tests.text_bundle import write_text_bundle
from tests.toy_project import FINETUNE, PRETRAIN, bytes_of

STATUS = {signal.SIGTERM: 143, signal.SIGINT: 130}
SIGNALS = pytest.mark.parametrize("number", STATUS, ids=lambda number: number.name)
STEP = "dna_bigbird.training.objective:SeededBatches.on_train_batch_start"
VALIDATION = "dna_bigbird.training.checkpoints:Checkpoints.on_validation_end"
FIGURES = ("step ", "dna-bigbird: note", "train: ", "validation: ")

TEXT = (
    "text train --task text-classification --set imdb --train rows.jsonl --validation rows.jsonl --pretrained mlm "
    "--options.max_tokens 32 --training.batch_size 2 --training.precision 32-true "
    "--training.measure_speed false --training.max_steps 4 --training.validate_every 4 --threads 1"
)
CHARACTERS = (
    "train-characters --input letters --seed 1 --threads 1 --model.hidden_size 16 --model.num_heads 2 "
    "--model.ffn_size 16 --model.causal_windows 4 6 --model.dilations 1 2 --model.dilated_heads 1 "
    "--training.phase_steps 8 4 4 --training.examples_per_step 4 2 2 --training.batch_size 2 "
    "--training.max_tokens 32 --training.longest 100 --training.validations 2 --training.precision 32-true"
)


BENCH = (
    f"bench genomic-benchmarks --data data --genome GRCh38=made.fa --model for_suite --seeds 1 --tasks {TASKS[0]} "
    "--training.max_steps 40 --training.validate_every 20 --threads 1 --training.batch_size 4 "
    "--training.precision 32-true --replicates 20 --training.measure_speed false"
)


@pytest.fixture(autouse=True)
def project(toy_project, monkeypatch):
    """The project as the current folder, and the handlers of the tests as they were."""
    monkeypatch.chdir(toy_project)
    before = {number: signal.getsignal(number) for number in (*STATUS, signal.SIGUSR1)}

    def unheard(number, frame):
        raise AssertionError("nothing listens to the signal")

    for number in STATUS:
        signal.signal(number, unheard)
    yield toy_project
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def interrupted(monkeypatch, capsys):
    """Function (line, signal, place, call, times): exit status and lines, but notes and figures."""

    def run(line: str, number: int, place: str, call: int = 1, times: int = 1):
        capsys.readouterr()
        owner, name = signalled.place_of(place)
        with monkeypatch.context() as patch, pytest.raises(SystemExit, match=r"^1(30|43)$") as stop:
            patch.setattr(
                owner, name, signalled.signalled(getattr(owner, name), number, call, times)
            )
            main(line.split())
        said = capsys.readouterr().err.splitlines()
        return stop.value.code, [x for x in said if not x.startswith(FIGURES)]

    return run


def names_of(output: str) -> set[str]:
    """Names that belong to an output, hidden ones too."""
    return {path.name for path in Path().iterdir() if output in path.name}


@SIGNALS
@pytest.mark.parametrize(
    ("kind", "line", "whole"),
    [("pretrain", PRETRAIN, "pretrained"), ("finetune", FINETUNE, "promoter")],
)
def test_a_training_is_saved_and_ends_as_an_undisturbed_one(
    interrupted, number, kind, line, whole, capsys
):
    output = f"stopped_{kind}_{number.name}"
    line = f"{line} --output {output} --checkpoints ck/{output}"
    assert interrupted(line, number, STEP, 9) == (
        STATUS[number],
        ["dna-bigbird: interrupted at step 9 of 20; the same command continues"],
    )
    assert names_of(output) == set()
    main(line.split())
    assert f"ck/{output}: continuing after step 9" in capsys.readouterr().err
    assert bytes_of(Path(output)) == bytes_of(Path(whole))


@pytest.mark.parametrize(
    ("place", "call", "times", "says"),
    [
        ("dna_bigbird.training.pretrain_run:open_corpus", 1, 1, "interrupted"),
        ("dna_bigbird.training.processes:SameStart.on_train_start", 1, 1, "at step 0 of 20; the same command starts again"),
        (STEP, 9, 3, "at step 9 of 20; the same command continues"),
        (VALIDATION, 1, 1, "at step 10 of 20; the same command continues"),
        pytest.param(VALIDATION, 2, 1, "at step 20 of 20; the same command continues", marks=pytest.mark.slow),
        ("dna_bigbird.training.checkpoints:Preemption.teardown", 1, 1, "at step 20 of 20; the same command continues"),
        pytest.param("dna_bigbird.training.fit:load_best", 1, 1, "interrupted", marks=pytest.mark.slow),
        ("dna_bigbird.core.result_folders:replace_folder", 1, 1, "interrupted"),
    ],
)  # fmt: skip
def test_at_every_place_of_a_training(interrupted, request, place, call, times, says):
    output = f"placed{request.node.callspec.indices['place']}"
    line = f"{PRETRAIN} --output {output} --checkpoints ck/{output}"
    status, lines = interrupted(line, signal.SIGTERM, place, call, times)
    assert status == 143
    assert len(lines) == 1
    assert lines[0].endswith(says)
    assert names_of(output) == set()
    main(line.split())
    assert bytes_of(Path(output)) == bytes_of(Path("pretrained"))


def test_a_second_ctrl_c_ends_the_training_at_once(interrupted):
    line = f"{PRETRAIN} --output hasty --checkpoints ck/hasty"
    assert interrupted(line, signal.SIGINT, STEP, 15, times=4) == (
        130,
        ["dna-bigbird: interrupted at step 14 of 20; the same command continues from step 10"],
    )
    main(line.split())
    assert bytes_of(Path("hasty")) == bytes_of(Path("pretrained"))


DOCUMENTS = (
    "documents --genome toy.fa --regions [chr1:1-40000] --seed 1 --documents.passes 2 --documents.min_sentences 4 "
    "--documents.max_sentences 8 --documents.min_sentence_bp 80 --documents.max_sentence_bp 160 "
    "--documents.max_start_bp 500"
)
OTHERS = {
    "evaluate": (
        "evaluate --genome toy.fa --model promoter --data set.h5 --output OUT --report OUT.report --seed 1 --replicates 50",
        "dna_bigbird.prediction.engine:Engine.run",
    ),
    "evaluate-lm": (
        "evaluate-lm --model pretrained --train train.h5 --test test.h5 --output OUT --report OUT.json --seed 1 --examples 20",
        "dna_bigbird.baselines.base_ngram:BaseNgramCausal.fit",
    ),
    "baseline": (
        "baseline --genome toy.fa --data set.h5 --output OUT.h5 --seed 1 --kmer.max_k 3",
        "dna_bigbird.baselines.kmer:KmerBaseline.fit",
    ),
    "documents": (f"{DOCUMENTS} --output OUT.bed.gz", "dna_bigbird.core.writing:scratch_folder"),
    "train-tokenizer": (
        "train-tokenizer --genome toy.fa --documents train.bed.gz --output OUT.model --metrics OUT.json --seed 1 "
        "--tokenizer.vocab_size 128",
        "dna_bigbird.core.writing:real_path",
    ),
    "promoter-set": (
        "promoter-set --genome toy.fa --sites sites.bed --output OUT.h5 --assembly demo-toy --seed 1 --upstream 150 "
        "--downstream 50 --split.validation [chr1:40001-50000] --split.test [chr1:50001-60000]",
        "dna_bigbird.core.writing:scratch_folder",
    ),
    "embed": (
        "embed --fasta toy.fa --model promoter --output OUT.h5 --threads 1",
        "dna_bigbird.prediction.engine:Engine.run",
    ),
    "predict": (
        "predict --fasta toy.fa --model promoter --output OUT.tsv --threads 1",
        "dna_bigbird.prediction.predictor:Predictor.score_windows",
    ),
}  # fmt: skip


@SIGNALS
@pytest.mark.parametrize("name", OTHERS)
def test_other_commands_leave_nothing(interrupted, number, name):
    line, place = OTHERS[name]
    output = f"other_{name}_{number.name}"
    status, lines = interrupted(line.replace("OUT", output), number, place, times=3)
    assert (status, len(lines)) == (STATUS[number], 1), lines
    assert re.fullmatch(r"dna-bigbird: (\S+: )?interrupted.*", lines[0])
    assert names_of(output) == set()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_tokenize_keeps_its_parts(interrupted, workers):
    output = f"parts{workers}.h5"
    line = f"tokenize --genome toy.fa --documents train.bed.gz --tokenizer bpe.model --assembly demo-toy --output {output}"
    line += f" --workers {workers}"
    place = "dna_bigbird.corpus.token_store_writer:read_part"
    assert interrupted(line, signal.SIGTERM, place) == (143, ["dna-bigbird: interrupted"])
    assert names_of(output) == {f".{output}.parts"}
    main(line.split())
    assert names_of(output) == {output}
    assert Path(output).read_bytes() == Path("train.h5").read_bytes()


@SIGNALS
def test_standard_output_that_ends_early(interrupted, number):
    place = "dna_bigbird.prediction.predictor:Predictor.score_windows"
    status, lines = interrupted("predict --fasta toy.fa --model promoter", number, place)
    assert (status, len(lines)) == (STATUS[number], 1)
    assert "standard output ends after 0 windows" in lines[0]


def test_an_interrupt_that_a_library_swallows_does_not_silence_the_next_one(monkeypatch):
    """As Python does with an exception in `__del__`, or a callback of a C library."""
    from dna_bigbird.core import signals

    with signals.interrupting():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt:
            os.kill(os.getpid(), signal.SIGTERM)  # while the first is handled
        with pytest.raises(KeyboardInterrupt, match="interrupted"):
            os.kill(os.getpid(), signal.SIGTERM)


def test_python_gets_a_keyboard_interrupt_and_its_handlers_back(monkeypatch):
    from dna_bigbird import finetune
    from dna_bigbird.core.errors import Interrupted
    from dna_bigbird.training.label_config import LabelTrainConfig

    def own(number, frame):
        raise AssertionError

    training = LabelTrainConfig(max_steps=4, batch_size=8, validate_every=2, precision="32-true")
    handled = (*STATUS, signal.SIGUSR1)
    for number in handled:
        signal.signal(number, own)
    owner, name = signalled.place_of(STEP)
    with monkeypatch.context() as patch, pytest.raises(Interrupted, match="at step 3 of 4") as stop:
        patch.setattr(owner, name, signalled.signalled(getattr(owner, name), signal.SIGINT, 3))
        finetune(
            data="set.h5", output="api", genome="toy.fa", pretrained="pretrained", training=training
        )
    assert isinstance(stop.value, KeyboardInterrupt)
    assert [signal.getsignal(number) for number in handled] == [own] * 3
    finetune(
        data="set.h5", output="api", genome="toy.fa", pretrained="pretrained", training=training
    )
    assert [signal.getsignal(number) for number in handled] == [own] * 3


def test_a_training_in_another_thread_sets_no_handlers():
    line = f"{PRETRAIN} --output threaded --checkpoints ck/threaded"
    before = [signal.getsignal(number) for number in STATUS]
    thread = threading.Thread(target=main, args=(line.split(),))
    thread.start()
    thread.join()
    assert bytes_of(Path("threaded")) == bytes_of(Path("pretrained"))
    assert [signal.getsignal(number) for number in STATUS] == before


def test_an_ignored_signal_stays_ignored(interrupted):
    """As in a job of nohup, or in the background of a script."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signalled.signalled(main, signal.SIGINT, 1)(f"{DOCUMENTS} --output ignoring.bed.gz".split())
    assert Path("ignoring.bed.gz").read_bytes() == Path("train.bed.gz").read_bytes()
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


@pytest.fixture(scope="module")
def more_inputs(toy_project):
    """Inputs of text, characters and a suite, next to those of the project."""
    write_text_bundle(toy_project / "mlm")
    texts = ["the king was good", "the queen was bad", "a good river", "a bad city"] * 2
    rows = [{"text": text, "label": "pos" if "good" in text else "neg"} for text in texts]
    (toy_project / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (toy_project / "letters").write_text("abcdeedcba" * 500)
    write_pretrained_bundle(toy_project / "for_suite")
    write_suite(toy_project)


MORE = {
    "text train": (TEXT, STEP, 3, "interrupted at step 3 of 4; the same command continues"),
    "train-characters": (CHARACTERS, STEP, 18, "interrupted at step 2 of 4; the same command continues"),
    "finetune --search": (f"{FINETUNE} --search 2", STEP, 29, "interrupted at step 9 of 20; the same command continues"),
    "bench": (BENCH, STEP, 3, "interrupted at step 3 of 120; the same command continues"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
@SIGNALS
def test_other_trainings(interrupted, more_inputs, number, name):
    line, place, call, says = MORE[name]
    folder = f"{name.replace(' ', '')}_{number.name}"
    whole, output = f"{folder}_whole", f"{folder}_stopped"
    for path in (whole, output):
        if path == output:
            given = f"{line} {outputs(line, path)}"
            assert interrupted(given, number, place, call) == (
                STATUS[number],
                [f"dna-bigbird: {says}"],
            )
        main(f"{line} {outputs(line, path)}".split())
    assert result_of(output) == result_of(whole)


def outputs(line: str, output: str) -> str:
    """Options that name a result."""
    return f"--output {output}" + (
        "" if line.startswith("bench") else f" --checkpoints ck/{output}"
    )


def result_of(output: str) -> dict[str, bytes]:
    """Files of a model, or the scores of a suite."""
    scores = sorted(Path(output).glob("*/task.json"))
    return {x.name: x.read_bytes() for x in scores} or bytes_of(Path(output))


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
@SIGNALS
def test_two_processes(number, rank):
    """A signal to one of them ends both, with the line of the first."""
    output = f"two_{number.name}_{rank}"
    line = f"{PRETRAIN} --training.devices 2 --output {output} --checkpoints ck/{output}"
    environment = os.environ | {
        signalled.VARIABLE: f"{number.name} {STEP} 9",
        signalled.RANK: str(rank),
    }
    done = subprocess.run(
        [sys.executable, signalled.__file__, *line.split()],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )  # fmt: skip - it waits until no process holds the pipe: none stays behind
    assert done.returncode == STATUS[number]
    said = [x for x in done.stderr.splitlines() if "find_unused_parameters" not in x]
    said = [x for x in said if not x.startswith(FIGURES)]
    assert said == ["dna-bigbird: interrupted at step 9 of 20; the same command continues"]
    assert names_of(output) == set()
    whole = f"whole_{output}"
    for name in (output, whole):
        again = line.replace(output, name)
        subprocess.run([sys.executable, "-m", "dna_bigbird", *again.split()], check=True)
    assert bytes_of(Path(output)) == bytes_of(Path(whole))
