"""`predict` as a function: every format holds the same numbers, and a run can be continued."""

import hashlib
import io

import h5py
import numpy as np
import pyBigWig
import pytest

from dna_bigbird import load_bundle, predict
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.core.errors import InputError, Interrupted, OutputError
from dna_bigbird.prediction import predict_run
from dna_bigbird.prediction.partial_results import partial_results_path

LABELS = ["CTCF", "DNase"]
CHUNK = 4


def score(bases):
    """Two numbers that tell sequences apart, NaN for nothing but N."""
    if not bases.strip("N"):
        return [np.nan] * 2
    digest = hashlib.sha256(bases.encode()).digest()
    return [digest[0] / 255, digest[1] / 255]


class FakePredictor:
    """Scores by `score`, four windows at a time, and fails after as many chunks as it is told."""

    chunks_left = None
    window_bp = 200
    precision = "32-true"

    def __init__(self, bundles, *, compute, strand, labels, bins=None, raw=False):
        self.compute, self.label_names, self.labels = compute, [LABELS[i] for i in labels], labels

    def check_probabilities(self, purpose):
        """Its scores are probabilities."""

    def score_windows(self, windows):
        chunk = []
        for window in windows:
            chunk.append(window)
            if len(chunk) == CHUNK:
                yield from self._scored(chunk)
                chunk = []
        if chunk:
            yield from self._scored(chunk)

    def _scored(self, chunk):
        if FakePredictor.chunks_left is not None:
            if not FakePredictor.chunks_left:
                raise RuntimeError("the machine caught fire")
            FakePredictor.chunks_left -= 1
        values = np.array([score(window.bases) for window in chunk], np.float32)
        yield chunk, values[:, self.labels]

    def notes(self):
        return ["computed by a fake"]


def changed_bundle(folder, output, **settings):
    """Another model like it."""
    bundle = load_bundle(folder)
    for parameter in bundle.model.parameters():
        parameter.data *= 1.1
    save_bundle(
        output,
        model=bundle.model,
        config=bundle.config | settings,
        tokenizer=bundle.tokenizer,
        metrics=bundle.metrics,
        card="# another\n",
    )
    return output


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setattr(predict_run, "Predictor", FakePredictor)
    yield FakePredictor
    FakePredictor.chunks_left = None


@pytest.fixture
def genome(tmp_path, random_dna):
    """Three records; one holds a run of N longer than two windows."""
    path = tmp_path / "genome.fa"
    long = random_dna(1500, 1)
    path.write_text(
        f">chr2\n{long[:600]}{'N' * 500}{long[600:]}\n>chr10\n{random_dna(450, 2)}\n>chr1\n"
        f"{random_dna(120, 3)}\n"
    )
    return path


def read_table(path):
    header, *rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert header == ["sequence", "start", "end", *LABELS]
    return rows


def test_arrays_in_memory_are_what_the_table_says(fake, bundle_folder, genome, tmp_path):
    found = predict(genome, model=bundle_folder, stride=50)
    done = predict(genome, model=bundle_folder, stride=50, output=tmp_path / "x.tsv")
    rows = read_table(tmp_path / "x.tsv")
    assert done.windows == len(found) == len(rows) > 30
    assert (done.label_names, done.notes[0]) == (LABELS, "computed by a fake")
    assert [row[0] for row in rows] == found.sequence.tolist()
    assert [[int(x) for x in row[1:3]] for row in rows] == [
        list(pair) for pair in zip(found.start.tolist(), found.end.tolist(), strict=True)
    ]
    table = np.array([[float(x) for x in row[3:]] for row in rows])
    np.testing.assert_allclose(table, found.probabilities, rtol=1e-4)
    assert np.isnan(table).all(axis=1).sum() == 7, "windows of N alone: 0 to 300 in steps of 50"


def test_sequences_in_memory_score_as_a_file_of_them(fake, bundle_folder, genome):
    records = [record.split("\n") for record in genome.read_text()[1:].split(">")]
    sequences = {name: bases for name, bases, *_ in records}
    of_file = predict(genome, model=bundle_folder)
    in_memory = predict(sequences=sequences, model=bundle_folder)
    assert in_memory.sequence.tolist() == of_file.sequence.tolist()
    np.testing.assert_array_equal(in_memory.probabilities, of_file.probabilities)


