"""Any bytes as the finished rows of an interrupted run: the same file as from a whole run, or one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dna_bigbird.cli.main import main
from dna_bigbird.prediction import predict_run, predictor
from tests.fuzz.conftest import draw_dna
from tests.fuzz.harness import EXACT, bounded, many, run
from tests.fuzz.inputs import edited


@pytest.fixture(scope="module")
def interrupted(tiny_model, tmp_path_factory):
    """Command, output, bytes of the whole output, and the rows left by a run that was interrupted."""
    folder = tmp_path_factory.mktemp("resume")
    fasta, output = folder / "x.fa", folder / "out" / "x.tsv"
    fasta.write_text("".join(f">r{i}\n{draw_dna(30 + 7 * i, i)}\n" for i in range(12)))
    argv = ["predict", "--model", tiny_model, "--fasta", fasta, "--output", output, *EXACT]

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictor, "CHUNK_BATCHES", 0)  # a frame for each window
        patch.setattr(predict_run, "write", stop)
        with pytest.raises(SystemExit, match="130"):
            main([str(a) for a in argv])
    (rows,) = output.parent.iterdir()
    left = rows.read_bytes()
    assert left.count(b'"probabilities"') > 10
    rows.unlink()
    assert run(*argv).status == 0
    return argv, output, output.read_bytes(), rows, left


@pytest.fixture(scope="module")
def check(interrupted):
    argv, output, whole, rows, _ = interrupted

    def check_rows(content: bytes, resume: bool):
        output.unlink(missing_ok=True)
        rows.write_bytes(content)
        outcome = run(*argv, *["--resume"] * resume)
        if outcome.status == 0:
            assert output.read_bytes() == whole
            assert [path.name for path in output.parent.iterdir()] == [output.name]
        else:
            assert "x.tsv" in outcome.error
            assert not output.exists()

    return check_rows


def test_what_was_left_is_used(check, interrupted):
    check(interrupted[-1], True)


@bounded(80)
@given(data=st.data(), resume=st.booleans())
def test_any_rows(check, interrupted, data, resume):
    check(data.draw(edited(st.just(interrupted[-1]))), resume)


@pytest.mark.slow
def test_thousands_of_rows(check, interrupted, start):
    many(check, edited(st.just(interrupted[-1])), st.booleans(), examples=3000, start=start)
