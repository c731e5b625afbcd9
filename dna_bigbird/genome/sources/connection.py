"""Opening an address: redirects are few, stay within http(s) and never leave https."""

import http.client
import re
import string
import urllib.error
import urllib.request
from urllib.parse import quote, urljoin, urlsplit

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.genome.sources.specs import check_url

MAX_REDIRECTS = 5


class _Redirects(urllib.request.HTTPRedirectHandler):
    def http_error_302(self, req, fp, code, msg, headers):
        new = headers.get("Location")
        if new is None:
            raise _refused(req, code, "without saying where to")
        try:
            # Servers send the bytes of other letters as they are; the header arrives as Latin-1.
            target = urljoin(
                req.full_url, quote(new, encoding="iso-8859-1", safe=string.punctuation)
            )
            check_url(target)
        except ValueError as error:
            raise _refused(req, code, f"to {shortened(ascii(new))}; {error}") from None
        if urlsplit(req.full_url).scheme == "https" and urlsplit(target).scheme != "https":
            raise _refused(
                req, code, f"from https to {shortened(target)}, where anybody can change it"
            )
        count = getattr(req, "redirects", 0) + 1
        if count > MAX_REDIRECTS:
            raise _refused(req, code, f"more than {MAX_REDIRECTS} times")
        fp.read(1 << 16)
        fp.close()
        follow = urllib.request.Request(
            target, headers=req.headers, origin_req_host=req.origin_req_host, unverifiable=True
        )
        follow.redirects = count
        return self.parent.open(follow, timeout=req.timeout)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _refused(request: urllib.request.Request, code: int, how: str) -> InputError:
    return InputError(
        f"{request.full_url}: HTTP status {code}: the server redirects {how}. Correct the address in "
        "data_specs/, or give a local copy: --local PATH"
    )


_OPENER = urllib.request.build_opener(_Redirects)


def open_address(request: urllib.request.Request, timeout_s: float) -> http.client.HTTPResponse:
    """Open an address and follow at most `MAX_REDIRECTS` redirects.

    Raises:
        InputError: If a redirect leads nowhere, away from http(s), or from https to http; if no
            request can be made of the address, or the answer contains no file.
        urllib.error.URLError, http.client.HTTPException, OSError: As urllib has them.
    """
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
    """Return the strong ETag, or else the date, that names this version of a file; '' if none does.

    One that cannot be sent back (other letters, control characters) names nothing.
    """
    tag = headers.get("ETag", "")
    version = tag if tag and not tag.startswith("W/") else headers.get("Last-Modified", "")
    return version if re.fullmatch(r"[ -~]*", version) else ""
