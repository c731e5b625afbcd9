"""`dna-bigbird fetch`."""

from dna_bigbird.core.choices import checked
from dna_bigbird.core.paths import InputPath, OutputPath
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.core.results import Written


@checked()
def fetch(spec: InputPath, output: OutputPath, local: InputPath | None = None) -> Written:
    """Download one input named in data_specs/, or take a local copy, and verify it.

    An interrupted download continues where it stopped.

    Examples:
        dna-bigbird fetch --spec hg38_to_hg19_chain --output hg38_to_hg19.chain.gz
        dna-bigbird fetch --spec hg38_to_hg19_chain --local hg38ToHg19.over.chain.gz \\
            --output hg38_to_hg19.chain.gz

    Args:
        spec: Description of the input: a name in data_specs/, such as hg38_to_hg19_chain, or the
            path of a YAML file.
        output: Result to write: the file. For a table of peak files: the sample sheet; the files go
            into its folder.
        local: Copy on this machine to take instead (no network): a file; for a table of peak
            files the folder that has them.
    """
    import contextlib

    from dna_bigbird.core.errors import note
    from dna_bigbird.genome.sources.fetching import fetch_spec
    from dna_bigbird.genome.sources.specs import find_spec, read_spec

    @contextlib.contextmanager
    def meter(name: str):
        with progress_bar(desc=name, unit="B", unit_scale=True) as bar:

            def show(present: int, total: int | None) -> None:
                bar.total = total
                bar.update(present - bar.n)

            yield show

    is_name = spec.name == str(spec) and not spec.suffix and not spec.exists()
    described = read_spec(find_spec(spec.name) if is_name else spec)
    for line in fetch_spec(described, output, local, meter):
        note(line)
    return Written(output)
