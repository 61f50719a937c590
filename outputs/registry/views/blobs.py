"""``/v2/{name}/blobs/{digest}``."""

from __future__ import annotations

from functools import partial

from outputs.registry.digest import Digest, InvalidDigest, parse_digest
from outputs.registry.errors import DigestInvalid, RangeInvalid
from outputs.registry.http import OCTETS, Response
from outputs.registry.ranges import Span, Unsatisfiable, read_range
from outputs.registry.routes import Call
from outputs.registry.services import access, blobs
from outputs.registry.services.blobs import Found
from outputs.registry.threads import acquire, with_database


async def head_blob(call: Call) -> Response:
    found = await with_database(_find, call)
    return Response(200, {**_headers(found), "Content-Length": str(found.size)})


async def get_blob(call: Call) -> Response:
    """The whole of it, or one range."""
    found = await with_database(_find, call)
    span = _span(call, found)
    start, end = (span.first, span.last + 1) if span else (0, None)
    reader = await acquire(partial(blobs.read_blob, found=found, start=start, end=end), lambda reader: reader.close())
    headers = {**_headers(found), "Content-Length": str(span.length if span else found.size)}
    if span:
        headers["Content-Range"] = f"bytes {span.first}-{span.last}/{found.size}"
    return Response(206 if span else 200, headers, reader=reader)


async def delete_blob(call: Call) -> Response:
    def delete() -> None:
        project = access.delete(bearer=call.bearer, name=call.name, now=call.now).project
        blobs.delete_blob(project=project, digest=as_digest(call.rest))

    await with_database(delete)
    return Response(202)


def _find(call: Call) -> Found:
    project = access.pull(bearer=call.bearer, name=call.name, now=call.now).project
    return blobs.find_blob(project=project, digest=as_digest(call.rest), now=call.now)


def as_digest(text: str) -> Digest:
    """Raises `DigestInvalid`."""
    try:
        return parse_digest(text)
    except InvalidDigest as problem:
        raise DigestInvalid(str(problem)) from None


def _span(call: Call, found: Found) -> Span | None:
    try:
        return read_range(call.request.headers.get("range"), found.size)
    except Unsatisfiable:
        raise RangeInvalid(headers={"Content-Range": f"bytes */{found.size}"}) from None


def _headers(found: Found) -> dict[str, str]:
    """Content named by its digest never changes."""
    return {
        "Content-Type": OCTETS,
        "Docker-Content-Digest": found.digest,
        "Accept-Ranges": "bytes",
        "ETag": f'"{found.digest}"',
        "Cache-Control": "private, max-age=31536000, immutable",
    }