def test_bigwig_bed_and_hdf5_hold_the_numbers_of_the_table(fake, bundle_folder, genome, tmp_path):
    rows = predict(genome, model=bundle_folder, stride=200)
    for output in ("x.bed", "x.h5", "x.bw"):
        labels = "DNase" if output == "x.bw" else None
        predict(genome, model=bundle_folder, stride=200, output=tmp_path / output, labels=labels)
    with h5py.File(tmp_path / "x.h5") as file:
        np.testing.assert_array_equal(file["probabilities"], rows.probabilities)
        assert (
            "--window 200 --stride 200 --strand both --coordinates record" in file.attrs["command"]
        )
        assert hashlib.sha256(genome.read_bytes()).hexdigest() in file.attrs["inputs"]
    with pyBigWig.open(str(tmp_path / "x.bw")) as file:
        assert file.chroms() == {"chr1": 120, "chr10": 450, "chr2": 2000}
        for name, start, end, values in zip(
            rows.sequence, rows.start, rows.end, rows.probabilities, strict=True
        ):
            if (name, end) != ("chr10", 450) and (name, start) != ("chr10", 200):  # these overlap
                found = file.values(name, int(start), int(end), numpy=True)
                np.testing.assert_array_equal(found, np.full(end - start, values[1]))
    assert (tmp_path / "x.bed").read_text().count("\n") == 1 + 2 * (8 + 4 + 1)


@pytest.mark.parametrize("output", ["x.tsv", "x.bed", "x.h5", "x.bw", "tracks"])
@pytest.mark.parametrize("chunks", [1, 5])
def test_a_continued_run_has_the_bytes_of_an_undisturbed_one(
    fake, bundle_folder, genome, tmp_path, output, chunks
):
    options = {"model": bundle_folder, "stride": 37, "labels": "CTCF" if output == "x.bw" else None}
    options["format"] = "bigwig" if output == "tracks" else None
    (tmp_path / "whole").mkdir()
    predict(genome, output=tmp_path / "whole" / output, **options)
    fake.chunks_left = chunks
    with pytest.raises(RuntimeError, match="fire"):
        predict(genome, output=tmp_path / output, **options)
    assert not (tmp_path / output).exists()
    fake.chunks_left = None
    scored = []
    frames = predict_run.PredictionRun.frames

    def watched(*arguments, **more):
        for frame in frames(*arguments, **more):
            scored.append(len(frame["start"]))
            yield frame

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predict_run.PredictionRun, "frames", watched)
        done = predict(genome, output=tmp_path / output, resume=True, **options)
    assert done.windows - sum(scored) == chunks * CHUNK
    assert contents(tmp_path / output) == contents(tmp_path / "whole" / output)
    assert {p.name for p in tmp_path.iterdir()} == {"genome.fa", "whole", output}


def contents(path):
    if path.is_dir():
        return {file.name: file.read_bytes() for file in sorted(path.iterdir())}
    return path.read_bytes()


def leave_unfinished(genome, output, **options):
    FakePredictor.chunks_left = 2
    with pytest.raises(RuntimeError, match="fire"):
        predict(genome, output=output, **options)
    FakePredictor.chunks_left = None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stride": 60}, "its stride was 50, now it is 60"),
        ({"strand": "forward"}, "its strand was both, now it is forward"),
        ({"labels": "CTCF"}, r"its labels was \['CTCF', 'DNase'\], now it is \['CTCF'\]"),
    ],
)
def test_other_settings_do_not_continue_a_run(
    fake, bundle_folder, genome, tmp_path, change, message
):
    output, options = tmp_path / "x.tsv", {"model": bundle_folder, "stride": 50}
    leave_unfinished(genome, output, **options)
    with pytest.raises(InputError, match=message):
        predict(genome, output=output, resume=True, **options | change)
    predict(genome, output=output, resume=True, **options)


def test_another_genome_or_model_does_not_continue_a_run(fake, bundle_folder, genome, tmp_path):
    output = tmp_path / "x.tsv"
    leave_unfinished(genome, output, model=bundle_folder)
    other = changed_bundle(bundle_folder, tmp_path / "other")
    with pytest.raises(InputError, match=r"its checksums.model was \['\w+"):
        predict(genome, output=output, resume=True, model=other)
    genome.write_text(genome.read_text() + "A\n")
    with pytest.raises(InputError, match=r"its inputs.fasta.mtime_ns was \d+, now it is \d+"):
        predict(genome, output=output, resume=True, model=bundle_folder)
    assert partial_results_path(output).exists()


def test_a_run_without_resume_starts_anew_and_says_so(
    fake, bundle_folder, genome, tmp_path, capsys
):
    output = tmp_path / "x.tsv"
    leave_unfinished(genome, output, model=bundle_folder)
    predict(genome, output=output, model=bundle_folder)
    assert "8 windows of an interrupted run are thrown away" in capsys.readouterr().err


