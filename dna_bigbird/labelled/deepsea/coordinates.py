"""`allTFs.pos.bed`, the coordinates of the DeepSEA bundle: published as an archive of its own.

The file is taken from inside the bundle's folder or from next to it, plain, gzip or still packed.
"""

import gzip
import lzma
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dna_bigbird.core.archive_checks import tar_stream
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import is_gzip

BED = "allTFs.pos.bed"
ARCHIVE = f"{BED}.tar.gz"
NAMES = (BED, f"{BED}.gz", ARCHIVE)
ADDRESS = f"http://deepsea.princeton.edu/media/code/{ARCHIVE}"
"""As data_specs/deepsea_train_coordinates.yaml has it."""
_MAX_BYTES = 1 << 30
"""The published file has some 2.6 million lines, below 100 MB."""
_DAMAGED = (
    *(tarfile.TarError, EOFError, ValueError),
    *(gzip.BadGzipFile, zlib.error, lzma.LZMAError),
)
"""What a damaged archive raises; ValueError for a header that is not a number or a text."""


def find_coordinates(bundle: Path) -> Path:
    """Return the coordinates inside the folder of a bundle or next to it, in the order of `NAMES`.

    Raises:
        InputError: If there are none; it says where to get them.
    """
    candidates = [folder / name for folder in (bundle, bundle.absolute().parent) for name in NAMES]
    for path in candidates:
        if path.is_file():
            return path
    raise InputError(
        f"{bundle}: no {BED} in this folder or next to it (plain, .gz or .tar.gz). It is published "
        f"apart from the bundle: download {ADDRESS} into the folder, or name your copy "
        "(--row_coordinates; in a config `inputs: deepsea_coordinates`)"
    )


@contextmanager
def unpacked_coordinates(path: Path) -> Iterator[Path]:
    """Yield the BED file: `path` itself, or the one inside a tar archive, unpacked for the block.

    An InputError of the block names the archive instead of the temporary file.

    Raises:
        InputError: If the archive is damaged, lacks `allTFs.pos.bed`, or has more than 1 GiB of it.
    """
    if not _is_archive(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        bed = Path(folder) / BED
        _unpack(path, bed)
        try:
            yield bed
        except InputError as error:
            raise InputError(str(error).replace(str(bed), f"{path}, {BED}")) from error


@contextmanager
def _opened(archive: Path) -> Iterator[tarfile.TarFile]:
    """Open an archive; no header of it may be larger than `LARGEST_HEADER` of `archive_checks`."""
    with open(archive, "rb") as raw, tarfile.TarFile(fileobj=tar_stream(raw)) as members:
        yield members


def _is_archive(path: Path) -> bool:
    """Return True for a tar archive, and for a damaged file that has the name of one."""
    is_named_so = path.name.endswith((".tar.gz", ".tgz"))
    try:
        with _opened(path):
            return True
    except tarfile.TarError:
        return is_named_so and is_gzip(path)
    except _DAMAGED:
        return is_named_so
    except OSError:
        return False  # the reader of the file reports why it cannot be read


def _unpack(archive: Path, bed: Path) -> None:
    try:
        with _opened(archive) as members:
            for member in members:
                if Path(member.name).name == BED and member.isreg() and not member.issparse():
                    if member.size > _MAX_BYTES:
                        raise InputError(
                            f"{archive}: {BED} in it has {member.size:,} bytes; expected less than "
                            f"{_MAX_BYTES:,}. Is this the published archive?"
                        )
                    with open(bed, "wb") as output:
                        shutil.copyfileobj(members.extractfile(member), output)
                    while members.fileobj.read(1 << 20):  # the checksum of gzip is at the end
                        pass
                    return
    except _DAMAGED as error:
        raise InputError(
            f"{archive}: cannot read it as a tar archive ({' '.join(str(error).split())}). "
            "Copy it again"
        ) from error
    raise InputError(f"{archive}: no {BED} in this archive. Download {ADDRESS}")
