"""The corpora of `make fuzz` are read, and a finding is kept once; atheris itself is not needed."""

import pytest

from dna_bigbird.core.errors import InputError
from tests.fuzz.coverage_guided import checked, dictionary, place_of
from tests.fuzz.guided_readers import READERS


@pytest.mark.parametrize("reader", READERS)
def test_the_corpus_is_read(reader, tmp_path):
    """Each form has at least one input that its reader accepts, and the words of all are a dictionary."""
    forms = READERS[reader](tmp_path)
    for form in forms:
        accepted = 0
        for seed in form.seeds:
            form.path.write_bytes(seed)
            try:
                form.read(form.path)
                accepted += 1
            except InputError:
                pass
        assert accepted, form.path.name
    lines = dictionary([seed for form in forms for seed in form.seeds]).splitlines()
    assert all(line.startswith('"\\x') and line.endswith('"') for line in lines)


def test_the_first_byte_chooses_the_form(tmp_path):
    give, seeds = checked("bed", tmp_path)
    forms = {seed[0] for seed in seeds}
    assert forms == {0, 1}
    for start in (b"", b"\x00", b"\x01", b"\xff"):
        give(start + b"no BED file")  # an InputError is an answer


def test_findings_of_one_place_are_one(tmp_path):
    places = set()
    for content in (b"x", b"yy"):
        with pytest.raises(InputError, match=r"a\.bed") as raised:
            READERS["bed"](tmp_path)[0].read(_written(tmp_path / "a.bed", content))
        places.add(place_of(raised.value))
    assert len(places) == 1
    assert places.pop().startswith("InputError ")


def _written(path, content):
    path.write_bytes(content)
    return path
