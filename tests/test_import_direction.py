"""A folder of the package imports only folders above it on the README's map."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "dna_bigbird"
README = PACKAGE.parent / "README.md"
_ROW = re.compile(r"^\| `(?P<folder>[a-z]+)/` \|", flags=re.MULTILINE)
SUBJECTS = {"text", "bench", "theory"}
"""They do not import each other, and only workflow and cli import them."""


def read_map(text: str) -> dict[str, set[str]]:
    """Return which folders each folder may import: those above it on the map of the README."""
    folders = _ROW.findall(text)
    allowed = {name: set(folders[:i]) for i, name in enumerate(folders)}
    return {
        name: above - SUBJECTS if name in SUBJECTS else above for name, above in allowed.items()
    }


ALLOWED = read_map(README.read_text())
LIBRARIES = {
    "pytorch_lightning": {"training", "text", "evaluation"},
    "transformers": {"bundles"},
    "pybedtools": {"genome"},
    "pyfaidx": {"labelled"},
    "pysam": {"genome", "prediction"},
    "tokenizers": {"corpus", "bundles"},
    "h5py": {"core", "labelled", "corpus", "prediction", "bundles", "text", "bench"},
    "shtab": {"cli"},
    "jinja2": {"evaluation"},
    "triton": {"attention"},
}


def imports_of(path: Path) -> list[tuple[int, str]]:
    """Every imported module of a file, with its line, wherever in the file it stands."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write imports in full"
            base = node.module or ""
            full = [f"{base}.{alias.name}" for alias in node.names]
            found += [(node.lineno, name) for name in full]
    return found


def violations(path: Path, folder: str) -> list[str]:
    wrong = []
    for line, module in imports_of(path):
        parts = module.split(".")
        if parts[0] == "dna_bigbird" and len(parts) > 1:
            target = parts[1]
            if target not in ALLOWED[folder] | {"__version__", folder}:
                wrong.append(f"{path.name}:{line}: {folder}/ may not import {target}/")
        homes = LIBRARIES.get(parts[0])
        if homes is not None and folder not in homes:
            wrong.append(f"{path.name}:{line}: {parts[0]} belongs in {sorted(homes)}")
    return wrong


def folders() -> list[str]:
    return sorted(p.name for p in PACKAGE.iterdir() if p.is_dir() and (p / "__init__.py").exists())


@pytest.mark.parametrize("folder", folders())
def test_a_folder_imports_folders_above_it(folder):
    assert folder in ALLOWED, f"{folder}/ has no row on the map"
    wrong = [
        v for path in sorted((PACKAGE / folder).rglob("*.py")) for v in violations(path, folder)
    ]
    assert wrong == []


def test_the_map_names_only_folders():
    assert sorted(ALLOWED) == folders()
    loose = {path.stem for path in PACKAGE.glob("*.py")}
    assert loose == {"__init__", "__main__"}


def test_the_map_is_read():
    text = "| `a/` | x, y | |\n| `text/` | z | text ... |\n| `bench/` | | |\n| `d/` | | |\n"
    assert read_map(text) == {
        "a": set(), "text": {"a"}, "bench": {"a"}, "d": {"a", "text", "bench"}
    }  # fmt: skip


def test_a_wrong_import_would_be_seen(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("def f():\n    from dna_bigbird.cli import main\n    import pysam\n")
    assert len(violations(bad, "attention")) == 2


def test_config_modules_load_without_torch():
    """Help texts and the workflow read settings; they must not wait for torch."""
    for path in PACKAGE.rglob("config.py"):
        assert not any(m.split(".")[0] == "torch" for _, m in imports_of(path)), path
