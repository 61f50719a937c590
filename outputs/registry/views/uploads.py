"""``/v2/{name}/blobs/uploads/…``: blobs on their way in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from outputs.models import Upload
from outputs.registry.digest import Digest
from outputs.registry.errors import BlobUploadInvalid, DigestInvalid, RegistryError
from outputs.registry.housekeeping import sweeper
from outputs.registry.http import Response
from outputs.registry.ranges import InvalidChunk, Span, chunk_range
from outputs.registry.routes import Call
from outputs.registry.services import access, blobs, uploads
from outputs.registry.services.access import Access
from outputs.registry.services.uploads import Writer, session_headers
from outputs.registry.threads import acquire, with_database, with_storage
from outputs.registry.views.blobs import as_digest


async def start(call: Call) -> Response:
    """Open a session; or with ``digest`` take the whole blob at once; or with ``mount`` and ``from`` take it from another repository."""
    if (text := call.request.parameter("digest")) is not None and call.request.parameter("from") is None:
        return await _take_whole(call, text)
    upload = await with_storage(_mount_or_start, call)
    if upload is None:
        return _created(call, as_digest(call.request.parameter("mount") or ""))
    sweeper.poke(call.now)
    return Response(202, {"Location": _place(call, upload), **session_headers(upload)})


async def put_whole(call: Call) -> Response:
    """PUT on the uploads path: the whole blob in one request."""
    return await _take_whole(call, call.request.parameter("digest") or "")


async def status(call: Call) -> Response:
    upload = await with_database(_find, call)
    return Response(204, {"Location": _place(call, upload), **session_headers(upload)})


async def append(call: Call) -> Response:
    """PATCH: the next chunk."""
    writer = await _open(call, partial(_open_session, call))
    size = await _receive(call, writer, lambda: writer.keep(call.clock()))
    return Response(202, {"Location": _place(call, writer.upload), **session_headers(writer.upload, size)})


async def finish(call: Call) -> Response:
    """PUT: the last chunk, if any, and the name of the whole."""
    writer = await _open(call, partial(_open_session, call))
    digest = await _checked_digest(call, writer)
    await _receive(call, writer, lambda: writer.close(digest, call.clock()))
    return _created(call, digest)


async def cancel(call: Call) -> Response:
    def end() -> None:
        project = _enter(call, create=False).project
        uploads.cancel_upload(project=project, text=call.rest, now=call.now)

    await with_storage(end)
    return Response(204)


# -- steps ---------------------------------------------------------------------------------------------------------
def _enter(call: Call, *, create: bool) -> Access:
    return access.push(bearer=call.bearer, name=call.name, create=create, now=call.now)


def _find(call: Call) -> Upload:
    project = access.status(bearer=call.bearer, name=call.name, now=call.now).project
    return uploads.find_upload(project=project, text=call.rest, now=call.now)


def _mount_or_start(call: Call) -> Upload | None:
    """None: mounted. Whatever stands in the way of a mount, existence of the source included, ends in an ordinary session."""
    entered = _enter(call, create=True)
    mount, source = call.request.parameter("mount"), call.request.parameter("from")
    if mount and source:
        origin = access.mount_source(access=entered, name=source)
        try:
            if origin and blobs.mount_blob(source=origin, target=entered.project, digest=as_digest(mount), now=call.now):
                return None
        except DigestInvalid:
            pass
    return uploads.start_upload(project=entered.project, now=call.now)


def _open_session(call: Call) -> Writer:
    project = _enter(call, create=False).project
    # An unknown session is 404 whatever else is wrong with the request.
    upload = uploads.find_upload(project=project, text=call.rest, now=call.now)
    return uploads.take(upload=upload, span=_span(call, upload), length=call.request.content_length, now=call.now)


def _span(call: Call, upload: Upload) -> Span | None:
    try:
        return chunk_range(call.request.headers.get("content-range"))
    except InvalidChunk as problem:
        raise BlobUploadInvalid(str(problem), headers=session_headers(upload)) from None


async def _take_whole(call: Call, text: str) -> Response:
    """A session that nobody else knows; it does not outlive the request."""

    def begin() -> Writer:
        project = _enter(call, create=True).project
        return uploads.begin_whole(project=project, digest=as_digest(text), length=call.request.content_length, now=call.now)

    writer = await _open(call, begin)
    digest = as_digest(text)
    try:
        await _receive(call, writer, lambda: writer.close(digest, call.clock()))
    except BaseException:
        await with_storage(uploads.drop, writer=writer)
        raise
    return _created(call, digest)


async def _open(call: Call, begin: Callable[[], Writer]) -> Writer:
    try:
        return await acquire(begin, lambda writer: writer.discard())
    except BlobUploadInvalid as problem:
        problem.headers["Location"] = _path(call, call.rest)
        raise


async def _receive(call: Call, writer: Writer, end: Callable[[], object]) -> int:
    """Write the body as it arrives, then ``end``; the size of all. What goes wrong leaves the session as it was."""
    try:
        async for piece in call.body.pieces():
            await with_storage(writer.write, piece, call.clock())
        await with_storage(end)
    except BlobUploadInvalid as problem:
        problem.headers["Location"] = _path(call, str(writer.upload.pk))
        await with_storage(writer.discard)
        raise
    except BaseException:
        await with_storage(writer.discard)
        raise
    return writer.size


async def _checked_digest(call: Call, writer: Writer) -> Digest:
    try:
        return as_digest(call.request.parameter("digest") or "")
    except RegistryError:
        await with_storage(writer.discard)
        raise


# -- answers -------------------------------------------------------------------------------------------------------
def _created(call: Call, digest: Digest) -> Response:
    return Response(201, {"Location": f"/v2/{call.name}/blobs/{digest}", "Docker-Content-Digest": str(digest)})


def _place(call: Call, upload: Upload) -> str:
    return _path(call, str(upload.pk))


def _path(call: Call, upload: str) -> str:
    return f"/v2/{call.name}/blobs/uploads/{upload}"
