"""Any YAML as `--config`, description of data or config of a run: an answer, or one line and status 2."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dna_bigbird.genome.sources.specs import OPTIONAL, REQUIRED, read_spec
from dna_bigbird.workflow.config.run_config import read_config
from tests.fuzz.harness import answer, bounded, many, run
from tests.fuzz.inputs import edited
from tests.test_yaml_files import WRONG, laughs

SCALARS = [
    "", "~", "yes", "1", "0", "-1", "1.5", "1e3", "1e999", "1_0", "010", "0x1F", "0x", "1:30", "\u0661", ".nan", "-.inf",
    "2001-01-01", "2001-99-99", "9" * 30, "9" * 5000, "A" * 100_000, "x.yaml", "chr1", "chr1:1-20", "'", "both", "=",
    "<<", "- a", "a: b", "\u00e9", "\u2028", "'a\\0'", '"\\ud83d"', '"\\0"', "..", "/", "https://example.org/a.gz",
    "0" * 64, "%", "@", "`", "#", "|", ">", "[]", "{}",
]  # fmt: skip
"""What people write, what YAML 1.1 reads as another type, what no type takes."""
TAGS = [
    "",
    "",
    "!!int ",
    "!!float ",
    "!!str ",
    "!!binary ",
    "!!timestamp ",
    "!!set ",
    "!!omap ",
    "!x ",
    "! ",
]
ANCHORS = ["", "", "&a ", "&b "]


def nested(parts):
    return st.one_of(
        st.lists(parts, max_size=4).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(st.tuples(parts, parts), max_size=3).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        ),
        st.tuples(st.sampled_from(TAGS), st.sampled_from(ANCHORS), parts).map("".join),
    )


VALUES = st.one_of(
    st.recursive(
        st.sampled_from([*SCALARS, *WRONG, "*a", "*b"])
        | st.integers().map(str)
        | st.text(max_size=5),
        nested,
        max_leaves=8,
    ),
    st.tuples(
        st.sampled_from(["[", "{a: ", "- ", "? "]), st.sampled_from([3, 90, 110, 100_000])
    ).map(lambda drawn: drawn[0] * drawn[1]),
)


@st.composite
def documents(draw, keys) -> bytes:
    """Sections with known and other keys, some with damaged bytes or behind aliases of aliases."""
    names = st.sampled_from([*keys, *keys, "x", "1", "~", "<<", "[a]"])
    lines = [f"{draw(names)}: {draw(VALUES)}" for _ in range(draw(st.integers(0, 4)))]
    if draw(st.integers(0, 20)) == 0:
        lines.append(laughs(draw(st.integers(2, 12))))
    content = st.just("\n".join(lines).encode("utf-8", "surrogatepass"))
    return draw(edited(content)) if draw(st.integers(0, 3)) == 0 else draw(content)


OPTIONS = (
    "window",
    "stride",
    "batch_size",
    "labels",
    "strand",
    "workers",
    "bed",
    "precision",
    "config",
    "help",
)
CONFIG = (
    "name",
    "seed",
    "assembly",
    "inputs",
    "splits",
    "model",
    "regions",
    "promoter",
    "tokenizer",
    "text",
    "experiments",
)
SPEC = (*REQUIRED, *OPTIONAL)
GOOD_SPEC = "title: t\nassembly: a\nformat: f\nlicence: l\ncitation: c\nverified: false\nname: c\n"
GOOD_CONFIG = "name: mine\nassembly: hg19\n"


@pytest.fixture(scope="module")
def check(folders):
    read, written = folders
    path = read / "c.yaml"

    def check_yaml(options: bytes, config: bytes, spec: bytes):
        path.write_bytes(options)
        assert run("predict", "--fasta", read / "missing.fa", "--config", path).status in (0, 2)
        for text in (config, GOOD_CONFIG.encode() + config):
            path.write_bytes(text)
            answer(lambda: read_config([path]))
        for text in (spec, GOOD_SPEC.encode() + spec):
            path.write_bytes(text)
            answer(lambda: read_spec(path))
        assert not list(written.iterdir())

    return check_yaml


DRAWN = (documents(OPTIONS), documents(CONFIG), documents(SPEC))


@bounded(60)
@given(options=DRAWN[0], config=DRAWN[1], spec=DRAWN[2])
def test_any_yaml(check, options, config, spec):
    check(options, config, spec)


@pytest.mark.slow
def test_thousands_of_documents(check, start):
    many(check, *DRAWN, examples=3000, start=start)


WORDS = (
    "--seed",
    "--workers",
    "--batch_size",
    "--labels",
    "--strand",
    "--resume",
    "--window",
    "--model",
    "--hidden_size",
)


@bounded(60)
@given(option=st.sampled_from(WORDS), value=VALUES)
def test_any_yaml_on_the_command_line(folders, option, value):
    read, _ = folders
    value = value.replace("\0", "")[:100_000]
    outcome = run("predict", "--fasta", read / "missing.fa", f"{option}={value}")
    assert len(outcome.error) < 4000
