"""`snakemake --report`: the pages of a run and their captions in one archive, without a network."""

import re
import zipfile

from tests.workflow.conftest import ROOT

PAGE = "<html><body>a page of the run</body></html>"


def write_outputs(workflow, target: str, config: str) -> None:
    """Write a small file or folder for every output, and mark them as up to date."""
    planned = workflow.snakemake("-n", target, f"--configfile={config}")
    for line in re.findall(r"^    output: (.*)$", planned, flags=re.MULTILINE):
        for name in line.split(", "):
            path = workflow.folder / name
            if path.suffix:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(PAGE)
            else:
                path.mkdir(parents=True, exist_ok=True)
    workflow.snakemake("--touch", "--cores", "1", target, f"--configfile={config}")


def report(workflow, target: str, config: str) -> dict[str, str]:
    """Text of each file in the archive by name."""
    write_outputs(workflow, target, config)
    words = ("--report", "out.zip", f"--configfile={config}")
    workflow.snakemake(target, *words)
    with zipfile.ZipFile(workflow.folder / "out.zip") as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_the_page_of_the_run_is_in_the_report(workflow):
    files = report(workflow, "all", "config/config.yaml")
    pages = {name.split("/")[-1]: text for name, text in files.items() if "/data/raw/" in name}
    assert pages == {"report.html": PAGE, "browser.html": PAGE}
    index = files["out/report.html"]
    assert "Regions in a genome browser" in index
    assert "held-out scores with 95 % intervals" in index  # the caption
    assert "pages and pictures of the run" in index  # the text on top
    assert '<tt class=\\"docutils literal\\">demo</tt>, and how long' in index  # the config's name


def test_every_caption_is_used():
    """A caption that no rule names is text that nobody sees."""
    rules = "".join(path.read_text() for path in (ROOT / "workflow").rglob("*") if path.is_file())
    captions = [path.name for path in (ROOT / "workflow/report").iterdir()]
    assert len(captions) > 1
    assert [name for name in captions if f'report/{name}"' not in rules] == []
