"""Scopes of token requests (rows sc-* of the conformance list)."""

import pytest

from outputs.registry.scopes import InvalidScope, Scope, read_scopes


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], Scope()),
        (["repository:myrepo:pull"], Scope("myrepo", ("pull",))),
        (["repository:org/project:pull,push"], Scope("org/project", ("pull", "push"))),
        (["repository:c:pull", "repository:c:pull,push"], Scope("c", ("pull", "push"))),
        (["repository:r:push", "repository:r:pull"], Scope("r", ("push", "pull"))),
        (["repository:a:pull", "repository:b:pull,push"], Scope("a", ("pull",))),
        (["repository:a:*"], Scope("a", ("pull", "push"))),
        (["repository:a:delete"], Scope("a", ("pull", "push"))),
        (["repository:a:catalog"], Scope("a", ())),
        (["repository:a: pull , push "], Scope("a", ("pull", "push"))),
    ],
)
def test_read(texts: list[str], expected: Scope) -> None:
    assert read_scopes(texts) == expected


@pytest.mark.parametrize(
    "texts",
    [["image:a:pull"], ["repository:a"], ["repository:a:pull", "image:b:pull"], ["repository:h:5000/a:pull"], ["repository::pull"], [""]],
)
def test_refused(texts: list[str]) -> None:
    with pytest.raises(InvalidScope):
        read_scopes(texts)
