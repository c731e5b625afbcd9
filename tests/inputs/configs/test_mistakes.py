"""Every mistake in a config gives one line: file, line, setting, what was found and expected."""

import re

import pytest
import yaml

from dna_bigbird.core.errors import InputError
from dna_bigbird.workflow.config.config_files import read_config_files
from dna_bigbird.workflow.config.run_config import check_config, read_config


def refused(paths, match):
    """Check that reading the files ends with exactly this text."""
    with pytest.raises(InputError, match=f"^{re.escape(match)}$") as caught:
        read_config(paths)
    assert "\n" not in str(caught.value)


def changed(folder, old, new):
    """Write the config of the folder with one change."""
    text = (folder / "c.yaml").read_text()
    assert text.count(old) == 1
    (folder / "c.yaml").write_text(text.replace(old, new))


def test_a_correct_config_is_read(folder):
    config = read_config(["c.yaml"])
    assert config["pretraining"] == {"max_steps": 10_000, "learning_rate": 0.001}
    assert isinstance(config["pretraining"]["max_steps"], int)
    assert (config["seed"], config["pieces"], config["regions"]) == (0, False, [])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("splits:", "splitts:", "6: splitts: no such option; did you mean 'splits'?"),
        (
            "max_steps:",
            "max_step:",
            "10: pretraining.max_step: no such option; did you mean 'max_steps'?",
        ),
        (
            "chromatin: {}",
            "masking: {blue: 1}",
            "12: masking.blue: no such option; expected one of fraction, mask_share, random_share, span_bp, last_fraction",
        ),
        ("1e4", "1.5", "10: pretraining.max_steps: found 1.5; expected a whole number, at least 1"),
        ("1e4", "x", "10: pretraining.max_steps: found 'x'; expected a whole number, at least 1"),
        ("1e4", "0", "10: pretraining.max_steps: found 0; expected a whole number, at least 1"),
        (
            "1e-3",
            "-1e-3",
            "11: pretraining.learning_rate: found -0.001; expected a number, above 0",
        ),
        (
            "chromatin: {}",
            "masking: {fraction: 15}",
            "12: masking.fraction: found 15; expected a number, above 0 and at most 1",
        ),
        ("[chr7]", "chr7", "7: splits.validation: found 'chr7'; expected a list, such as [chr7]"),
        ("[chr7]", "[7]", "7: splits.validation[0]: found 7; expected text; put it in quotes"),
        (
            "[chr7]",
            "[]",
            "7: splits.validation: found an empty list; expected a list, at least 1 long",
        ),
        (
            "1-200",
            "200-100",
            "8: splits.test[0]: region 'chr8:200-100' is empty or starts below 1 "
            "(regions count from 1)",
        ),
        (
            "1-200",
            "x",
            "8: splits.test[0]: 'chr8:x' is not a region; write it as chr22:20,000,001-21,000,000",
        ),
        (
            "chromatin: {}",
            "chromatin:",
            "12: chromatin: found nothing; expected a section with keys; write {} for the defaults",
        ),
        (
            "chromatin: {}",
            "chromatin: {strand: froward}",
            "12: chromatin.strand: found 'froward'; expected both or forward; "
            "did you mean 'forward'?",
        ),
        (
            "chromatin: {}",
            "chromatin: {baselines: [gc]}",
            "12: chromatin.baselines: found ['gc']; kmer must be in the list",
        ),
        (
            "chromatin: {}",
            "chromatin: {splits: {folds: 5, test: [a]}}",
            "12: chromatin.splits: found a section with the keys folds, test; expected either "
            "`validation` and `test`, or `folds` (and `fold`, `seed`)",
        ),
        (
            "chromatin: {}",
            "evaluation: {baseline_documents: 20}",
            "12: evaluation.baseline_documents: replaced by baseline_counted_documents and "
            "baseline_scored_documents",
        ),
        (
            "name: mine",
            "name: corpus",
            "1: name: this name cannot be used; expected letters, digits and ._-, and no folder of "
            "results",
        ),
        (
            "chromatin: {}",
            "predictions: {regions: [chr8]}",
            "12: predictions.regions[0]: found 'chr8'; expected a region such as "
            "chr22:20,000,001-20,100,000",
        ),
        (
            "  peaks",
            "  demo: {}\n  peaks",
            "3: inputs: found a section with the keys genome, demo, peaks; expected either `demo` "
            "alone, or `genome` (a list of FASTA files) and others",
        ),
        (
            "  peaks",
            "  deepsea: d\n  peaks",
            "3: inputs: peaks and deepsea are both given; keep one of them",
        ),
        ("  peaks", "  chain: c\n  peaks", "5: inputs.chain: needs promoters next to it"),
        (
            "splits:",
            "tokenizer: {algorithm: bases, vocab_size: 512}\nsplits:",
            "6: tokenizer.vocab_size: single bases have 10 entries (five special ones and A C G T N); "
            "leave it out",
        ),
        (
            "splits:",
            "tokenizer: base\nsplits:",
            "6: tokenizer.algorithm: found 'base'; expected bpe, symmetric_bpe or bases; did you mean 'bases'?",
        ),
    ],
)
def test_a_wrong_value_is_named(folder, old, new, message):
    changed(folder, old, new)
    refused(["c.yaml"], f"c.yaml:{message}")


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("name", "c.yaml: name: missing; add for example `name: mine`"),
        ("assembly", "c.yaml: assembly: missing; add for example `assembly: GRCh38`"),
        ("inputs", "c.yaml: inputs: missing; add for example `inputs: {genome: [genome.fa.gz]}`"),
        (
            "splits",
            "c.yaml: splits: missing; add for example "
            "`splits: {test: [chr8, chr9], validation: [chr7]}`",
        ),
        (
            "pretraining",
            "c.yaml: pretraining: missing; add for example `pretraining: {max_steps: 20000}`, or "
            "start from a bundle: `pretrained: bundled`",
        ),
    ],
)
def test_a_missing_section_says_what_to_add(folder, section, message):
    values = yaml.safe_load((folder / "c.yaml").read_text())
    del values[section]
    (folder / "c.yaml").write_text(yaml.safe_dump(values))
    refused(["c.yaml"], message)


