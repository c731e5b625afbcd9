"""The official files of GLUE: real rows, both layouts of MRPC, rows that are wrong."""

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.glue import BROKEN, FORMATS, read_glue

REAL_SIZES = {
    "cola": (3, 2, 1), "mnli": (3, 4, 2), "mrpc": (10, 8, 15), "qnli": (3, 2, 1),
    "qqp": (3, 2, 1), "rte": (3, 2, 1), "sst2": (3, 2, 1), "stsb": (3, 2, 1),
}  # fmt: skip
SPLITS = ("train", "validation", "test")


@pytest.fixture(scope="session")
def real(real_data):
    return real_data / "nlp/glue/glue_tiny.tar.gz"


@pytest.mark.parametrize("task", FORMATS)
def test_real_rows_of_every_task(real, task):
    for split, size in zip(SPLITS, REAL_SIZES[task], strict=True):
        examples, counts = read_glue(task, real, split, gold=split != "test")
        assert (len(examples), counts) == (size, {})
        for each in examples:
            assert (each.second is None) == (task in ("cola", "sst2"))
            if split != "test":
                assert each.label in FORMATS[task].labels or (
                    task == "stsb" and each.score is not None
                )
            elif task != "mrpc":  # Microsoft's test file has labels
                assert each.label is None
                assert each.score is None


def test_real_rows_word_for_word(real):
    cola = read_glue("cola", real, "train")[0]
    assert (
        cola[0].first == "Our friends won't buy this analysis, let alone the next one we propose."
    )
    assert (cola[0].label, cola[0].id) == ("1", "0")
    mnli = read_glue("mnli", real, "validation")[0]
    assert [each.part for each in mnli] == ["matched"] * 2 + ["mismatched"] * 2
    assert (mnli[0].first, mnli[0].label) == ("The new rights are nice enough", "neutral")
    qqp = read_glue("qqp", real, "train")[0]
    assert (qqp[1].id, qqp[1].label) == ("402555", "1")
    assert qqp[1].second == "How do you control your horniness?"
    stsb = read_glue("stsb", real, "train")[0]
    assert [each.score for each in stsb] == [5, 3.8, 3.8]
    quoted = read_glue("mrpc", real, "validation")[0][0]
    assert 'whom he called " the witness " ,' in quoted.first


def test_quotes_and_odd_line_ends_are_text(tmp_path):
    (tmp_path / "train.tsv").write_text(
        'sentence\tlabel\n"open quote\u2028here\x85\t1\nclosed"\t0\n'
    )
    first, second = read_glue("sst2", tmp_path, "train")[0]
    assert first.first == '"open quote\u2028here\x85'
    assert second.first == 'closed"'


HEADER = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
PAIRS = ["1\t10\t11\ta\tb", "0\t20\t21\tc\td", "1\t11\t10\te\tf"]


def test_mrpc_holds_out_the_pairs_that_are_named(tmp_path):
    """Both ids in their order: 11, 10 is another pair than 10, 11. The file has a byte order mark."""
    lines = "\n".join(PAIRS) + "\n"
    (tmp_path / "msr_paraphrase_train.txt").write_text("\ufeff" + HEADER + lines)
    (tmp_path / "mrpc_dev_ids.tsv").write_text("10\t11\n")
    assert [e.first for e in read_glue("mrpc", tmp_path, "validation")[0]] == ["a"]
    assert [e.first for e in read_glue("mrpc", tmp_path, "train")[0]] == ["c", "e"]


def test_mrpc_as_the_official_script_leaves_it(tmp_path):
    (tmp_path / "MRPC").mkdir()
    (tmp_path / "MRPC/dev.tsv").write_text("\ufeff" + HEADER + PAIRS[1] + "\n")
    test = HEADER.replace("Quality", "index") + "7\t30\t31\tg\th\n"
    (tmp_path / "MRPC/test.tsv").write_text(test)
    (only,) = read_glue("mrpc", tmp_path, "validation")[0]
    assert (only.first, only.label) == ("c", "0")
    (only,) = read_glue("mrpc", tmp_path, "test", gold=False)[0]
    assert (only.id, only.second, only.label) == ("7", "h", None)


def test_broken_rows_of_qqp_are_counted(tmp_path):
    header = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
    (tmp_path / "train.tsv").write_text(header + "1\t2\t3\twhat?\n4\t5\t6\twhy?\thow?\t0\n")
    examples, counts = read_glue("qqp", tmp_path, "train")
    assert ([each.id for each in examples], counts) == (["4"], {BROKEN: 1})


@pytest.mark.parametrize(
    ("task", "content", "message"),
    [
        ("rte", "index\tsentence1\tsentence2\tlabel\n0\ta\tb\n", r"train\.tsv:2: 3 columns, expected 4"),
        ("rte", "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tmaybe\n", r":2: the label is 'maybe'; expected entail"),
        ("cola", "gj04\t1\t\tA.\ngj04\t1\tB.\n", r"train\.tsv:2: 3 columns, expected 4"),
        ("stsb", "index\tsentence1\tsentence2\tscore\n0\ta\tb\t5.5\n", r":2: the score is '5\.5'; expected 0 to 5"),
        ("stsb", "index\tsentence1\tsentence2\tscore\n0\ta\tb\tx\n", r":2: the score is 'x'"),
        ("sst2", "sentence\tlabel\n \t1\n", r"train\.tsv:2: no text"),
        ("sst2", "label\tsentences\n", "no column 'sentence'; expected the official header of SST-2"),
        ("sst2", "sentence\tlabel\n", r"no example of SST-2 \(train\)"),
        ("sst2", "", "no column 'sentence'|no example of SST-2"),
    ],
)  # fmt: skip
def test_wrong_files_are_named(tmp_path, task, content, message):
    (tmp_path / "train.tsv").write_text(content)
    with pytest.raises(InputError, match=message):
        read_glue(task, tmp_path, "train")


def test_a_test_file_cannot_be_scored(real):
    with pytest.raises(
        InputError, match=r"test\.tsv:1: no column 'label'.*Score the validation split"
    ):
        read_glue("rte", real, "test")


def test_a_folder_of_something_else(tmp_path):
    with pytest.raises(InputError, match=r"no QNLI/train\.tsv in it; expected the official files"):
        read_glue("qnli", tmp_path, "train")
    (tmp_path / "train").write_text(HEADER)
    with pytest.raises(InputError, match=r"no MRPC/dev_ids or .* in it"):
        read_glue("mrpc", tmp_path, "train")
