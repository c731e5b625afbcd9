"""What pyproject.toml cannot express: folders next to the package become part of it."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FOLDERS = ("workflow", "config", "data_specs")
"""dna_bigbird/resources.py finds them, in a checkout and here."""
FILES = ("environment.yml",)
"""What the rules of the workflow read above their folder."""


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


setup(cmdclass={"build_py": BuildWithFiles})
