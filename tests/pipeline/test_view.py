"""`view`: the page has what the files have in the regions, and loads nothing."""

import base64
import hashlib
import re
from pathlib import Path

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.report.browser import tracks
from dna_bigbird.report.browser.page import LIBRARY, VERSION
from dna_bigbird.report.view import view
from tests.report.browser_files import (
    BED_ROWS,
    BREAKOUT,
    GENES,
    RUNS,
    VCF_ROWS,
    Page,
    write_bigwig,
    write_files,
    write_overlapping,
)

REGION, START, END = "chr1:1,001-1,250", 950, 1300
"""A region, and what the page shows of it with 50 bases on either side."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("view"))


@pytest.fixture(scope="module")
def result(files):
    tracks = [files.runs, files.bases, files.bed, files.vcf]
    return view(
        files.fasta, [REGION, "chr2:1-100", "chr1:1,040-1,060"], tracks, files.fasta.parent / "page.html",
        names=["runs", "bases", BREAKOUT, "A & B"], title=f"Title {BREAKOUT}", margin_bp=50,
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(result):
    return Page(result.output.read_text(encoding="utf-8"))


def test_the_sequence_is_that_of_the_fasta(page, files):
    lines = page.data["fasta"].split()
    assert lines == [
        f">chr1:{START + 1}-{END}", "@len=3000", files.sequences["chr1"][START:END],
        ">chr2:1-150", "@len=3000", files.sequences["chr2"][:150],
    ]  # fmt: skip


def test_values_are_those_of_the_bigwig_files(page, files):
    runs, bases = (track["values"] for track in page.data["tracks"][:2])
    expected = [
        ["chr1", max(start, START), min(end, END), value]
        for start, end, value in RUNS
        if start < END and end > START
    ]
    assert runs == expected
    assert bases == [
        ["chr1", 1000 + i, 1001 + i, value] for i, value in enumerate(files.base_values)
    ]


def test_values_of_a_bedgraph_are_those_of_the_same_bigwig(files, tmp_path, page):
    path = tmp_path / "runs.bedGraph"
    path.write_text("".join(f"1\t{start}\t{end}\t{value}\n" for start, end, value in sorted(RUNS)))
    regions = [REGION, "chr2:1-100", "chr1:1,040-1,060"]
    result = view(files.fasta, regions, [path], tmp_path / "page.html", margin_bp=50)
    (track,) = Page(result.output.read_text(encoding="utf-8")).data["tracks"]
    assert track["values"] == page.data["tracks"][0]["values"]


def test_rows_are_those_that_share_a_base_with_what_is_shown(page):
    bed, vcf = (track["text"].splitlines() for track in page.data["tracks"][2:])
    assert [line.split("\t")[3] for line in bed] == ["edge", "é & <i>", "other style"]
    assert bed[0].split("\t") == [str(x) for x in BED_ROWS[1]]
    assert bed[2].split("\t")[:3] == ["chr2", "30", "90"]  # named as the genome names it
    rows = [line.split("\t") for line in vcf if not line.startswith("#")]
    assert [row[2] for row in rows] == ["A", "C", "E"]
    assert rows[0][:2] == [str(x) for x in VCF_ROWS[0][:2]]
    assert {len(row) for row in rows} == {8}  # without samples
    assert vcf[0] == "##fileformat=VCFv4.2"


def test_rows_of_genes_that_are_shown(files, tmp_path):
    result = view(files.fasta, [REGION], [files.gtf], tmp_path / "page.html", margin_bp=50)
    (track,) = Page(result.output.read_text(encoding="utf-8")).data["tracks"]
    rows = [line.split("\t") for line in track["text"].splitlines()]
    expected = [x for x in GENES if x[1] - 1 < END and x[2] > START]
    assert [(row[2], int(row[3]), int(row[4])) for row in rows] == expected
    assert {(row[0], row[6], len(row)) for row in rows} == {("chr1", "-", 9)}
    assert track["options"]["format"] == "gtf"


def test_a_relative_name_is_read_from_where_the_call_is_made(files, tmp_path, monkeypatch):
    """The process that reads bigWig files has begun elsewhere."""
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        write_bigwig(folder / f"{name}.bw", RUNS)
        monkeypatch.chdir(folder)
        view(files.fasta, [REGION], [Path(f"{name}.bw")], tmp_path / f"{name}.html")
    assert (tmp_path / "second.html").is_file()


def test_a_folder_has_a_track_per_label(files, tmp_path):
    """As `predict --format bigwig` writes it: labels.tsv gives label and file."""
    folder = tmp_path / "predicted"
    folder.mkdir()
    for name in ("z.bw", "a.bw"):
        write_bigwig(folder / name, RUNS)
    (folder / "labels.tsv").write_text('label\tfile\nK562|"CTCF"\tz.bw\nB\ta.bw\n')
    output = tmp_path / "page.html"
    result = view(files.fasta, [REGION], [folder, files.bed], output, names=["predicted", "peaks"])
    expected = [
        ('K562|"CTCF" predicted', "z.bw"),
        ("B predicted", "a.bw"),
        ("peaks", files.bed.name),
    ]
    assert [(row["track"], row["file"]) for row in result.rows] == expected
    (folder / "labels.tsv").unlink()
    with pytest.raises(InputError, match=r"predicted: a folder without labels\.tsv; expected one"):
        view(files.fasta, [REGION], [folder], output)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"labels\.tsv:1: expected the columns label and file"),
        (b"name\tpath\nA\ta.bw\n", r"labels\.tsv:1: expected the columns label and file"),
        (
            b"label\tfile\nA a.bw\n",
            r"labels\.tsv:2: 'A a\.bw'; expected a label, a tab and the name",
        ),
        (b"label\tfile\nA\t../out.bw\n", r"labels\.tsv:2: .*the name of a file in this folder"),
        (b"label\tfile\nA\t/etc/passwd\n", r"labels\.tsv:2: .*the name of a file in this folder"),
        (b"label\tfile\nA\tin/a.bw\n", r"labels\.tsv:2: .*the name of a file in this folder"),
        (b"label\tfile\nA\t..\n", r"tracks/\.\.: no suffix is not the suffix"),
        (b"label\tfile\nA\t\n", r"tracks/?: no suffix is not the suffix"),
        (b"label\tfile\n\xff\ta.bw\n", r"labels\.tsv: this is not text in UTF-8"),
        (b"label\tfile\nA\tabsent.bw\n", r"absent\.bw: no such file"),
    ],
)
def test_a_damaged_list_of_labels(files, tmp_path, content, message):
    folder = tmp_path / "tracks"
    (folder / "in").mkdir(parents=True)
    for path in (tmp_path / "out.bw", folder / "a.bw", folder / "in" / "a.bw"):
        write_bigwig(path, RUNS)
    (folder / "labels.tsv").write_bytes(content)
    output = tmp_path / "page.html"
    with pytest.raises(InputError, match=message):
        view(files.fasta, [REGION], [folder], output)
    assert not output.exists()


@pytest.mark.parametrize(("byte", "bit"), [(7, 0), (352, 1), (384, 3), (396, 2)])
def test_a_bigwig_file_of_which_the_library_dies(files, tmp_path, byte, bit):
    """SIGSEGV in libBigWig 0.4.8; after it the next file is read as ever."""
    content = bytearray(files.runs.read_bytes())
    content[byte] ^= 1 << bit
    (tmp_path / "flipped.bw").write_bytes(content)
    output = tmp_path / "out" / "page.html"
    with pytest.raises(InputError, match=r"flipped\.bw"):
        view(files.fasta, [REGION], [files.bases, tmp_path / "flipped.bw"], output)
    assert not output.parent.exists()
    assert view(files.fasta, [REGION], [files.runs], output).rows[0]["rows"] > 0


def endless(number: int):
    """Make the process of the reader that never ends, with one second of processor time."""
    import pyBigWig

    read = IN_PROCESS(number)
    tracks.MOST_CPU_S = 1
    pyBigWig.open = lambda path: [None for _ in iter(int, 1)]
    return read


IN_PROCESS = tracks._in_process


def test_a_library_that_never_returns_is_ended(files, tmp_path, monkeypatch):
    monkeypatch.setattr(tracks, "_in_process", endless)
    tracks._reader.cache_clear()
    with pytest.raises(InputError, match=r"runs\.bw: cannot read its values"):
        view(files.fasta, [REGION], [files.runs], tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_how_tracks_are_drawn(page):
    runs, bases, bed, vcf = (track["options"] for track in page.data["tracks"])
    assert (runs["type"], runs["min"], runs["max"], "graphType" in runs) == ("wig", 0, 1, False)
    assert bases["graphType"] == "dynseq"
    largest = max(row[-1] for row in page.data["tracks"][1]["values"])
    assert bases["min"] <= 0 < largest < 0.8 * bases["max"], (
        "the name of the track covers no letter"
    )
    assert (bed["type"], bed["format"]) == ("annotation", "bed")
    assert (vcf["type"], vcf["format"]) == ("variant", "vcf")


@pytest.mark.parametrize(("overlapping", "hidden"), [(1, 0), (3, 0), (40, 0), (60, 13)])
def test_peaks_that_overlap_fit_their_track_or_are_counted(files, tmp_path, overlapping, hidden):
    peaks = write_overlapping(tmp_path / "peaks.bed", overlapping)
    result = view(files.fasta, [REGION], [peaks], tmp_path / "page.html", names=["peaks"])
    (track,) = Page(result.output.read_text(encoding="utf-8")).data["tracks"]
    options = track["options"]
    height = {"EXPANDED": 30, "SQUISHED": options.get("squishedRowHeight")}[options["displayMode"]]
    assert options["maxHeight"] <= 150
    drawn = (options["maxHeight"] - options["margin"]) // height
    assert max(0, overlapping - drawn) == hidden
    counted = [str(hidden), str(overlapping)] if hidden else []
    assert re.findall(r"\d+", options["name"]) == counted
    assert len(track["text"].splitlines()) == overlapping + 1


def test_regions_to_jump_to(page):
    first, second, third = page.data["regions"]
    assert first == {"chr": "chr1", "start": 1000, "end": 1250}
    assert (second["chr"], third["start"], third["end"]) == ("chr2", 1039, 1060)
    assert sum(tag == "button" for tag, _ in page.elements) == 3


def test_nothing_is_loaded(page):
    loaded = [
        value
        for tag, attributes in page.elements
        for name, value in attributes.items()
        if name in ("src", "href", "srcset", "action") and value != "data:,"
    ]
    assert loaded == []
    assert re.findall(r"https?:", page.scripts[1] + page.scripts[2]) == []
    style = page.text.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    assert "//# sourceMappingURL" not in page.text


def test_the_policy_allows_only_the_scripts_of_the_page(page):
    (policy,) = (x["content"] for tag, x in page.elements if x.get("http-equiv"))
    assert policy.startswith("default-src 'none'; ")
    digests = [hashlib.sha256(page.scripts[i].encode()).digest() for i in (0, 2)]
    allowed = " ".join(f"'sha256-{base64.b64encode(x).decode()}'" for x in digests)
    assert f"; script-src {allowed};" in policy
    assert "connect-src" not in policy


def test_names_do_not_become_markup(page):
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == len(page.scripts) == 3
    assert "b" not in tags
    assert not any("onmouseover" in attributes for _, attributes in page.elements)
    assert page.headings[0] == f"Title {BREAKOUT}"
    assert BREAKOUT in page.headings
    names = [track["options"]["name"] for track in page.data["tracks"]]
    assert names[2:] == ["&lt;/script&gt;&lt;b onmouseover=alert(1)&gt;N&lt;/b&gt;", "A &amp; B"]


def test_result(result, files):
    assert [row["rows"] for row in result.rows] == [2, 100, 3, 3]
    assert [row["format"] for row in result.rows] == ["bigWig", "bigWig", "BED", "VCF"]
    assert result.summary().endswith("page.html: 500 bases, 4 tracks, 1.52 MB")
    assert 1_515_000 <= result.output.stat().st_size < 1_525_000


def test_the_library_is_the_published_one():
    text = (LIBRARY.parent / "PROVENANCE.md").read_text()
    assert hashlib.sha256(LIBRARY.read_bytes()).hexdigest() in text
    assert f"`igv` {VERSION} of the npm registry" in text
    assert f'"{VERSION}"' in LIBRARY.read_text(encoding="utf-8")
    assert not re.search(r"</script|<!--", LIBRARY.read_text(encoding="utf-8"), re.IGNORECASE)


def test_names_by_default_and_an_empty_track(files, tmp_path, capsys):
    (tmp_path / "none.narrowPeak").write_text("chr2\t5\t9\tx\t0\t.\t1\t2\t3\t1\n")
    tracks = [files.bed, tmp_path / "none.narrowPeak"]
    result = view(files.fasta, ["chr1:1001-1250"], tracks, tmp_path / "page.html")
    assert [row["track"] for row in result.rows] == ["peaks", "none"]
    note = capsys.readouterr().err
    assert "none.narrowPeak: nothing in the regions; the track is empty" in note
    assert "peaks.bed.gz: nothing" not in note
    assert "left out, because toy.fa lacks the chromosome: 1 rows on chr7" in note


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"region": ["chr1:2,990-3,001"]}, r"region chr1:2,990-3,001: chr1 has 3,000 bases in toy"),
        ({"region": ["chr1"]}, "'chr1' is not a region; write it as"),
        ({"region": ["chr9:1-10"]}, "chromosome 'chr9' is not in toy.fa"),
        ({"region": []}, "region: none; expected at least one"),
        ({"tracks": []}, "tracks: none; expected at least one"),
        ({"tracks": ["a.bam"]}, r"tracks a.bam: .bam is not the suffix of a format .* '?\.bed"),
        ({"tracks": ["a"]}, "tracks a: no suffix is not the suffix"),
        ({"tracks": ["missing.bw"]}, "missing.bw: no such file"),
        ({"tracks": ["missing"]}, "tracks missing: no such file"),
        ({"tracks": ["missing.bed"]}, "missing.bed: no such file"),
        ({"names": ["a", "b"]}, "names: 2 names for 1 tracks"),
        ({"margin_bp": -1}, "margin_bp -1"),
        ({"max_bp": 1000}, r"region: 1,250 bases in all .* at most max_bp 1,000"),
        ({"output": "page.tsv"}, ".tsv is the suffix of TSV, but this is written as HTML"),
    ],
)
def test_wrong_input(files, tmp_path, monkeypatch, changed, message):
    monkeypatch.chdir(Path(files.fasta).parent)
    for name in ("a", "a.bam"):
        Path(name).touch()
    given = {"fasta": files.fasta, "region": ["chr1:1001-1250"], "tracks": [files.runs]}
    given["output"] = tmp_path / "page.html"
    if "output" in changed:
        changed = {"output": tmp_path / changed["output"]}
    with pytest.raises(InputError, match=message):
        view(**given | changed)
    assert list(tmp_path.iterdir()) == []


def test_wrong_bigwig_files(files, tmp_path, capsys):
    text, other = tmp_path / "text.bw", tmp_path / "other.bw"
    text.write_text("fixedStep\n")
    write_bigwig(other, [(1, 2, 0.5)], [("chrX", 50)])

    def show(track: Path) -> None:
        view(files.fasta, ["chr1:11-20"], [track], tmp_path / "page.html")

    with pytest.raises(InputError, match=r"text\.bw: this is not a bigWig file, or it is damaged"):
        show(text)
    with pytest.raises(InputError, match=r"other\.bw: chromosome 'chr1' is not in this .*chrX\)"):
        show(other)
    assert not (tmp_path / "page.html").exists()
    write_bigwig(other, [(1, 15, 0.5)], [("1", 2000)])
    show(other)
    assert Page((tmp_path / "page.html").read_text()).data["tracks"][0]["values"] == [
        ["chr1", 1, 15, 0.5]
    ]
    assert "1 has 2,000 bases in this file and 3,000 in toy.fa; is it on another assembly?" in (
        capsys.readouterr().err
    )


def test_an_input_is_not_overwritten(files, tmp_path):
    with pytest.raises(InputError, match="this is the input tracks"):
        view(files.fasta, ["chr1:11-20"], [files.runs], files.runs)