def test_a_missing_key_has_the_line_of_its_section(folder):
    changed(folder, '  test: ["chr8:1-200"]\n', "")
    refused(["c.yaml"], "c.yaml:6: splits.test: missing; add for example `test: [chr8, chr9]`")


@pytest.mark.parametrize("section", ["documents", "tokenizer", "model", "masking", "evaluation"])
def test_a_section_with_defaults_may_be_empty_or_left_out(folder, section):
    assert section not in read_config(["c.yaml"])
    changed(folder, "chromatin: {}", f"{section}: {{}}")
    assert read_config(["c.yaml"])[section] == {}


def test_a_run_from_a_bundle_has_no_section_of_pretraining(folder):
    changed(folder, "chromatin: {}", "chromatin: {}\npretrained: bundled")
    refused(
        ["c.yaml"],
        "c.yaml:9: pretraining: this run has no pretraining, it starts from a bundle "
        "(`pretrained:`); keep one of the two",
    )
    changed(folder, "pretraining:\n  max_steps: 1e4\n  learning_rate: 1e-3\n", "")
    assert read_config(["c.yaml"])["pretrained"] == "bundled"
    changed(folder, "chromatin: {}\n", "")
    refused(
        ["c.yaml"],
        "c.yaml:9: pretrained: nothing is trained from it; add a section `promoter: {}`, "
        "`chromatin: {}` or `tracks: {}`",
    )
    changed(folder, "bundled", "nowhere\nchromatin: {}")
    refused(
        ["c.yaml"],
        "c.yaml:9: pretrained: nowhere: no model bundle (a folder with config.json); expected "
        "`bundled` or such a folder",
    )
    changed(folder, "nowhere", "bundled\nexperiments: {variants: {a: {}}}")
    refused(
        ["c.yaml"],
        "c.yaml:10: experiments.variants: this run has no pretraining, it starts from a bundle "
        "(`pretrained:`); keep one of the two",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\n\tb: 2\n", "2: the line begins with a tab; indent with spaces"),
        ("name: x\nsplits: {\n", "3: not YAML: did not find expected node content"),
        ("name: x\nseed: 1\nname: y\n", "3: name is also in line 1; keep one of them"),
        ("splits:\n  test: 1\n  test: 2\n", "3: test is also in line 2; keep one of them"),
        ("? [a]\n: 1\n", "1: a key is a list or section; put it in quotes"),
    ],
)
def test_a_file_that_is_not_right_yaml(folder, text, message):
    (folder / "c.yaml").write_text(text)
    with pytest.raises(InputError, match=f"^{re.escape('c.yaml:' + message)}"):
        read_config(["c.yaml"])


