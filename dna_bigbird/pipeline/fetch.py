"""`dna-bigbird fetch`."""

from dna_bigbird.choices import checked
from dna_bigbird.paths import InputPath, OutputPath
from dna_bigbird.pipeline.results import Written


@checked()
def fetch(spec: InputPath, output: OutputPath, local: InputPath | None = None) -> Written:
    """Download one input named in data_specs/, or take a local copy, and verify it.

    An interrupted download continues where it stopped.

    Args:
        spec: Description of the input, for example data_specs/hg38_to_hg19_chain.yaml.
        output: File to write. For a table of peak files: the sample sheet; the files go into its folder.
        local: Copy on this machine to take instead (no network): a file; for a table of peak
            files the folder that has them.
    """
    import contextlib

    from tqdm import tqdm

    from dna_bigbird.errors import note
    from dna_bigbird.inputs.fetch import fetch_spec
    from dna_bigbird.inputs.specs import read_spec

    @contextlib.contextmanager
    def meter(name: str):
        with tqdm(desc=name, unit="B", unit_scale=True, disable=None) as bar:

            def show(present: int, total: int | None) -> None:
                bar.total = total
                bar.update(present - bar.n)

            yield show

    for line in fetch_spec(read_spec(spec), output, local, meter):
        note(line)
    return Written(output)
