"""Descriptions of inputs: every one in the repository is sound, and a wrong one is named."""

import contextlib
from pathlib import Path

import pytest
import yaml

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import sha256_of
from dna_bigbird.genome.fetch import write_samples
from dna_bigbird.genome.sources.assemblies import expected_lengths, guess_assembly, usual_assembly
from dna_bigbird.genome.sources.specs import read_spec
from dna_bigbird.labelled.deepsea.coordinates import ADDRESS, ARCHIVE

SPECS = Path(__file__).parents[2] / "data_specs"
GOOD = {
    "name": "thing",
    "title": "A thing",
    "url": "https://example.org/thing.gz",
    "sha256": None,
    "verified": False,
    "assembly": "GRCh37",
    "format": "BED",
    "licence": "none",
    "citation": "nobody",
}


@pytest.mark.parametrize("path", sorted(SPECS.glob("*.yaml")), ids=lambda p: p.stem)
def test_every_description_reads(path):
    spec = read_spec(path)
    assert spec.licence
    assert spec.citation


def test_sources_of_the_paper_are_described():
    names = {path.stem for path in SPECS.glob("*.yaml")}
    assert names >= {
        "grch37_genome",
        "epdnew_human_006_hg38",
        "hg38_to_hg19_chain",
        "deepsea_train_bundle",
        "deepsea_train_coordinates",
        "deepsea_919_peaks",
    }


def test_the_deepsea_coordinates_are_an_archive_next_to_the_bundle():
    """Public loaders download both; no copy was opened here, so nothing is said of size or checksum."""
    bundle, archive_spec = (
        read_spec(SPECS / f"deepsea_train_{name}.yaml") for name in ("bundle", "coordinates")
    )
    folder, _, archive = archive_spec.files[0].url.rpartition("/")
    assert (folder, archive) == (bundle.files[0].url.rpartition("/")[0], "allTFs.pos.bed.tar.gz")
    assert archive_spec.files[0].url == ADDRESS
    assert archive_spec.output_name == ARCHIVE
    assert (archive_spec.files[0].sha256, archive_spec.files[0].size_bytes) == (None, None)
    assert not archive_spec.verified
    assert "allTFs.pos.bed" not in bundle.format


def test_919_labels_in_three_groups():
    files = read_spec(SPECS / "deepsea_919_peaks.yaml").files
    groups = [file.labels[1] for file in files]
    assert groups == ["DHS"] * 125 + ["TF"] * 690 + ["HM"] * 104
    assert len({file.url for file in files}) == 919


def test_labels_are_the_published_ones(real_data):
    names = (real_data / "chromatin" / "deepsea_919_labels.txt").read_text().split("\n")[:919]
    files = read_spec(SPECS / "deepsea_919_peaks.yaml").files
    assert [file.labels[0] for file in files] == [name.strip() for name in names]
    assert files[576].labels[0] == "NA_NA_NA"


def test_chain_checksum_is_that_of_the_real_file(real_data):
    spec = read_spec(SPECS / "hg38_to_hg19_chain.yaml")
    chain = real_data / "chain" / "hg38ToHg19.over.chain.gz"
    assert spec.files[0].sha256 == sha256_of(chain)
    assert spec.files[0].size_bytes == chain.stat().st_size


