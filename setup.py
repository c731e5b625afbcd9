"""What pyproject.toml cannot express: folders that become part of the package, and its readme."""

import re
import shutil
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FOLDERS = ("workflow", "config", "data_specs")
"""dna_bigbird/core/resources.py finds them, in a checkout and in an installed package."""
FILES = ("environment.yml",)
"""What the rules of the workflow read above their folder."""
PICTURE = re.compile(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n+\*[^*]*\*\n+")
"""A picture of the repository with its caption."""
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<path>[^)#]*)[^)]*\)")


def readme(text: str, repository: str = "") -> str:
    """Return README.md for the page of the package, where its relative links lead nowhere.

    Args:
        repository: Address of the repository, if pyproject.toml has one: links become absolute.
            Without it they become paths in the source distribution, and pictures are left out.
    """
    if repository:
        root = f"{repository.rstrip('/')}/blob/main"
        text = PICTURE.sub(lambda picture: picture[0].replace("](", f"]({root}/", 1), text)
        text = text.replace(".png)", ".png?raw=true)")
        return LINK.sub(lambda link: f"[{link['text']}]({root}/{link['path']})", text)

    def named(link: re.Match) -> str:
        is_path = link["text"].strip("`") == link["path"]
        return f"`{link['path']}`" if is_path else f"{link['text']} [`{link['path']}`]"

    text = LINK.sub(named, PICTURE.sub("", text))
    return (
        f"{text.rstrip()}\n\nThe source distribution has the pages and files that are named here.\n"
    )


class BuildWithFiles(build_py):
    """Copy the folders into dna_bigbird/_files of a wheel; an editable installation needs no copy."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        copies = Path(self.build_lib, "dna_bigbird", "_files")
        shutil.rmtree(copies, ignore_errors=True)
        for name in FOLDERS:
            shutil.copytree(name, copies / name)
        for name in FILES:
            shutil.copy(name, copies)


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    setup(
        cmdclass={"build_py": BuildWithFiles},
        long_description=readme(
            Path("README.md").read_text(encoding="utf-8"),
            project.get("urls", {}).get("Repository", ""),
        ),
        long_description_content_type="text/markdown",
    )
