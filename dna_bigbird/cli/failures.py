"""Unexpected errors, as one line for the user."""

import errno
import traceback
from typing import NoReturn

from dna_bigbird.cli.streams import error_stream
from dna_bigbird.core.errors import TRACEBACK
from dna_bigbird.core.messages import printable, short_enough

_ADVICE = {
    errno.ENOENT: "no such file or folder; check the name",
    errno.EACCES: "no permission; see: ls -ld {path}",
    errno.EPERM: "the system does not permit it; see: ls -ld {path}",
    errno.EISDIR: "this is a folder; expected a file",
    errno.ENOTDIR: "this is not a folder; check the name",
    errno.EEXIST: "it exists already; name another path",
    errno.ENOSPC: "no space left; see: df -h {path}",
    errno.EDQUOT: "the quota is used up; remove files, or name another folder",
    errno.EROFS: "read-only file system; name another path",
    errno.EMFILE: "too many open files; raise the limit: ulimit -n",
    errno.ENAMETOOLONG: "the name is too long; shorten it",
    errno.ELOOP: "symbolic links form a circle; see: ls -l {path}",
    errno.EIO: "the disk failed to read or write; copy the file from another source",
    errno.ESTALE: "the network file system lost it; try again",
}
_NO_MEMORY = (
    "not enough memory; use a smaller --batch_size or fewer --workers, a shorter window, or a "
    "machine with more"
)
_MEMORY_WORDS = (
    "can't allocate memory", "out of memory", "cannot allocate memory", "storage size calculation overflowed",
)  # fmt: skip


def fail(message: str, status: int = 2) -> NoReturn:
    """Print one line on standard error, and exit."""
    one_line = printable(short_enough(" ".join(str(message).split())))
    print(f"dna-bigbird: error: {one_line}", file=error_stream())
    raise SystemExit(status)


def explain(error: BaseException) -> tuple[str, int]:
    """Return the message for an unexpected error, and 2 if the user can change the cause, else 1."""
    if (isinstance(error, OSError) and error.errno == errno.ENOMEM) or _is_memory(error):
        return _NO_MEMORY, 2
    if isinstance(error, OSError):
        return _of_system(error), 2
    if isinstance(error, UnicodeEncodeError) and "surrogates" in error.reason:
        return (
            f"{error.object}: this name is not UTF-8, which a library or the output requires; rename the file",
            2,
        )
    where = traceback.extract_tb(error.__traceback__)[-1:]
    position = f" ({where[0].filename.rpartition('/')[2]}:{where[0].lineno})" if where else ""
    return (
        f"unexpected {type(error).__name__}{position}: {str(error) or 'no message'}. This is a fault of "
        f"dna-bigbird; please report it with the command. {TRACEBACK}=1 shows the traceback"
    ), 1


def _of_system(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is None:
        return f"the system reports: {reason}"
    path = error.filename2 or error.filename
    advice = _ADVICE.get(error.errno or 0, reason).format(path=path)
    return f"{path}: {advice}"


def _is_memory(error: BaseException) -> bool:
    """Return True for MemoryError, and for RuntimeErrors of torch about memory."""
    if isinstance(error, MemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _MEMORY_WORDS)
