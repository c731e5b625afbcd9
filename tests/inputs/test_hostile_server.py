"""A server that sends too much, redirects anywhere, or answers in letters that no header has."""

import email.message
import hashlib
import re
import urllib.request

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.sources.download import CHUNK, MAX_REDIRECTS, Patience, _Redirects, download
from dna_bigbird.genome.sources.specs import RemoteFile

BODY = b"chr1\t5\t6\n" * 100


@pytest.fixture
def get(server, tmp_path):
    """Function (size_bytes) -> the downloaded bytes; a refused one leaves nothing, and is final."""

    def run(size_bytes=None):
        waits = []
        output = tmp_path / "out" / "a.bed"
        file = RemoteFile(f"{server.address}/a.bed", "a.bed", None, size_bytes)
        patience = Patience(stall_s=5, tries=2)
        try:
            download(file, output, patience=patience, sleep=waits.append)
        except InputError:
            assert waits == [], "another try would bring the same"
            assert list(output.parent.glob("*")) == []
            raise
        return output.read_bytes()

    return run


def answer(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = (b"HTTP/1.1 " + status, *headers, b"Connection: close", b"", body)
    return b"\r\n".join(lines)


def moved(target: bytes, status: bytes = b"302 Found") -> bytes:
    return answer(b"", b"Location: " + target, b"Content-Length: 0", status=status)


def test_a_larger_file_is_refused_before_its_first_byte(get, server):
    server.body = BODY
    with pytest.raises(InputError, match=r"a\.bed: 900 bytes, but size_bytes .* is 5\. "):
        get(size_bytes=5)


def test_a_shorter_file_is_refused_before_its_first_byte(get, server):
    server.body = BODY
    with pytest.raises(InputError, match=r"a\.bed: 900 bytes, but size_bytes .* is 901\. "):
        get(size_bytes=901)


def test_the_described_size_is_taken(get, server):
    server.body = BODY
    assert get(size_bytes=len(BODY)) == BODY
    server.raw = [answer(BODY)]  # no word on the size
    assert get(size_bytes=len(BODY)) == BODY


@pytest.mark.parametrize("length", [(), (b"Content-Length: 5x",), (b"Content-Length: -1",)])
def test_a_server_that_sends_more_than_described_is_stopped(get, server, length):
    server.raw = [answer(b"x" * (8 * CHUNK), *length)]
    with pytest.raises(InputError, match=r"a\.bed: [0-9,]+ bytes, but size_bytes") as caught:
        get(size_bytes=5)
    (arrived,) = re.findall(r"bed: ([0-9,]+) bytes", str(caught.value))
    assert int(arrived.replace(",", "")) <= 5 + CHUNK


def test_fewer_bytes_than_described_are_continued(get, server, tmp_path):
    server.body = BODY
    server.raw = [answer(BODY[:100], b'ETag: "one"')]
    file = RemoteFile(f"{server.address}/a.bed", "a.bed", None, len(BODY))
    download(file, tmp_path / "a.bed", sleep=lambda _: None)
    assert (tmp_path / "a.bed").read_bytes() == BODY
    assert server.ranges == [None, "bytes=100-"]


def test_kept_bytes_that_are_too_many_are_dropped(server, tmp_path):
    server.body = BODY
    (tmp_path / ".a.bed.partial").write_bytes(BODY * 2)
    sha256 = hashlib.sha256(BODY).hexdigest()
    file = RemoteFile(f"{server.address}/a.bed", "a.bed", sha256, len(BODY))
    download(file, tmp_path / "a.bed", sleep=lambda _: None)
    assert (tmp_path / "a.bed").read_bytes() == BODY


@pytest.mark.parametrize(
    "status", [b"301 Moved", b"302 Found", b"303 See Other", b"307 T", b"308 P"]
)
@pytest.mark.parametrize(
    "target", [b"/b.bed", b"b.bed", b"/d\xc3\xa9.bed", b"//127.0.0.1:%d/b.bed"]
)
def test_redirects_are_followed(get, server, status, target):
    server.body = BODY
    port = int(server.address.rpartition(":")[2])
    server.raw = [moved(target.replace(b"%d", b"%d" % port), status)]
    assert get() == BODY


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (b"http://[bad/x", r"redirects to 'http://\[bad/x'; Invalid IPv6 URL"),
        (b"http://host:port/x", "redirects to 'http://host:port/x'; not an address"),
        (b"http://host:99999/x", "redirects to 'http://host:99999/x'; not an address"),
        (b"http://h\xc3\xb6st/x", r"redirects to 'http://h\\xc3\\xb6st/x'; expected http"),
        (b"http://a..b/x", "redirects to 'http://a..b/x'; expected http"),
        (b"http://" + b"a" * 70 + b"/x", "redirects to 'http://aaa.*; expected http"),
        (b"http://me:pw@127.0.0.1/x", "redirects to .*; expected http.*without a user name"),
        (b"file:///etc/passwd", r"redirects to 'file:///etc/passwd'; expected http\(s\)"),
        (b"ftp://host/x", r"redirects to 'ftp://host/x'; expected http\(s\)"),
        (b"data:text/plain,x", r"redirects to 'data:text/plain,x'; expected http\(s\)"),
        (b"javascript:x", r"redirects to 'javascript:x'; expected http\(s\)"),
        (b"", r"redirects to ''; expected http|more than 5 times"),
        (b"http://", r"redirects to 'http://'; expected http|more than 5 times"),
    ],
)
def test_a_redirect_that_leads_nowhere_is_one_line(get, server, target, words):
    server.raw = [moved(target)] * (MAX_REDIRECTS + 1)
    with pytest.raises(InputError, match=words):
        get()