def test_bad_input_is_found_before_anything_is_scored(fake, bundle_folder, genome, tmp_path):
    genome.write_text(genome.read_text() + ">p53\nMEEPQSDPSVEPPLSQETFSDLWKLLPENN\n")
    fake.chunks_left = 0
    with pytest.raises(InputError, match="p53"):
        predict(genome, output=tmp_path / "x.tsv", model=bundle_folder)
    assert [p.name for p in tmp_path.iterdir()] == ["genome.fa"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sequences": {"a": "ACGT"}}, "expected DNA from one source"),
        ({"fasta": None}, "expected DNA from one source"),
        ({"strand": "interval"}, "^strand interval is that of column 6 of a bed file"),
        ({"resume": True}, "^resume needs output"),
        ({"format": "bed"}, "^format bed needs output"),
        ({"span": "bin"}, "^span bin is for BED and bigWig"),
        (
            {"span": "bin", "output": "x.bed"},
            "^span bin: .*tiny labels whole windows of 200 bp, it has no bins",
        ),
        ({"model": []}, "no model bundle was given"),
        ({"window": 0}, "^window 0"),
        ({"stride": -1}, "^stride -1"),
        ({"labels": "CTFC"}, "^labels CTFC: the model has no such label; near are CTCF"),
        ({"batch_size": -1}, "^batch_size -1"),
    ],
)
def test_contradictions_are_refused(fake, bundle_folder, genome, options, message):
    with pytest.raises(InputError, match=message):
        predict(**{"fasta": genome, "model": bundle_folder} | options)


def test_the_old_name_of_span_is_accepted(fake, bundle_folder, genome, capsys):
    with pytest.raises(InputError, match=r"^span bin is for BED and bigWig"):
        predict(genome, model=bundle_folder, place="bin")
    assert "note: predict(): the argument place is now called span" in capsys.readouterr().err
    with pytest.raises(TypeError, match="unexpected keyword argument 'place'"):
        predict(genome, model=bundle_folder, place="bin", span="bin")


def test_standard_input_cannot_be_continued(fake, bundle_folder, genome, tmp_path, monkeypatch):
    text = io.TextIOWrapper(io.BytesIO(genome.read_bytes()))
    monkeypatch.setattr("sys.stdin", text)
    with pytest.raises(InputError, match="standard input cannot be read from the start again"):
        predict("-", output=tmp_path / "x.tsv", model=bundle_folder, resume=True)


def test_standard_input_gives_the_rows_of_the_file(
    fake, bundle_folder, genome, tmp_path, monkeypatch, capsys
):
    predict(genome, output=tmp_path / "file.bw", model=bundle_folder, labels="CTCF")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(genome.read_bytes())))
    predict("-", output=tmp_path / "stdin.bw", model=bundle_folder, labels="CTCF")
    assert (tmp_path / "stdin.bw").read_bytes() == (tmp_path / "file.bw").read_bytes()
    predict(genome, output="-", model=bundle_folder)
    printed = capsys.readouterr().out
    predict(genome, output=tmp_path / "file.tsv", model=bundle_folder)
    assert printed == (tmp_path / "file.tsv").read_text()


def test_an_interrupt_of_standard_output_is_an_error(fake, bundle_folder, genome, monkeypatch):
    def interrupted(self, windows):
        yield from []
        raise KeyboardInterrupt

    monkeypatch.setattr(fake, "score_windows", interrupted)
    with pytest.raises(Interrupted, match="standard output ends after 0 windows"):
        predict(genome, output="-", model=bundle_folder)


def test_a_full_disk_keeps_what_is_finished(fake, bundle_folder, genome, tmp_path, monkeypatch):
    def full(*arguments):
        raise OutputError("x", "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(predict_run, "write", full)
        with pytest.raises(OutputError, match="No space left on device; 14 windows are kept"):
            predict(genome, output=tmp_path / "x.tsv", model=bundle_folder)
    fake.chunks_left = 0
    predict(genome, output=tmp_path / "x.tsv", model=bundle_folder, resume=True)
    assert len(read_table(tmp_path / "x.tsv")) == 14


@pytest.mark.parametrize("labels", [None, "DNase"])
def test_several_models_are_averaged_label_by_label(bundle_folder, genome, tmp_path, labels):
    """The second model names its columns in the other order, and so it must be read."""
    exact = {"precision": "32-true", "labels": labels}
    other = changed_bundle(bundle_folder, tmp_path / "other", label_names=LABELS[::-1])
    one, two = (predict(genome, model=model, **exact) for model in (bundle_folder, other))
    both = predict(genome, model=[bundle_folder, other], **exact)
    assert both.label_names == one.label_names == ([labels] if labels else LABELS)
    two_sorted = two.probabilities[:, [two.label_names.index(name) for name in both.label_names]]
    assert np.nanmax(abs(one.probabilities - two_sorted)) > 0.01, "the models must differ"
    np.testing.assert_allclose(both.probabilities, (one.probabilities + two_sorted) / 2, atol=2e-6)


def test_models_without_a_common_label_are_refused(bundle_folder, genome, tmp_path):
    other = changed_bundle(bundle_folder, tmp_path / "other", label_names=["CTCF", "ATAC"])
    with pytest.raises(InputError, match=r"other: it has no label 'DNase', as .*tiny has"):
        predict(genome, model=[bundle_folder, other])
    assert len(predict(genome, model=[bundle_folder, other], labels="CTCF")) > 3
