"""Any bytes as the finished rows of an interrupted run: the same file as from a whole run, or one line."""

import shutil

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
    """Command, output, bytes of the whole output, and the parts left by a run that was interrupted."""
    folder = tmp_path_factory.mktemp("resume")
    fasta, output = folder / "x.fa", folder / "out" / "x.tsv"
    fasta.write_text("".join(f">r{i}\n{draw_dna(30 + 7 * i, i)}\n" for i in range(12)))
    argv = ["predict", "--model", tiny_model, "--fasta", fasta, "--output", output, *EXACT]

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictor, "CHUNK_BATCHES", 0)  # a part for each window
        patch.setattr(predict_run, "write", stop)
        with pytest.raises(SystemExit, match="130"):
            main([str(a) for a in argv])
    (rows,) = output.parent.iterdir()
    left = {path.name: path.read_bytes() for path in rows.iterdir()}
    assert len(left) > 12
    shutil.rmtree(rows)
    assert run(*argv).status == 0
    return argv, output, output.read_bytes(), rows, left


@pytest.fixture(scope="module")
def check(interrupted):
    argv, output, whole, rows, left = interrupted

    def check_rows(changed: tuple[str, bytes], resume: bool):
        output.unlink(missing_ok=True)
        rows.mkdir(exist_ok=True)
        for name, content in (left | dict([changed])).items():
            (rows / name).write_bytes(content)
        outcome = run(*argv, *["--resume"] * resume)
        if outcome.status == 0:
            assert output.read_bytes() == whole
            assert [path.name for path in output.parent.iterdir()] == [output.name]
        else:
            assert "x.tsv" in outcome.error
            assert not output.exists()

    return check_rows


def edits(left: dict[str, bytes]) -> st.SearchStrategy[tuple[str, bytes]]:
    """Return a strategy of a part and its changed bytes."""
    return st.sampled_from(sorted(left)).flatmap(
        lambda name: st.tuples(st.just(name), edited(st.just(left[name])))
    )


def test_what_was_left_is_used(check, interrupted):
    check(("identity.json", interrupted[-1]["identity.json"]), True)


@bounded(80)
@given(data=st.data(), resume=st.booleans())
def test_any_rows(check, interrupted, data, resume):
    check(data.draw(edits(interrupted[-1])), resume)


@pytest.mark.slow
def test_thousands_of_rows(check, interrupted, start):
    many(check, edits(interrupted[-1]), st.booleans(), examples=3000, start=start)
