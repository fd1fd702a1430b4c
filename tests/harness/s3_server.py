"""An S3-compatible storage for tests, which verifies signatures by itself, as the specification says, and keeps objects in memory.

`failures` are answers (status, code) that are sent in place of the next ones to requests of a method.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import escape
from urllib.parse import parse_qsl, quote, unquote
from xml.etree import ElementTree

from aiohttp import web
from aiohttp.test_utils import TestServer

ACCESS_KEY, SECRET_KEY, REGION, BUCKET = "AKTEST", "a-secret/of+the=test", "test-1", "files"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
_AUTHORIZATION = re.compile(r"AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})")


@dataclass
class StoredObject:
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


class Refused(Exception):
    def __init__(self, status: int, code: str) -> None:
        super().__init__(status, code)
        self.status, self.code = status, code


class S3Server:
    """The storage; `url` is its endpoint, `requests` are the methods and keys that it received."""

    def __init__(self) -> None:
        self.url = ""
        self.objects: dict[str, StoredObject] = {}
        self.uploads: dict[str, tuple[str, datetime, dict[str, str], dict[int, bytes]]] = {}
        self.failures: list[tuple[str, int, str]] = []
        self.requests: list[tuple[str, str]] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        bucket, _, key = unquote(request.raw_path.partition("?")[0])[1:].partition("/")
        self.requests.append((request.method, key))
        try:
            for failure in self.failures:
                if failure[0] == request.method:
                    self.failures.remove(failure)
                    raise Refused(*failure[1:])
            _verify(request, body)
            if bucket != BUCKET:
                raise Refused(404, "NoSuchBucket")
            query = dict(parse_qsl(request.raw_path.partition("?")[2], keep_blank_values=True))
            return getattr(self, f"_{request.method.lower()}")(request, key, query, body)
        except Refused as error:
            text = "" if request.method == "HEAD" else f"<Error><Code>{error.code}</Code></Error>"
            return web.Response(status=error.status, text=text, content_type="application/xml")

    def _head(self, request: web.Request, key: str, query: dict[str, str], body: bytes) -> web.Response:
        stored = self._object(key)
        return web.Response(headers={**_facts(stored), "Content-Length": str(len(stored.body))})

    def _get(self, request: web.Request, key: str, query: dict[str, str], body: bytes) -> web.Response:
        if not key:
            return self._list(query)
        stored = self._object(key)
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
        if match is None:
            return web.Response(body=stored.body, headers=_facts(stored))
        first, last = int(match[1]), min(int(match[2] or len(stored.body)), len(stored.body) - 1)
        if first > last:
            raise Refused(416, "InvalidRange")
        headers = {**_facts(stored), "Content-Range": f"bytes {first}-{last}/{len(stored.body)}"}
        return web.Response(status=206, body=stored.body[first : last + 1], headers=headers)

    def _put(self, request: web.Request, key: str, query: dict[str, str], body: bytes) -> web.Response:
        if "uploadId" in query:
            self._upload(key, query)[3][int(query["partNumber"])] = body
            return web.Response(headers={"ETag": _tag(body)})
        source = request.headers.get("x-amz-copy-source")
        if source is not None:
            bucket, _, name = unquote(source).removeprefix("/").partition("/")
            assert bucket == BUCKET
            self.objects[key] = StoredObject(self._object(name).body)
            copied = self.objects[key]
            return web.Response(
                text=f"<CopyObjectResult><ETag>{_tag(copied.body)}</ETag>"
                f"<LastModified>{_time(copied.at)}</LastModified></CopyObjectResult>"
            )
        if request.headers.get("If-None-Match") == "*" and key in self.objects:
            raise Refused(412, "PreconditionFailed")
        self.objects[key] = StoredObject(body, _kept(request))
        return web.Response(headers={"ETag": _tag(body)})

    def _post(self, request: web.Request, key: str, query: dict[str, str], body: bytes) -> web.Response:
        if "uploads" in query:
            upload = f"upload/{len(self.uploads)}+"
            self.uploads[upload] = (key, datetime.now(UTC), _kept(request), {})
            return web.Response(text=f"<Result xmlns='http://s3/'><UploadId>{upload}</UploadId></Result>")
        if "delete" in query:
            return self._delete_several(request, body)
        _, _, headers, parts = self._upload(key, query)
        root = ElementTree.fromstring(body)
        listed = sorted(
            (int(part.findtext("{*}PartNumber", "0")), part.findtext("{*}ETag", "").strip('"'))
            for part in root.iter()
            if part.tag.rpartition("}")[2] == "Part"
        )
        if listed != [(number, hashlib.md5(part).hexdigest()) for number, part in sorted(parts.items())]:
            raise Refused(400, "InvalidPart")
        if any(len(parts[number]) < 5 * 1024 * 1024 for number in sorted(parts)[:-1]):
            raise Refused(400, "EntityTooSmall")
        self.objects[key] = StoredObject(b"".join(parts[number] for number in sorted(parts)), headers)
        del self.uploads[query["uploadId"]]
        tag = _tag(self.objects[key].body)
        return web.Response(text=f"<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>")

    def _delete_several(self, request: web.Request, body: bytes) -> web.Response:
        if "x-amz-checksum-sha256" not in request.headers and "Content-MD5" not in request.headers:
            raise Refused(400, "InvalidRequest")
        names = [
            each.text or "" for each in ElementTree.fromstring(body).iter() if each.tag.rpartition("}")[2] == "Key"
        ]
        for name in names:
            self.objects.pop(name, None)
        deleted = "".join(f"<Deleted><Key>{escape(name)}</Key></Deleted>" for name in names)
        return web.Response(text=f"<DeleteResult>{deleted}</DeleteResult>")

    def _delete(self, request: web.Request, key: str, query: dict[str, str], body: bytes) -> web.Response:
        if "uploadId" in query:
            self._upload(key, query)
            del self.uploads[query["uploadId"]]
        else:
            self.objects.pop(key, None)
        return web.Response(status=204)

    def _list(self, query: dict[str, str]) -> web.Response:
        # Pages of two, so that a client has to go on.
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
        entries: dict[str, str] = {}
        for key in sorted(key for key in self.objects if key.startswith(prefix)):
            folder, separator, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            if separator:
                name = f"{prefix}{folder}{delimiter}"
                entries[name] = f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
            else:
                stored = self.objects[key]
                entries[key] = (
                    f"<Contents><Key>{escape(key)}</Key><LastModified>{_time(stored.at)}</LastModified>"
                    f"<ETag>{_tag(stored.body)}</ETag><Size>{len(stored.body)}</Size></Contents>"
                )
        names = [name for name in entries if name > query.get("continuation-token", "")]
        more = f"<NextContinuationToken>{escape(names[1])}</NextContinuationToken>" if len(names) > 2 else ""
        items = "".join(entries[name] for name in names[:2])
        return web.Response(text=f"<ListBucketResult>{items}{more}</ListBucketResult>")

    def _object(self, key: str) -> StoredObject:
        if key not in self.objects:
            raise Refused(404, "NoSuchKey")
        return self.objects[key]

    def _upload(self, key: str, query: dict[str, str]) -> tuple[str, datetime, dict[str, str], dict[int, bytes]]:
        upload = self.uploads.get(query["uploadId"])
        if upload is None or upload[0] != key:
            raise Refused(404, "NoSuchUpload")
        return upload


def _facts(stored: StoredObject) -> dict[str, str]:
    modified = stored.at.strftime("%a, %d %b %Y %H:%M:%S GMT")
    return {**stored.headers, "ETag": _tag(stored.body), "Last-Modified": modified}


def _tag(body: bytes) -> str:
    return f'"{hashlib.md5(body).hexdigest()}"'


def _kept(request: web.Request) -> dict[str, str]:
    names = ("Content-Type", "Content-Disposition", "Cache-Control")
    return {name: request.headers[name] for name in names if name in request.headers}


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _verify(request: web.Request, body: bytes) -> None:
    """Raise `Refused` unless the request is signed: in its header, or as a link."""
    path, _, query_text = request.raw_path.partition("?")
    query = parse_qsl(query_text, keep_blank_values=True)
    values = dict(query)
    if "X-Amz-Signature" in values:
        credential, names, signature = (
            values["X-Amz-Credential"],
            values["X-Amz-SignedHeaders"],
            values["X-Amz-Signature"],
        )
        at, payload = values["X-Amz-Date"], "UNSIGNED-PAYLOAD"
        query = [(name, value) for name, value in query if name != "X-Amz-Signature"]
        expires = _moment(at) + timedelta(seconds=int(values["X-Amz-Expires"]))
        if datetime.now(UTC) > expires:
            raise Refused(403, "AccessDenied")
    else:
        match = _AUTHORIZATION.fullmatch(request.headers.get("Authorization", ""))
        if match is None:
            raise Refused(403, "AccessDenied")
        credential, names, signature = match.groups()
        at, payload = request.headers["x-amz-date"], request.headers["x-amz-content-sha256"]
        if payload != hashlib.sha256(body).hexdigest():
            raise Refused(400, "XAmzContentSHA256Mismatch")
        required = {name.lower() for name in request.headers if name.lower().startswith("x-amz-")} | {"host"}
        required |= {"content-type"} & {name.lower() for name in request.headers}
        if required - set(names.split(";")):
            raise Refused(403, "AccessDenied")
    access_key, day, region, service, end = credential.split("/")
    if (access_key, region, service, end) != (ACCESS_KEY, REGION, "s3", "aws4_request"):
        raise Refused(403, "InvalidAccessKeyId")
    canonical_query = "&".join(
        sorted(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in query)
    )
    headers = "".join(f"{name}:{request.headers[name].strip()}\n" for name in names.split(";"))
    canonical = (
        f"{request.method}\n{quote(unquote(path), safe='/-_.~')}\n{canonical_query}\n{headers}\n{names}\n{payload}"
    )
    scope = f"{day}/{region}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{at}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = ("AWS4" + SECRET_KEY).encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    if hmac.new(key, text.encode(), hashlib.sha256).hexdigest() != signature:
        raise Refused(403, "SignatureDoesNotMatch")


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


@asynccontextmanager
async def running_s3() -> AsyncIterator[S3Server]:
    """Yield a storage that answers on a port of its own."""
    storage = S3Server()
    app = web.Application(client_max_size=2**30)
    app.router.add_route("*", "/{path:.*}", storage.handle)
    server = TestServer(app)
    await server.start_server()
    try:
        storage.url = str(server.make_url("")).rstrip("/")
        yield storage
    finally:
        await server.close()


def s3_url(server: S3Server, bucket: str = BUCKET) -> str:
    """Return the address of the storage as VITRINE_STORAGE_URL."""
    return f"s3://{bucket}?endpoint={server.url}&region={REGION}"
