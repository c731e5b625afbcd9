"""The page of `view` in a real browser without a network: what igv.js reads is what the files have."""

import contextlib
import json

import pytest

from dna_bigbird.report.view import view
from tests.report import chromium
from tests.report.browser_files import BREAKOUT, RUNS, write_files, write_overlapping

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
    tracks = [files.runs, files.bases, files.bed, files.vcf, files.gtf]
    names = ["runs", "bases", BREAKOUT, "variants", "genes"]
    output = files.fasta.parent / "page.html"
    view(files.fasta, ["chr1:1,001-1,250", "chr2:1-100"], tracks, output, names=names, margin_bp=50)
    return output


@contextlib.contextmanager
def opened(page, profile, width=1200):
    """A tab that shows the page."""
    with chromium.Tab(profile, width) as tab:
        tab.open(page.as_uri())
        assert tab.value(READY) == "ready"
        yield tab


@pytest.fixture(scope="module")
def tab(page, tmp_path_factory):
    with opened(page, tmp_path_factory.mktemp("profile")) as tab:
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
    exons = "feature.exons.map((exon) => [exon.start, exon.end])"
    genes = features(tab, "genes", f"[feature.start, feature.end, feature.strand, {exons}]")
    assert genes == [[900, 1400, "-", [[1000, 1100], [1299, 1400]]]]


def test_nothing_is_asked_for_and_no_error_is_shown(page, tmp_path):
    with opened(page, tmp_path) as tab:
        tab.value('genomeBrowser.search("chr2:1-100")')
        tab.value('genomeBrowser.search("TP53").catch(() => null)')
        labels = (
            'document.getElementById("browser").shadowRoot.querySelectorAll(".igv-track-label")'
        )
        tab.value(f"{labels}.forEach((label) => label.click())")
        assert tab.requests() == [page.as_uri()]
        assert tab.errors() == []
        refused = tab.value('fetch("https://example.org/").then(() => "loaded", () => "refused")')
        assert refused == "refused"
        assert tab.errors()  # the policy of the page, which `errors` would have shown above


def test_no_text_of_a_file_can_run(tab):
    """igv.js writes fields of VCF files as HTML; the policy has to stop what is in them."""
    ran = tab.value("""new Promise((resolve) => {
      const field = document.createElement("div");
      field.innerHTML = '<img src="https://example.org/a.png" onerror="window.ran = true">';
      field.firstChild.addEventListener("error", () => resolve(window.ran === true));
      genomeBrowser.root.append(field);
    })""")
    assert ran is False


def test_a_name_on_the_page_can_be_searched(tab):
    assert tab.value('genomeBrowser.search("edge")')
    start, end = tab.value("String(genomeBrowser.currentLoci())").split(":")[1].split("-")
    assert int(start) <= 941
    assert float(end) >= 951


def test_the_list_of_regions(tab):
    locus = "String(genomeBrowser.currentLoci()).split('-')[0]"
    tab.value('genomeBrowser.search("chr1:500-600")')
    assert tab.value(locus) == "chr1:500"
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


def test_a_narrow_screen_needs_no_scrolling_sideways(page, tmp_path):
    with opened(page, tmp_path, width=400) as tab:
        assert tab.value("document.documentElement.scrollWidth") <= 400
        bar = 'document.getElementById("browser").shadowRoot.querySelector(".igv-navbar")'
        assert tab.value(f"{bar}.scrollWidth - {bar}.clientWidth") <= 0


def test_overlapping_peaks_leave_room_for_other_tracks(files, tmp_path):
    page = tmp_path / "page.html"
    view(files.fasta, ["chr1:1,001-1,250"], [write_overlapping(tmp_path / "peaks.bed", 60)], page)
    with opened(page, tmp_path / "profile") as tab:
        assert tab.value("genomeBrowser.trackViews.at(-1).track.height") <= 150
