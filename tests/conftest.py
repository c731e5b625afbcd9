"""Fixtures for all tests."""

import ctypes
import json
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

# oneDNN (in torch 2.13) keeps 1,024 compiled products, one per shape, some of megabytes: tests have thousands of shapes.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")

HANDLERS = {x: signal.getsignal(x) for x in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)}
REAL_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def temporary_files(tmp_path_factory):
    """Temporary files of tests and of the libraries they use, such as pybedtools, go below pytest's folder."""
    compiled = str(Path(__file__).parents[1] / ".cache" / "torchinductor")
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", compiled)  # kept: compiling takes minutes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
        # Not the models of who runs the tests: a name that is no path would be one of theirs.
        patch.setenv("DNA_BIGBIRD_MODELS", str(tmp_path_factory.mktemp("models")))
        yield


@pytest.fixture(scope="module", autouse=True)
def freed_memory():
    """What a file of tests has freed goes back to the system: glibc kept a gigabyte of attention's problems."""
    yield
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


@pytest.fixture(autouse=True)
def signals_as_before():
    """A command keeps its handlers as it is about to end; processes of later tests would inherit them.

    Fixtures of a module run commands before this one, so the handlers are those of the start.
    """
    _set_handlers()
    yield
    _set_handlers()


def _set_handlers() -> None:
    for number, handler in HANDLERS.items():
        if handler is not None:  # not set from Python
            signal.signal(number, handler)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder with small pieces of real data; tests that use it are skipped where it is absent."""
    folder = Path(os.environ.get("DNA_BIGBIRD_REAL_DATA", REAL_DATA))
    if not (folder / "README.md").is_file():
        pytest.skip("the folder with real sample data is not here (set DNA_BIGBIRD_REAL_DATA)")
    return folder


@pytest.fixture(scope="session")
def random_dna():
    """Function (length, seed) -> sequence."""
    from tests.tiny_bundle import draw_dna

    return draw_dna


@pytest.fixture(scope="session")
def bundle_folder(tmp_path_factory):
    """A small untrained bundle with two labels: its scores mean nothing, but must be consistent."""
    from tests.tiny_bundle import write_tiny_bundle

    encoder = {
        "hidden_size": 32, "num_layers": 2, "num_heads": 2, "ffn_size": 64,
        "max_tokens": 128, "block_size": 8, "num_random": 1, "dropout": 0.1,
    }  # fmt: skip
    return write_tiny_bundle(
        tmp_path_factory.mktemp("bundles") / "tiny",
        vocab_size=64,
        encoder=encoder,
        window_bp=200,
        pooling="cls",
        head_dropout=0.1,
    )


@pytest.fixture
def without_anchor(tmp_path) -> Path:
    """`bundled-any-promoter` without the record of where its training windows have the start site."""
    from dna_bigbird.bundles.bundled import bundled_any_promoter

    folder = shutil.copytree(bundled_any_promoter(), tmp_path / "without_anchor")
    config = json.loads((folder / "config.json").read_text())
    assert config.pop("anchor_bp") == 249
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="session")
def toy_project(tmp_path_factory) -> Path:
    """A folder in which every DNA training command was run once."""
    from tests.toy_project import make_project

    return make_project(tmp_path_factory.mktemp("project"))
