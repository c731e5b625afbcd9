"""Write the source folder of the site: the pages of the repository, the API, every command, config key and file of a run.

    python docs/site/stage.py FOLDER

The pages keep their text; only links change. The navigation has the links of docs/README.md below each heading.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from api_pages import api_pages  # noqa: E402
from command_pages import command_pages  # noqa: E402
from config_pages import config_pages  # noqa: E402
from diagram import drawn_graphs  # noqa: E402
from links import LINK, relinked, repository_path  # noqa: E402
from run_pages import run_pages  # noqa: E402

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
GENERATED = ["reference/commands", "reference/api", "reference/config-keys", "reference/run-files"]


def site_paths() -> dict[str, str]:
    """Return path in the site by path in the repository; pictures and notebooks too."""
    docs = ROOT / "docs"
    files = [each for kind in ("md", "ipynb", "png") for each in docs.rglob(f"*.{kind}")]
    names = [str(path.relative_to(docs)) for path in files]
    return OTHERS | {f"docs/{name}": name.replace("README.md", "index.md") for name in names}


def linked(page: str, text: str) -> list[str]:
    """Return what a page links to, as paths in the repository; after the index of a room, what that links to."""
    found = []
    for link in LINK.finditer(text):
        target = repository_path(page, link["target"].partition("#")[0])
        found.append(target)
        if re.fullmatch(r"docs/[\w-]+/README\.md", target) and target != page:
            found += linked(target, (ROOT / target).read_text())
    return found


def navigation(paths: dict[str, str]) -> str:
    """Return the lists of pages, each page once: a list per heading of docs/README.md."""
    trees = {"Start": ["install", "Overview and map <overview>"]}
    listed = {INDEX, "docs/install.md", "README.md"}
    pages_of = {
        page: name.rpartition(".")[0]
        for page, name in paths.items()
        if page.endswith((".md", ".ipynb"))
    }
    for part in (ROOT / INDEX).read_text().split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        pages = [page for page in dict.fromkeys(linked(INDEX, body)) if page not in listed]
        trees[heading] = [pages_of[page] for page in pages if page in pages_of]
        listed.update(pages)
    trees["Reference"] += GENERATED
    return "\n".join(
        f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"
        for caption, pages in trees.items()
        if pages
    )


def stage(folder: Path) -> None:
    """Write all pages into a folder, which is replaced."""
    shutil.rmtree(folder, ignore_errors=True)
    paths = site_paths()
    texts = {
        f"reference/{name}": text
        for name, text in (api_pages() | command_pages() | config_pages() | run_pages()).items()
    }
    for source, name in paths.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".md"):
            text = (ROOT / source).read_text()
            texts[name] = drawn_graphs(relinked(text, source, name, paths))
        else:
            shutil.copy(ROOT / source, folder / name)
    texts["index.md"] += (
        "\n[Every command](reference/commands.md), [functions in Python](reference/api.md), "
        "[keys of a config](reference/config-keys.md), [files of a run](reference/run-files.md).\n\n"
        + navigation(paths)
    )
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


if __name__ == "__main__":
    stage(Path(sys.argv[1]))