def test_a_file_without_settings_or_that_is_not_there(folder):
    (folder / "c.yaml").write_text("just words\n")
    refused(["c.yaml"], "c.yaml: expected settings as `key: value`, found text")
    refused(["x.yaml"], "x.yaml: no such file")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "  peaks: peaks.tsv\n",
            "",
            "11: chromatin: needs labels: add `peaks: SHEET` or `deepsea: FOLDER` to inputs",
        ),
        (
            "chromatin",
            "promoter",
            "12: promoter: needs start sites: add `promoters: FILE` to the section inputs",
        ),
        (
            "chromatin: {}",
            "chromatin: {}\npredictions:\n  regions: ['chr8:1-9']\n  variants: [chromatin]",
            "15: predictions.variants: needs variants: add `variants: VCF` to inputs",
        ),
        (
            "chromatin: {}",
            "predictions:\n  regions: ['chr8:1-9']\n"
            "  mutagenesis: {model: promoter, region: 'chr8:1-9'}",
            "14: predictions.mutagenesis.model: needs a section promoter, which trains this model",
        ),
        (
            "chromatin: {}",
            "predictions:\n  regions: ['chr8:1-9']\n"
            "  browser: {model: chromatin, regions: ['chr8:1-9'], labels: [A]}",
            "14: predictions.browser.model: needs a section chromatin, which trains this model",
        ),
        (
            "chromatin: {}",
            "chromatin: {}\npredictions:\n  regions: ['chr8:1-9']\n"
            "  browser: {model: chromatin, regions: ['chr8:1-9', 'chr8:9-1'], labels: [A]}",
            "15: predictions.browser.regions[1]: region 'chr8:9-1' is empty or starts below 1 "
            "(regions count from 1)",
        ),
        (
            "chromatin: {}",
            "predictions:\n  regions: ['chr8:9-1']",
            "13: predictions.regions[0]: region 'chr8:9-1' is empty or starts below 1 (regions count "
            "from 1)",
        ),
        (
            "chromatin: {}",
            "chromatin: {}\nexperiments:\n  heads: {wide: {chromatin: {}}}\n  table7: [wild]",
            "15: experiments.table7[0]: 'wild' is not among the variants (chromatin, wide); "
            "did you mean 'wide'?",
        ),
    ],
)
def test_sections_that_need_each_other(folder, old, new, message):
    changed(folder, old, new)
    refused(["c.yaml"], f"c.yaml:{message}")


def test_numbers_with_an_exponent_are_numbers_also_in_lists_of_sections(folder):
    changed(folder, "chromatin: {}", "chromatin: {training: {weight_decay: 1E-2, max_steps: 2.0}}")
    training = read_config(["c.yaml"])["chromatin"]["training"]
    assert training == {"weight_decay": 0.01, "max_steps": 2}
    assert isinstance(training["max_steps"], int)


def test_the_file_that_has_the_value_is_named(folder):
    (folder / "b.yaml").write_text("# later\nseed: -1\npretraining: {batch_size: 4}\n")
    refused(["c.yaml", "b.yaml"], "b.yaml:2: seed: found -1; expected a whole number, at least 0")
    refused(["b.yaml", "c.yaml"], "b.yaml:2: seed: found -1; expected a whole number, at least 0")
    (folder / "b.yaml").write_text("pretraining: {batch_size: 4}\n")
    assert read_config(["c.yaml", "b.yaml"])["pretraining"] == {
        "max_steps": 10_000,
        "learning_rate": 0.001,
        "batch_size": 4,
    }


