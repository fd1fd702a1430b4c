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
from urllib.parse import parse_qsl, quote, unquote

from aiohttp import web
from aiohttp.test_utils import TestServer

ACCESS_KEY, SECRET_KEY, REGION, BUCKET = "AKTEST", "a-secret/of+the=test", "test-1", "files"
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
        return web.Response(headers={"Content-Length": str(len(self._object(key).body))})

    def _get(self, request: web.Request, key: str, query: dict[str, str], body: bytes) -> web.Response:
        if not key:
            return self._list(query)
        stored = self._object(key)
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
        if match is None:
            return web.Response(body=stored.body, headers=stored.headers)
        first, last = int(match[1]), min(int(match[2] or len(stored.body)), len(stored.body) - 1)
        if first > last:
            raise Refused(416, "InvalidRange")
        headers = {**stored.headers, "Content-Range": f"bytes {first}-{last}/{len(stored.body)}"}
        return web.Response(status=206, body=stored.body[first : last + 1], headers=headers)

    def _put(self, request: web.Request, key: str, query: dict[str, str], body: bytes) -> web.Response:
        if "uploadId" in query:
            self._upload(key, query)[3][int(query["partNumber"])] = body
            return web.Response(headers={"ETag": f'"{hashlib.md5(body).hexdigest()}"'})
        source = request.headers.get("x-amz-copy-source")
        if source is not None:
            bucket, _, name = unquote(source)[1:].partition("/")
            assert bucket == BUCKET
            self.objects[key] = StoredObject(self._object(name).body)
            return web.Response(text="<CopyObjectResult/>")
        self.objects[key] = StoredObject(body, _kept(request))
        return web.Response()

    def _post(self, request: web.Request, key: str, query: dict[str, str], body: bytes) -> web.Response:
        if "uploads" in query:
            upload = f"upload/{len(self.uploads)}+"
            self.uploads[upload] = (key, datetime.now(UTC), _kept(request), {})
            return web.Response(text=f"<Result xmlns='http://s3/'><UploadId>{upload}</UploadId></Result>")
        _, _, headers, parts = self._upload(key, query)
        listed = re.findall(r"<PartNumber>(\d+)</PartNumber><ETag>\"(\w+)\"</ETag>", body.decode())
        if listed != [(str(number), hashlib.md5(part).hexdigest()) for number, part in sorted(parts.items())]:
            raise Refused(400, "InvalidPart")
        if any(len(parts[number]) < 5 * 1024 * 1024 for number in sorted(parts)[:-1]):
            raise Refused(400, "EntityTooSmall")
        self.objects[key] = StoredObject(b"".join(parts[number] for number in sorted(parts)), headers)
        del self.uploads[query["uploadId"]]
        return web.Response(text="<CompleteMultipartUploadResult/>")

    def _delete(self, request: web.Request, key: str, query: dict[str, str], body: bytes) -> web.Response:
        if "uploadId" in query:
            self._upload(key, query)
            del self.uploads[query["uploadId"]]
        else:
            self.objects.pop(key, None)
        return web.Response(status=204)

    def _list(self, query: dict[str, str]) -> web.Response:
        # Pages of two, so that a client has to go on.
        prefix = query["prefix"]
        if "uploads" in query:
            after = (query.get("key-marker", ""), query.get("upload-id-marker", ""))
            uploads = sorted((key, id_, at) for id_, (key, at, _, _) in self.uploads.items() if key.startswith(prefix))
            uploads = [upload for upload in uploads if upload[:2] > after]
            items = [
                f"<Upload><Key>{key}</Key><UploadId>{id_}</UploadId><Initiated>{_time(at)}</Initiated></Upload>"
                for key, id_, at in uploads[:2]
            ]
            if len(uploads) > 2:
                key, id_, _ = uploads[1]
                items.append(f"<NextKeyMarker>{key}</NextKeyMarker><NextUploadIdMarker>{id_}</NextUploadIdMarker>")
            return web.Response(text=f"<Result><KeyMarker/>{''.join(items)}</Result>")
        keys = sorted(
            key for key in self.objects if key.startswith(prefix) and key > query.get("continuation-token", "")
        )
        items = [
            f"<Contents><Key>{key}</Key><LastModified>{_time(self.objects[key].at)}</LastModified></Contents>"
            for key in keys[:2]
        ]
        more = f"<NextContinuationToken>{keys[1]}</NextContinuationToken>" if len(keys) > 2 else ""
        return web.Response(text=f"<Result>{''.join(items)}{more}</Result>")

    def _object(self, key: str) -> StoredObject:
        if key not in self.objects:
            raise Refused(404, "NoSuchKey")
        return self.objects[key]

    def _upload(self, key: str, query: dict[str, str]) -> tuple[str, datetime, dict[str, str], dict[int, bytes]]:
        upload = self.uploads.get(query["uploadId"])
        if upload is None or upload[0] != key:
            raise Refused(404, "NoSuchUpload")
        return upload


def _kept(request: web.Request) -> dict[str, str]:
    return {name: request.headers[name] for name in ("Content-Type", "Content-Disposition") if name in request.headers}


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
