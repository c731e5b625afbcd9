"""Downloading one file: resumed, verified, retried, and never half under its final name."""

import contextlib
import hashlib
import http.client
import os
import re
import shutil
import ssl
import string
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import sha256_of, unreadable
from dna_bigbird.core.writing import (
    atomic_path,
    check_can_write,
    partial_path,
    readable_write_error,
)
from dna_bigbird.genome.sources.specs import RemoteFile, check_url

CHUNK = 1 << 18


def take_local(file: RemoteFile, local: Path, output: Path) -> str:
    """Copy a local file, verify it like a downloaded one, and return its SHA-256."""
    if not local.is_file():
        raise InputError(f"{local}: no such file; expected a local copy of {file.url}")
    try:
        source = open(local, "rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise unreadable(local, error) from error
    with source:
        size = os.fstat(source.fileno()).st_size
        if file.size_bytes not in (None, size):
            raise InputError(wrong_size(str(local), size, file.size_bytes))
        actual = hashlib.file_digest(source, "sha256").hexdigest()
        if file.sha256 and actual != file.sha256:
            raise InputError(wrong_checksum(str(local), actual, file.sha256, size))
        source.seek(0)
        # Not shutil.copyfile: of a full disk it says that the source cannot be read.
        with atomic_path(output) as temporary, open(temporary, "wb") as copy:
            shutil.copyfileobj(source, copy, CHUNK)
    return actual


def wrong_checksum(what: str, actual: str, expected: str, size: int) -> str:
    """Return the line for a file that is not the described one."""
    return (
        f"{what}: wrong checksum: sha256 {actual} ({size:,} bytes), expected {expected}. The file is "
        "damaged or another version; nothing was kept"
    )


def wrong_size(what: str, size: int, expected: int) -> str:
    """Return the line for a file whose size is not the described one."""
    return (
        f"{what}: {size:,} bytes, but size_bytes of its description is {expected}. The file is "
        "another version, or the address gives another one; nothing was kept"
    )


MAX_REDIRECTS = 5


class _Redirects(urllib.request.HTTPRedirectHandler):
    def http_error_302(self, req, fp, code, msg, headers):
        new = headers.get("Location")
        if new is None:
            raise _refused_address(req, code, "without saying where to")
        try:
            # Servers send the bytes of other letters as they are; the header arrives as Latin-1.
            target = urljoin(
                req.full_url, quote(new, encoding="iso-8859-1", safe=string.punctuation)
            )
            check_url(target)
        except ValueError as error:
            raise _refused_address(req, code, f"to {shortened(ascii(new))}; {error}") from None
        if urlsplit(req.full_url).scheme == "https" and urlsplit(target).scheme != "https":
            raise _refused_address(
                req, code, f"from https to {shortened(target)}, where anybody can change it"
            )
        count = getattr(req, "redirects", 0) + 1
        if count > MAX_REDIRECTS:
            raise _refused_address(req, code, f"more than {MAX_REDIRECTS} times")
        fp.read(1 << 16)
        fp.close()
        follow = urllib.request.Request(
            target, headers=req.headers, origin_req_host=req.origin_req_host, unverifiable=True
        )
        follow.redirects = count
        return self.parent.open(follow, timeout=req.timeout)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _refused_address(request: urllib.request.Request, code: int, how: str) -> InputError:
    return InputError(
        f"{request.full_url}: HTTP status {code}: the server redirects {how}. Correct the address in "
        "data_specs/, or give a local copy: --local PATH"
    )


_OPENER = urllib.request.build_opener(_Redirects)


def open_address(request: urllib.request.Request, timeout_s: float) -> http.client.HTTPResponse:
    """Open an address and follow at most `MAX_REDIRECTS` redirects, none to http from https."""
    try:
        response = _OPENER.open(request, timeout=timeout_s)
    except (urllib.error.URLError, http.client.HTTPException):
        raise
    except ValueError as error:  # UnicodeError is one: a host name that DNS cannot hold
        raise InputError(
            f"{request.full_url}: no request can be made of this address ({error}). Correct it in "
            "data_specs/"
        ) from None
    if response.status not in (200, 203, 206):
        response.close()
        raise InputError(
            f"{request.full_url}: HTTP status {response.status}; expected 200 and the file. "
            "Correct the address in data_specs/"
        )
    return response


def byte_count(header: str | None) -> int | None:
    """Return the number in a header, or None if it is none.

    Example:
        >>> byte_count("120"), byte_count("²"), byte_count(None), byte_count("9" * 5000)
        (120, None, None, None)
    """
    return int(header) if header and re.fullmatch(r"[0-9]{1,18}", header) else None


def content_range(header: str) -> tuple[int | None, int | None]:
    """Read `bytes 5-9/10` or `bytes */10` as first byte and total size.

    Example:
        >>> content_range("bytes 5-9/10"), content_range("bytes */10")
        ((5, 10), (None, 10))
    """
    span, _, total = header.removeprefix("bytes ").partition("/")
    return byte_count(span.partition("-")[0]), byte_count(total)


def version_of(headers: http.client.HTTPMessage) -> str:
    """Return the strong ETag, or else the date, that names this version of a file; '' if none."""
    # One that cannot be sent back (other letters, control characters) names nothing.
    tag = headers.get("ETag", "")
    version = tag if tag and not tag.startswith("W/") else headers.get("Last-Modified", "")
    return version if re.fullmatch(r"[ -~]*", version) else ""


Progress = Callable[[int, int | None], None]
"""Called with bytes present and bytes in all (None if the server does not say)."""


@dataclass(frozen=True)
class Patience:
    """When to give up."""

    stall_s: float = 60.0
    """Seconds without a byte after which a connection is dropped and tried again."""
    tries: int = 6
    """Connections in a row that bring nothing new."""
    first_wait_s: float = 1.0
    """Wait before the second try; it doubles each time."""


class _ConnectionLostError(Exception):
    """The connection failed in a way that another try may mend."""


def download(
    file: RemoteFile,
    output: Path,
    *,
    patience: Patience = Patience(),
    sleep: Callable[[float], None] = time.sleep,
    progress: Progress = lambda present, total: None,
) -> str:
    """Download to `output` and return the SHA-256; an interrupted run is continued."""
    # The bytes wait in a hidden file next to the output, with what the server said about their
    # version: if it has changed since, or the server ignores the request for the rest (200 instead
    # of 206), the file is read from the start.
    check_can_write(output)
    partial = partial_path(output)
    failures = 0
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        if partial.is_symlink() or _validator_path(partial).is_symlink():  # not of an earlier run
            _discard(partial)
        while True:
            before = _size(partial)
            try:
                _continue(file, partial, patience.stall_s, progress)
                break
            except _ConnectionLostError as error:
                failures = 1 if _size(partial) > before else failures + 1
                if failures >= patience.tries:
                    raise InputError(
                        f"{file.url}: gave up after {failures} tries without a new byte ({error}); "
                        f"{_size(partial):,} bytes are kept and the next run goes on from there. "
                        "Without network, give a local copy: --local PATH"
                    ) from None
                sleep(patience.first_wait_s * 2 ** (failures - 1))
        checksum = sha256_of(partial)
        if file.sha256 and checksum != file.sha256:
            size = _size(partial)
            _discard(partial)
            raise InputError(wrong_checksum(file.url, checksum, file.sha256, size))
        with open(partial, "rb") as written:
            os.fsync(written.fileno())
        partial.replace(output)
        _validator_path(partial).unlink(missing_ok=True)
    except OSError as error:
        _discard(partial)
        raise readable_write_error(output, error) from error
    return checksum


def _continue(file: RemoteFile, partial: Path, stall_s: float, progress: Progress) -> None:
    """Fetch what is missing of the partial file; returns when it is complete."""
    request = urllib.request.Request(file.url, headers={"Accept-Encoding": "identity"})
    present, validator = _size(partial), _read_validator(partial)
    if file.size_bytes is not None and present > file.size_bytes:
        present = 0
    if present and not (validator or file.sha256):
        present = 0  # without a way to tell that it is the same file, the rest might not fit
    if present:
        request.add_header("Range", f"bytes={present}-")
        if validator:
            request.add_header("If-Range", validator)
    try:
        with open_address(request, stall_s) as response:
            if response.status == 206:
                start, total = content_range(response.headers.get("Content-Range", ""))
                if start != present:
                    _discard(partial)
                    raise _ConnectionLostError(
                        f"the server sent the bytes from {start}, not {present}"
                    )
            else:
                present, total = 0, byte_count(response.headers.get("Content-Length"))
            if None not in (total, file.size_bytes) and total != file.size_bytes:
                _discard(partial)
                raise InputError(wrong_size(file.url, total, file.size_bytes))
            if response.status != 206:
                _validator_path(partial).write_text(version_of(response.headers))
            _append(response, file, partial, present, total, stall_s, progress)
    except urllib.error.HTTPError as error:
        with error:
            _refused(file, partial, error)
    except (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as error:
        raise _ConnectionLostError(_reason(error, stall_s)) from None
    except urllib.error.URLError as error:
        raise _ConnectionLostError(_reason(error.reason, stall_s)) from None


def _append(
    response: http.client.HTTPResponse,
    file: RemoteFile,
    partial: Path,
    present: int,
    total: int | None,
    stall_s: float,
    progress: Progress,
) -> None:
    total = total if total is not None else file.size_bytes
    with open(partial, "r+b" if present else "wb") as stream:
        stream.seek(present)
        progress(present, total)
        while chunk := _next_bytes(response, stall_s):
            present += len(chunk)
            if file.size_bytes is not None and present > file.size_bytes:
                _discard(partial)
                raise InputError(wrong_size(file.url, present, file.size_bytes))
            stream.write(chunk)
            progress(present, total)
    if total is not None and present < total:
        raise _ConnectionLostError(f"the connection ended at byte {present:,} of {total:,}")


def _next_bytes(response: http.client.HTTPResponse, stall_s: float) -> bytes:
    try:
        return response.read1(CHUNK)
    except OSError as error:  # of the network, not of the disk that is written to
        raise _ConnectionLostError(_reason(error, stall_s)) from None


def _refused(file: RemoteFile, partial: Path, error: urllib.error.HTTPError) -> None:
    """Decide on an error status: complete already, try again, or tell the user."""
    if error.code == 416:  # nothing after the bytes we have
        _, total = content_range(error.headers.get("Content-Range", ""))
        if total == _size(partial):
            return
        _discard(partial)
        raise _ConnectionLostError("the kept bytes are not part of the file on the server")
    if error.code in (408, 425, 429) or error.code >= 500:
        raise _ConnectionLostError(f"HTTP status {error.code} {error.reason}")
    raise InputError(
        f"{file.url}: HTTP status {error.code} {error.reason}; the file is not there (any more) or "
        "needs a login. Correct the address in data_specs/, or give a local copy: --local PATH"
    )


def _reason(error: object, stall_s: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no byte for {stall_s:g} s"
    return str(error) or type(error).__name__


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _validator_path(partial: Path) -> Path:
    return partial.with_name(partial.name + ".version")


def _read_validator(partial: Path) -> str | None:
    with contextlib.suppress(FileNotFoundError):
        return _validator_path(partial).read_text("ascii", "replace") or None
    return None


def _discard(partial: Path) -> None:
    for path in (partial, _validator_path(partial)):
        path.unlink(missing_ok=True)
