"""No call of the package can run code that stands in a file, or unpack one wherever it likes."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "dna_bigbird"
FORBIDDEN = {
    "pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads", "shelve.open",
    "joblib.load", "dill.load", "torch.jit.load", "torch.package.PackageImporter", "eval", "exec",
    "runpy.run_path", "yaml.load", "yaml.full_load", "yaml.unsafe_load", "os.system", "pd.read_pickle",
    "tarfile.open", "shutil.unpack_archive",
}  # fmt: skip
"""Nothing here unpacks an archive; the first one to do so takes `filter="data"` and says so here."""
READ_IN_MEMORY = {
    "core/parts.py": {"zipfile.ZipFile for reading"},
    "text/data/reading.py": {"zipfile.ZipFile for reading"},
    "bundles/huggingface/weight_files.py": {"zipfile.ZipFile for reading"},
    "training/checkpoint_files.py": {"zipfile.ZipFile for reading"},
}
"""The files that open archives: they read members and write none of them anywhere."""
NEEDED = {
    "torch.load": ("weights_only", True),
    "np.load": ("allow_pickle", False),
    "numpy.load": ("allow_pickle", False),
}


def calls_of(source: str) -> list[tuple[int, str, dict[str, object]]]:
    """Every call with its line, its dotted name and its constant arguments."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            keywords = {
                k.arg: k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)
            }
            keywords["positional"] = [x.value for x in node.args if isinstance(x, ast.Constant)]
            found.append((node.lineno, ast.unparse(node.func), keywords))
    return found


def offences(source: str) -> list[str]:
    wrong = []
    for line, name, keywords in calls_of(source):
        is_unpacking = name.endswith((".extractall", ".extract"))
        if name in FORBIDDEN or is_unpacking or keywords.get("shell") is True:
            wrong.append(f"{line}: {name}")
        elif name == "zipfile.ZipFile" and "w" not in keywords["positional"]:
            wrong.append(f"{line}: {name} for reading")
        elif name in NEEDED:
            keyword, value = NEEDED[name]
            if keywords.get(keyword) is not value:
                wrong.append(f"{line}: {name} without {keyword}={value}")
    return wrong


def test_the_walk_sees_them():
    assert offences("import torch\ntorch.load(path)") == ["2: torch.load without weights_only=True"]
    assert offences("torch.load(path, weights_only=False)")
    assert not offences("torch.load(path, weights_only=True)")
    assert offences("with open(x, 'rb') as f:\n    y = [pickle.load(f)]") == ["2: pickle.load"]
    assert offences("subprocess.run(x, shell=True)")
    assert offences("zipfile.ZipFile(path)") == ["1: zipfile.ZipFile for reading"]
    assert not offences("zipfile.ZipFile(path, 'w')")
    assert offences("archive.extractall(folder)")


def test_no_file_is_run():
    sources = sorted(PACKAGE.rglob("*.py"))
    assert len(sources) > 100
    wrong = [
        f"{path}:{text}"
        for path in sources
        for text in offences(path.read_text())
        if text.partition(": ")[2] not in READ_IN_MEMORY.get(str(path.relative_to(PACKAGE)), ())
    ]
    assert not wrong, "\n".join(wrong)
