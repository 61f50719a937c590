"""Identifiers of rest.md 0.6 and keys of 1.1."""

from __future__ import annotations

import re
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from bencher.core.ids import as_uuid, base36, is_key, is_slug, key_hash, new_key, slugify, suffixed, uuid7, uuid7s


def test_uuid7_grows() -> None:
    made = [uuid7() for _ in range(1000)]
    assert made == sorted(made)
    assert {one.version for one in made} == {7}
    assert {one.variant for one in made} == {uuid.RFC_4122}


def test_many_uuid7_at_once() -> None:
    before, made, after = uuid7(), uuid7s(1000), uuid7()
    assert uuid7s(0) == []
    assert [before, *made, after] == sorted({before, *made, after})
    assert {(one.version, one.variant, one.is_safe) for one in made} == {(before.version, before.variant, before.is_safe)}
    assert [uuid.UUID(str(one)) for one in made] == made
    assert hash(made[0]) == hash(uuid.UUID(made[0].hex))


def test_uuid7_of_many_threads_are_different() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: uuid7(), range(2000)))
    assert len(set(made)) == len(made)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Hello World", "hello-world"),
        ("a__b..c", "a-b-c"),
        ("Übergrößenträger", "ubergrossentrager"),
        ("--edges--", "edges"),
        ("日本", "ri-ben"),
        ("x" * 80, "x" * 64),
        ("x" * 63 + " y", "x" * 63),
        ("C++/Rust (fast)", "c-rust-fast"),
        ("::", ""),
        ("🚀", ""),
    ],
)
def test_slugs(name: str, slug: str) -> None:
    assert slugify(name) == slug
    assert slug == "" or is_slug(slug)


@pytest.mark.parametrize("slug", ["same", "y" * 64, "a-" * 27 + "a-bcdefgh", ""])
def test_suffixes(slug: str) -> None:
    made = suffixed(slug)
    assert is_slug(made)
    assert len(made) <= 64
    assert re.fullmatch(r"(.*-)?[a-z0-9]{8}", made)
    assert made.startswith(slug[:54].rstrip("-"))


@pytest.mark.parametrize(
    "text", ["{00000000-0000-0000-0000-000000000000}", "0" * 32, "urn:uuid:3d5437f0-2f72-437c-887c-e7deacd5d302", "", "0" * 36, "g" * 36]
)
def test_no_uuids(text: str) -> None:
    assert as_uuid(text) is None


def test_keys() -> None:
    key = new_key("bencher_user_")
    assert len(key) == 43
    assert is_key(key, "bencher_user_")
    assert not is_key(key + "A", "bencher_user_")
    assert not is_key(key[:-1] + "-", "bencher_user_")
    assert not is_key(key[:-1] + "é", "bencher_user_")
    assert not is_key(key, "bencher_run_")
    assert re.fullmatch(r"[0-9a-f]{64}", key_hash(key))
    assert new_key("bencher_user_") != key


@pytest.mark.parametrize(("number", "text"), [(0, "0"), (35, "z"), (36, "10"), (1_767_225_600, "t86400")])
def test_base36(number: int, text: str) -> None:
    assert base36(number) == text if number != 1_767_225_600 else int(base36(number), 36) == number