def test_a_redirect_without_an_address(get, server):
    server.raw = [answer(b"", b"Content-Length: 0", status=b"302 Found")]
    with pytest.raises(InputError, match="status 302: the server redirects without saying where"):
        get()


def test_few_redirects_are_followed(get, server):
    server.body = BODY
    server.raw = [moved(b"/%d.bed" % i) for i in range(MAX_REDIRECTS)]
    assert get() == BODY


def test_redirects_are_counted(get, server):
    server.raw = [moved(b"/%d.bed" % i) for i in range(MAX_REDIRECTS + 1)]
    with pytest.raises(InputError, match=r"the server redirects more than 5 times"):
        get()


def test_no_redirect_from_https_to_http():
    headers = email.message.Message()
    headers["Location"] = "http://host/a.bed"
    request = urllib.request.Request("https://host/a.bed")
    with pytest.raises(InputError, match=r"redirects from https to http://host/a\.bed"):
        _Redirects().http_error_301(request, None, 301, "Moved", headers)


@pytest.mark.parametrize(
    "headers",
    [
        (b'ETag: "\xc3\xa9"', b"Content-Length: 900"),
        (b"Last-Modified: \xff\x00\x01", b"Content-Length: 900"),
        (b"Content-Length: \xb2",),
        (b"Content-Length: " + b"9" * 5000,),
        (b"X-\xff: \xff",),
        (b"Content-Range: bytes \xb2-\xb2/\xb2",),
    ],
)
def test_headers_in_other_letters(get, server, headers):
    server.raw = [answer(BODY, *headers)]
    assert get(size_bytes=900) == BODY


def test_a_version_in_other_letters_is_not_sent_back(server, tmp_path):
    server.body = BODY
    server.raw = [answer(BODY[:100], b'ETag: "\xc3\xa9"', b"Content-Length: 900")]
    file = RemoteFile(f"{server.address}/a.bed", "a.bed")
    download(file, tmp_path / "a.bed", sleep=lambda _: None)
    assert (tmp_path / "a.bed").read_bytes() == BODY
    assert server.ranges == [None, None], "nothing says that the rest would be of the same file"


def test_an_answer_without_a_file(get, server):
    server.raw = [answer(b"", b"Content-Length: 0", status=b"204 No Content")]
    with pytest.raises(InputError, match="HTTP status 204; expected 200 and the file"):
        get()


def test_reasons_in_other_letters(get, server):
    server.raw = [answer(b"", b"Content-Length: 0", status=b"404 \xff\xfe")]
    with pytest.raises(InputError, match=r"HTTP status 404 .*the file is not there"):
        get()
