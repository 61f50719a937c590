"""The front door, the tag list and the list of referrers."""

from __future__ import annotations

from urllib.parse import urlencode

from outputs.registry.errors import PageInvalid, TagInvalid
from outputs.registry.http import Response, json_response
from outputs.registry.manifests import OCI_INDEX, is_tag, referrers_index
from outputs.registry.routes import Call
from outputs.registry.selectors import list_referrers, list_tags
from outputs.registry.services import access
from outputs.registry.threads import with_database
from outputs.registry.views.blobs import as_digest

PAGE, MOST = 100, 10_000


async def front(call: Call) -> Response:
    await with_database(access.enter, bearer=call.bearer, now=call.now)
    return json_response(200, {}, {"Docker-Distribution-API-Version": "registry/2.0"})


async def tags(call: Call) -> Response:
    def fetch() -> tuple[list[str], bool]:
        project = access.pull(bearer=call.bearer, name=call.name, now=call.now).project
        return list_tags(project=project, after=last, limit=limit)

    limit, last = _page_size(call), call.request.parameter("last") or ""
    if last and not is_tag(last):
        await with_database(access.pull, bearer=call.bearer, name=call.name, now=call.now)
        raise TagInvalid
    names, more = await with_database(fetch)
    headers = {}
    if more:
        query = urlencode({"n": limit, "last": names[-1]})
        headers = {"Link": f'</v2/{call.name}/tags/list?{query}>; rel="next"', "Access-Control-Expose-Headers": "Link"}
    return json_response(200, {"name": call.name, "tags": names}, headers)


async def referrers(call: Call) -> Response:
    def fetch() -> bytes:
        project = access.pull(bearer=call.bearer, name=call.name, now=call.now).project
        return referrers_index(list_referrers(project=project, subject=as_digest(call.rest), artifact_type=artifact_type))

    artifact_type = call.request.parameter("artifactType")
    body = await with_database(fetch)
    filtered = {"OCI-Filters-Applied": "artifactType"} if artifact_type is not None else {}
    return Response(200, {"Content-Type": OCI_INDEX, **filtered}, body)


def _page_size(call: Call) -> int:
    """``n``, clamped from above. Raises `PageInvalid`."""
    text = call.request.parameter("n")
    if text is None:
        return PAGE
    if not (text.isascii() and text.isdigit()):
        raise PageInvalid
    return MOST if len(text) > 5 else min(int(text), MOST)
