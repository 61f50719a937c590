"""``/v2/{name}/manifests/{reference}``. Accept is not looked at: a manifest has one form, the one that was pushed."""

from __future__ import annotations

from django.conf import settings

from bencher.projects.models import Project
from outputs.registry.errors import SizeInvalid
from outputs.registry.http import Response
from outputs.registry.routes import Call
from outputs.registry.services import access, manifests
from outputs.registry.services.manifests import Served, Stored
from outputs.registry.threads import with_database, with_storage

MOST_TAGS = 100


def limit() -> int:
    """Bytes of a manifest: what an API body may have, and what a blob may have."""
    return min(settings.BENCHER_REQUEST_BODY_MAX_BYTES, settings.BENCHER_REGISTRY_MAX_BODY_BYTES)


async def head_manifest(call: Call) -> Response:
    served = await with_database(_serve, call, content=False)
    return Response(200, _headers(served))


async def get_manifest(call: Call) -> Response:
    served = await with_storage(_serve, call, content=True)
    return Response(200, _headers(served), served.content)


async def put_manifest(call: Call) -> Response:
    def enter() -> Project:
        return access.push(bearer=call.bearer, name=call.name, create=True, now=call.now).project

    project = await with_database(enter)
    if (call.request.content_length or 0) > limit():
        raise SizeInvalid(f"a manifest has {limit()} bytes at most")
    content = await call.body.read(limit())
    tags = call.request.parameters("tag")[:MOST_TAGS]
    stored: Stored = await with_storage(
        manifests.put_manifest,
        project=project,
        reference=call.rest,
        content=content,
        content_type=call.request.headers.get("content-type"),
        tags=tags,
        now=call.now,
    )
    headers = {"Location": f"/v2/{call.name}/manifests/{stored.digest}", "Docker-Content-Digest": stored.digest}
    if stored.subject:
        headers["OCI-Subject"] = stored.subject
    if tags:
        headers["OCI-Tag"] = ", ".join(dict.fromkeys(tags))
    return Response(201, headers)


async def delete_manifest(call: Call) -> Response:
    def delete() -> str:
        project = access.delete(bearer=call.bearer, name=call.name, now=call.now).project
        return manifests.delete_manifest(project=project, reference=call.rest)

    return Response(202, {"Docker-Content-Digest": await with_database(delete)})


def _serve(call: Call, *, content: bool) -> Served:
    project = access.pull(bearer=call.bearer, name=call.name, now=call.now).project
    return manifests.get_manifest(project=project, reference=call.rest, content=content, now=call.now)


def _headers(served: Served) -> dict[str, str]:
    return {
        "Content-Type": served.media_type,
        "Content-Length": str(served.size),
        "Docker-Content-Digest": served.digest,
        "ETag": f'"{served.digest}"',
    }