def test_a_value_of_the_command_line_is_named(folder):
    config = yaml.safe_load((folder / "c.yaml").read_text()) | {"seed": "x"}
    with pytest.raises(InputError, match=r"^--config: seed: found 'x'; expected a whole number"):
        check_config(config, read_config_files([folder / "c.yaml"], {"seed": "x"}))


def test_merge_keys_and_aliases_have_lines(folder):
    changed(
        folder,
        "chromatin: {}",
        "chromatin: &x\n  window: 500\n  bin: 0\nexperiments:\n  heads:\n    a:\n"
        "      chromatin: {<<: *x, window: 600}",
    )
    refused(["c.yaml"], "c.yaml:14: chromatin.bin: found 0; expected a whole number, at least 1")
    changed(folder, "  bin: 0\n", "")
    heads = read_config(["c.yaml"])["experiments"]["heads"]
    assert heads["a"]["chromatin"] == {"window": 600}


@pytest.mark.parametrize(
    "value", ["1_0", "010", "0x10", "1:30", "2001-01-01", "\u0661", "9" * 30, "-1"]
)
def test_a_seed_is_a_plain_number(folder, value):
    """Snakemake reads some of these as numbers or dates; its config is checked with the file's own texts."""
    text = (folder / "c.yaml").read_text() + f"seed: {value}\n"
    (folder / "c.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"c\.yaml:13: seed: found"):
        read_config(["c.yaml"])
    with pytest.raises(InputError, match=r"c\.yaml:13: seed: found"):
        check_config(yaml.safe_load(text), read_config_files(["c.yaml"]))


LABELS = [
    "NO",
    "ON",
    "yes",
    "null",
    "~",
    "007",
    "1_000",
    "1",
    "01",
    "1.0",
    "2001-01-01",
    "1:30",
    "{x}",
]


def test_labels_are_what_is_written(folder):
    """Snakemake reads these keys as false, nothing, numbers and a date, and some of them as one."""
    written = "".join(f"    {x if x[0] != '{' else repr(x)}: ./p.bed\n" for x in LABELS)
    (folder / "p.bed").write_text("chr1\t0\t200\n")
    text = (folder / "c.yaml").read_text()
    peaks = next(line for line in text.splitlines() if line.strip().startswith("peaks:"))
    text = text.replace(peaks, f"  peaks:\n{written.rstrip()}")
    (folder / "c.yaml").write_text(text)
    assert list(read_config(["c.yaml"])["inputs"]["peaks"]) == LABELS
    config = yaml.safe_load(text) | {"name": "from Python"}
    config["inputs"]["variants"] = "./p.bed"
    check_config(config, read_config_files(["c.yaml"]))
    assert list(config["inputs"]["peaks"]) == LABELS
    assert config["inputs"]["variants"] == "./p.bed"


def test_a_template_of_snakemake_keeps_what_it_made(folder):
    """Snakemake removes the key that says so, and fills in the values."""
    text = (folder / "c.yaml").read_text()
    (folder / "c.yaml").write_text(f"__use_yte__: true\n{text}seed: ?1 + 1\n")
    config = yaml.safe_load(text) | {"seed": 2}
    check_config(config, read_config_files(["c.yaml"]))
    assert (config["seed"], "__use_yte__" in config) == (2, False)


def test_a_key_of_a_module_that_is_no_text_has_a_line(folder):
    text = (folder / "c.yaml").read_text()
    indented = "".join(f"  {line}\n" for line in text.splitlines())
    (folder / "c.yaml").write_text(
        f"ours:\n{indented}  experiments: {{heads: {{NO: {{promoter: {{}}}}}}}}\n"
    )
    files = read_config_files(["c.yaml"], section=("ours",))
    config = yaml.safe_load((folder / "c.yaml").read_text())["ours"]
    with pytest.raises(InputError, match=r"c\.yaml:\d+: ours\.experiments\.heads: the key False"):
        check_config(config, files)
