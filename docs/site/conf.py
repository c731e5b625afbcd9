"""Settings of Sphinx; `make docs` runs it on the folder that `stage.py` writes."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from docutils import nodes  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402

from dna_bigbird import __version__  # noqa: E402

project = "dna-bigbird"
author = "The dna-bigbird developers"
project_copyright = ""
version = release = __version__

extensions = ["myst_nb", "sphinx_copybutton"]
copybutton_prompt_text = ">>> "
smartquotes = False  # quotes are those of a shell and of Python
highlight_language = "none"  # of a block that names no language
python_maximum_signature_line_length = 88
add_module_names = False

myst_heading_anchors = 4  # as a code host makes them: [text](page.md#a-heading)
myst_enable_extensions = ["fieldlist"]
# `make docs EXECUTE=1` runs the notebooks; else they are shown as they are stored.
nb_execution_mode = "force" if os.environ.get("EXECUTE") else "off"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
# Widgets would be loaded from another host; the notebooks have none.
nb_ipywidgets_js: dict = {}

html_theme = "furo"
html_title = f"dna-bigbird {__version__}"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False


def _dashes(app: Sphinx, tree: nodes.document, name: str) -> None:
    """Put a dash between a parameter and its text, where Sphinx leaves two hyphens to smartquotes."""
    for node in list(tree.findall(nodes.Text)):
        if node == " -- ":
            node.parent.replace(node, nodes.Text(" – "))


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", _dashes)