def written(folder: Path, **changes) -> Path:
    path = folder / "thing.yaml"
    values = {key: value for key, value in (GOOD | changes).items() if value != "absent"}
    path.write_text(yaml.safe_dump(values))
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"licence": "absent"}, "thing.yaml: key 'licence' is missing"),
        ({"license": "MIT"}, "thing.yaml: unknown key 'license'; the keys are assembly"),
        ({"sha256": "absent"}, "key 'sha256' is missing; write null"),
        ({"sha256": "abc"}, "sha256 is 'abc'; expected 64 hexadecimal digits"),
        ({"verified": True}, "verified is true, but there is no sha256"),
        ({"verified": "maybe"}, "verified is 'maybe'; expected true or false"),
        ({"url": "/data/x.gz"}, r"url is '/data/x.gz'; expected http\(s\)"),
        (
            {"url": "http://example.org/é.gz"},
            r"url is 'http://example.org/\\xe9.gz'; expected ASCII",
        ),
        (
            {"url": "http://example.org/a b.gz"},
            "expected ASCII without spaces; write other letters",
        ),
        ({"url": "http://[bad/x"}, r"url is 'http://\[bad/x'; not an address"),
        ({"url": "http://host:port/x"}, "url is 'http://host:port/x'; not an address"),
        ({"url": "http://a..b/x"}, r"url is 'http://a\.\.b/x'; expected http"),
        ({"url": "http://me:pw@host/x"}, "expected http.* without a user name"),
        ({"url": "http://host/a/.."}, r"url is 'http://host/a/\.\.'; expected http"),
        ({"url": 7}, "url is 7; expected http"),
        ({"filename": "../x"}, r"filename is '\.\./x'; expected a name without folders"),
        ({"filename": 7}, "filename is 7; expected a name without folders"),
        ({"size_bytes": "5"}, "size_bytes is '5'; expected a whole number of at least 1, or null"),
        ({"size_bytes": True}, "size_bytes is True; expected a whole number"),
        ({"size_bytes": 0}, "size_bytes is 0; expected a whole number"),
        ({"url": "absent"}, "expected either 'url' or 'files'"),
        ({"name": "other"}, "name is 'other'; expected 'thing'"),
        ({"url": "absent", "sha256": "absent", "files": "gone.tsv"}, "gone.tsv: no such file"),
    ],
)
def test_wrong_descriptions_are_named(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        read_spec(written(tmp_path, **changes))


def test_a_key_that_is_no_text(tmp_path):
    path = written(tmp_path)
    path.write_text(path.read_text() + "~: 1\n")
    with pytest.raises(InputError, match=r"thing.yaml: unknown key '(None|~)'"):
        read_spec(path)


def test_missing_description(tmp_path):
    with pytest.raises(InputError, match=r"gone.yaml: no such file"):
        read_spec(tmp_path / "gone.yaml")


def test_wrong_table_is_named_by_line(tmp_path):
    path = written(tmp_path, url="absent", sha256="absent", files="t.tsv")
    table = tmp_path / "t.tsv"
    table.write_text("label\tgroup\tcell\turl\tsha256\nA\tTF\tK562\tftp://x/y\t-\n")
    with pytest.raises(InputError, match=r"t.tsv:2: url is 'ftp://x/y'"):
        read_spec(path)
    table.write_text("label\tgroup\n")
    with pytest.raises(InputError, match=r"t.tsv:1: columns are"):
        read_spec(path)


def test_sample_sheet_has_one_row_a_label(tmp_path):
    path = written(tmp_path, url="absent", sha256="absent", files="t.tsv")
    rows = ["label\tgroup\tcell\turl\tsha256", "A\tTF\tK562\thttps://x/a.bed.gz\t-"]
    (tmp_path / "t.tsv").write_text("\n".join(rows) + "\n")
    spec = read_spec(path)
    write_samples(spec, tmp_path / "samples.tsv")
    assert spec.output_name == "thing/samples.tsv"
    assert (tmp_path / "samples.tsv").read_text() == (
        "label\tgroup\tcell\tpath\nA\tTF\tK562\ta.bed.gz\n"
    )


def test_assemblies_are_told_apart():
    assert expected_lengths("none") == {}
    assert guess_assembly(expected_lengths("GRCh37")) == "GRCh37"
    assert guess_assembly(expected_lengths("GRCh38")) == "GRCh38"
    assert guess_assembly({"chr1": 249250621, "chr2": 242193529}) is None, "a mixture is neither"
    assert guess_assembly({"chrM": 16569, "MT": 16569}) == "GRCh38"
    assert guess_assembly({}) is None


@pytest.mark.parametrize(
    ("assembly", "names"),
    [
        (
            "GRCh37",
            "GRCh37 grch37 hg19 HG19 b37 GRCh37.p13 GRCh37p13 GRCh37-lite hs37 hs37d5 b37+decoy human_g1k_v37 "
            "human_g1k_v37_decoy Homo_sapiens_assembly19 hg19.p13.plusMT GCF_000001405.25 GCA_000001405.1",
        ),
        (
            "GRCh38",
            "GRCh38 hg38 HG38 b38 GRCh38.p14 hs38 hs38DH hs38d1 Homo_sapiens_assembly38 GCA_000001405.15 "
            "GCF_000001405.40 GRCh38_full_analysis_set_plus_decoy_hla GCA_000001405.15_GRCh38_no_alt_analysis_set",
        ),
    ],
)
def test_common_names_of_an_assembly(assembly, names):
    assert {name: usual_assembly(name) for name in names.split()} == dict.fromkeys(
        names.split(), assembly
    )
    assert all(expected_lengths(name) == expected_lengths(assembly) for name in names.split())


@pytest.mark.parametrize(
    "name", ["hg18", "hg190", "hg3", "mm10", "T2T-CHM13v2.0", "demo", "none", "my_hg19"]
)
def test_other_names_stay_as_they_are(name):
    assert (usual_assembly(name), expected_lengths(name)) == (name, {})


def test_assembly_lengths_are_those_of_the_chain(real_data):
    """The chain's own header lines are the source; an independent reading must agree."""
    import gzip

    with gzip.open(real_data / "chain" / "hg38ToHg19.over.chain.gz", "rt") as stream:
        chains = [line.split() for line in stream if line.startswith("chain")]
    for assembly, name, size in (("GRCh38", 2, 3), ("GRCh37", 7, 8)):
        found = {fields[name]: int(fields[size]) for fields in chains}
        table = expected_lengths(assembly)
        assert len(table) >= 24
        assert {chrom: found[chrom] for chrom in table} == table


KEYS = ["verified", "url", "files", "filename", "sha256", "size_bytes", "notes", *GOOD]


def with_value(folder: Path, key: str, value: object) -> Path:
    """Write a description with one other value; `files` replaces the address."""
    others = {"url": "absent", "sha256": "absent"} if key == "files" else {}
    return written(folder, **others, **{key: value})


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", [["a"], {"a": 1}, [[]], {1: {}}], ids=repr)
def test_a_list_or_section_is_refused_at_every_key(tmp_path, key, value):
    with pytest.raises(InputError, match=rf"thing\.yaml: {key} is"):
        read_spec(with_value(tmp_path, key, value))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "value", [3, -1.5, True, None, [], {}, "", "/", "A" * 100_000], ids=lambda x: repr(x)[:9]
)
def test_any_other_value_is_read_or_refused_in_one_line(tmp_path, key, value):
    path = with_value(tmp_path, key, value)
    with contextlib.suppress(InputError):
        assert read_spec(path).path == path


@pytest.mark.parametrize(
    "content", ["label\tcaf\u00e9\n".encode("latin-1"), b"\0", b'"' + b"x" * 200_000, b"\xff\xfe"]
)
def test_a_sheet_that_is_no_table_of_text(tmp_path, content):
    path = tmp_path / "thing.yaml"
    path.write_text(
        yaml.safe_dump(
            {k: v for k, v in GOOD.items() if k not in ("url", "sha256")} | {"files": "s.tsv"}
        )
    )
    (tmp_path / "s.tsv").write_bytes(content)
    with pytest.raises(InputError, match=r"s\.tsv"):
        read_spec(path)
