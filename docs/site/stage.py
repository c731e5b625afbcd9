"""Write the source folder of the site: the pages of the repository, the API and every command's help.

    python docs/site/stage.py FOLDER

The pages keep their text; only links change. The navigation follows the table of docs/README.md.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from api_pages import api_pages  # noqa: E402
from command_pages import command_pages  # noqa: E402
from diagram import drawn_graphs  # noqa: E402
from links import LINK, relinked, repository_path  # noqa: E402

INDEX = "docs/README.md"
OTHERS = {
    "README.md": "overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security-policy.md",
    "config/README.md": "configs.md",
    "data_specs/README.md": "data-specs.md",
    "benchmarks/README.md": "benchmark-scripts.md",
    "experiments/README.md": "finished-studies.md",
    "dna_bigbird/bundles/data/tata/README.md": "promoter-model.md",
    "dna_bigbird/bundles/data/any_promoter/README.md": "any-promoter-model.md",
}
"""Pages outside docs/ and their paths in the site."""
PROJECT = ("changelog", "versions", "contributing", "package", "security-policy")
AFTER = {
    "running": ["data-specs"],
    "evidence": ["benchmark-scripts", "finished-studies"],
    "using a model": [
        "Card of bundled-tata <promoter-model>",
        "Card of bundled-any-promoter <any-promoter-model>",
    ],
}
"""Pages that the table does not name, by its rows."""


def site_paths() -> dict[str, str]:
    """Return path in the site by path in the repository; pictures and notebooks too."""
    docs = ROOT / "docs"
    files = [*docs.glob("*.md"), *docs.glob("images/*"), *docs.glob("notebooks/*.ipynb")]
    paths = {f"docs/{path.relative_to(docs)}": str(path.relative_to(docs)) for path in files}
    parts = re.findall(r"^##+ (.*)$", package_part((ROOT / INDEX).read_text()), flags=re.MULTILINE)
    anchors = {f"{INDEX}#{part.lower().replace(' ', '-')}": "package.md" for part in parts}
    return paths | OTHERS | {INDEX: "index.md"} | anchors


def package_part(text: str) -> str:
    """Return what docs/README.md says on the code."""
    return text[text.index("## The package") :]


def subjects(text: str) -> dict[str, list[str]]:
    """Return the pages (paths in the repository) by row of the table of docs/README.md."""
    rows = re.findall(r"^\| ([a-z ]+) \| (.*) \|$", text, flags=re.MULTILINE)
    return {
        subject: [
            repository_path(INDEX, link["target"].partition("#")[0]) for link in LINK.finditer(cell)
        ]
        for subject, cell in rows
        if "](" in cell
    }


def toctree(caption: str, pages: list[str]) -> str:
    lines = "\n".join(pages)
    return f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"


def navigation(paths: dict[str, str], generated: dict[str, str]) -> str:
    """Return the lists of pages; every page is in one of them."""
    trees = {"Start": ["install", "Overview and map <overview>"]}
    listed = {*trees["Start"], *PROJECT}
    for subject, sources in subjects((ROOT / INDEX).read_text()).items():
        pages = [paths[each].rpartition(".")[0] for each in sources if each in paths]
        new = [page for page in dict.fromkeys(pages) if page not in listed]
        trees[subject[0].upper() + subject[1:]] = new + AFTER.get(subject, [])
        listed.update(new)
        if subject == "tutorials":
            reference = (name for name in generated if name.count("/") == 0)
            trees["Reference"] = [name.removesuffix(".md") for name in reference]
    trees["Project"] = list(PROJECT)
    return "\n".join(toctree(caption, pages) for caption, pages in trees.items())


def landing(paths: dict[str, str], generated: dict[str, str]) -> str:
    """Return the first page: what the project is, the table of pages, the navigation."""
    readme, docs = (ROOT / "README.md").read_text(), (ROOT / INDEX).read_text()
    about = relinked(readme[: readme.index("## Install")], "README.md", "index.md", paths)
    table = docs[: docs.index("## The package")].partition("\n")[2]
    reference = "[Every command](commands.md), [functions in Python](api.md).\n\n"
    return (
        f"{about}## Documentation\n{relinked(table, INDEX, 'index.md', paths)}{reference}"
        + navigation(paths, generated)
    )


def stage(folder: Path) -> None:
    """Write all pages into a folder, which is replaced."""
    shutil.rmtree(folder, ignore_errors=True)
    paths = site_paths()
    for source, name in paths.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source == INDEX or "#" in source:
            continue
        if source.endswith(".md"):
            text = (ROOT / source).read_text()
            target.write_text(drawn_graphs(relinked(text, source, name, paths)))
        else:
            shutil.copy(ROOT / source, target)
    package = package_part((ROOT / INDEX).read_text())
    (folder / "package.md").write_text(
        "# The code\n\n" + relinked(package, INDEX, "package.md", paths)
    )
    generated = api_pages() | command_pages()
    for name, text in (generated | {"index.md": landing(paths, generated)}).items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


if __name__ == "__main__":
    stage(Path(sys.argv[1]))
