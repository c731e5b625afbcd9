"""The page of `view` in a real browser without a network: what igv.js reads is what the files have."""

import json

import pytest

from dna_bigbird.pipeline.view import view
from tests.report import chromium
from tests.report.browser_files import BREAKOUT, RUNS, write_files

pytestmark = pytest.mark.skipif(
    chromium.PROGRAM is None, reason="there is no Chromium (apt-get install chromium)"
)
READY = """new Promise((resolve) => {
  const check = () => { const state = document.documentElement.dataset.state; state ? resolve(state) : setTimeout(check, 20); };
  check();
})"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("view"))


@pytest.fixture(scope="module")
def page(files):
    tracks = [files.runs, files.bases, files.bed, files.vcf]
    names = ["runs", "bases", BREAKOUT, "variants"]
    output = files.fasta.parent / "page.html"
    view(files.fasta, ["chr1:1,001-1,250", "chr2:1-100"], tracks, output, names=names, margin_bp=50)
    return output


@pytest.fixture
def tab(page, tmp_path, request):
    with chromium.Tab(tmp_path / "profile", getattr(request, "param", 1200)) as tab:
        tab.open(page.as_uri())
        assert tab.value(READY) == "ready"
        yield tab


def features(tab, track: str, fields: str) -> list:
    """Fields of the features that a track of igv.js has in the first region."""
    return tab.value(f"""(async () => {{
      const views = genomeBrowser.trackViews.map((view) => view.track);
      const track = views.find((track) => track.name === {json.dumps(track)});
      const list = await track.getFeatures("chr1", 950, 1300, 0.1);
      return list.map((feature) => {fields});
    }})()""")


def test_igv_reads_what_the_files_have(tab, files):
    read = tab.value('genomeBrowser.genome.getSequence("chr1", 960, 1290)')
    assert read == files.sequences["chr1"][960:1290]
    runs = features(tab, "runs", "[feature.start, feature.end, feature.value]")
    assert runs == [[max(a, 950), min(b, 1300), x] for a, b, x in RUNS[1:3]]
    bases = features(tab, "bases", "[feature.start, feature.value, feature.sequence]")
    expected = enumerate(files.base_values)
    assert bases == [[1000 + i, x, files.sequences["chr1"][1000 + i]] for i, x in expected]
    escaped = BREAKOUT.replace("<", "&lt;").replace(">", "&gt;")
    rows = features(tab, escaped, "[feature.start, feature.end, feature.name]")
    assert rows == [[940, 951, "edge"], [1010, 1020, "é & <i>"]]
    variants = features(tab, "variants", "[feature.pos, feature.names]")
    assert variants == [[951, "A"], [1100, "C"]]


def test_nothing_is_asked_for_and_no_error_is_shown(tab, page):
    tab.value('genomeBrowser.search("chr2:1-100")')
    tab.value('genomeBrowser.search("TP53").catch(() => null)')
    labels = 'document.getElementById("browser").shadowRoot.querySelectorAll(".igv-track-label")'
    tab.value(f"{labels}.forEach((label) => label.click())")
    assert tab.requests() == [page.as_uri()]
    assert tab.errors() == []
    refused = tab.value('fetch("https://example.org/").then(() => "loaded", () => "refused")')
    assert refused == "refused"
    assert tab.errors()  # the policy of the page, which `errors` would have shown above


def test_the_list_of_regions(tab):
    locus = "String(genomeBrowser.currentLoci()).split('-')[0]"
    assert tab.value(locus) == "chr1:1001"
    moved = tab.value(f"""new Promise((resolve) => {{
      genomeBrowser.on("locuschange", () => resolve({locus}));
      document.querySelectorAll("button.region")[1].click();
    }})""")
    assert moved == "chr2:1"
    buttons = 'document.querySelectorAll("button.region")'
    assert tab.value(f"Array.from({buttons}, (x) => x.ariaPressed)") == ["false", "true"]


def test_names_are_text(tab):
    root = 'document.getElementById("browser").shadowRoot'
    labels = f'{root}.querySelectorAll(".igv-track-label")'
    assert BREAKOUT in tab.value(f"Array.from({labels}, (label) => label.textContent)")
    assert tab.value(f'{root}.querySelector(".igv-track-label b")') is None


@pytest.mark.parametrize("tab", [400], indirect=True)
def test_a_narrow_screen_needs_no_scrolling_sideways(tab):
    assert tab.value("document.documentElement.scrollWidth") <= 400
    bar = 'document.getElementById("browser").shadowRoot.querySelector(".igv-navbar")'
    assert tab.value(f"{bar}.scrollWidth - {bar}.clientWidth") <= 0
