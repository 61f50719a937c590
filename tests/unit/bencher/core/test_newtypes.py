"""rest.md section 7: texts, numbers and moments at their limits."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from bencher.core import newtypes
from bencher.core.newtypes import NameId, ResourceId, ResourceName, Slug, Timestamp, dec_hook, schema_hook

GOOD = {
    "ResourceName": ["x", "x" * 64, "ä" * 32, "日本語 ✓", "a\tb", "a  b"],
    "BenchmarkName": [" padded ", "x" * 1024, "\n"],
    "UserName": ["Mary-Jane O'Neil, Jr.", "9 Lives", "x"],
    "Slug": ["a", "a-b", "0", "x" * 64],
    "GitHash": ["0" * 40, "ABCDEF" + "0" * 34],
    "Email": ["a@b", "first.last+tag@sub.example.com"],
    "Url": ["https://example.com/", "ftp://x", "mailto:a@b.c"],
    "Jwt": ["a.b.c", "YQ.YQ.YQ", "_.-.0"],
    "ResourceId": ["a-slug", "00000000-0000-0000-0000-000000000000"],
    "NonEmpty": ["x"],
    "NameId": ["any Name"],
}
BAD = {
    "ResourceName": ["", " x", "x ", "\u2003x", "x" * 65, "ä" * 33, "a\x00b"],
    "BenchmarkName": ["", "x" * 1025, "é" * 513, "a\x00"],
    "UserName": ["semi;colon", "", "ü", " x", "x" * 65, "a\nb"],
    "Slug": ["", "A", "a--b", "-a", "a-", "a_b", "a b", "ä", "x" * 65],
    "GitHash": ["", "0" * 39, "0" * 41, "g" * 40, "0" * 40 + "\n"],
    "Email": ["", "a", "@b", "a@", "a b@c", "a@b c", "a@-b", "x" * 65 + "@b", "a@" + "b" * 254, "a@b\n"],
    "Url": ["", "not a url", "/relative", "http://", "https://a b", "https://" + "x" * 4100],
    "Jwt": ["", "a", "a.b", "a.b.c.d", "a..c", "a.b.c=", "a.b.ü"],
    "ResourceId": ["", "A B", "not_a_slug"],
    "NonEmpty": ["", " "],
    "NameId": ["", "x" * 1025],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in GOOD.items() for text in texts])
def test_good_texts(kind: str, text: str) -> None:
    value = msgspec.convert(text, getattr(newtypes, kind), dec_hook=dec_hook)
    assert type(value) is str
    assert value == text


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in BAD.items() for text in texts])
def test_bad_texts(kind: str, text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, getattr(newtypes, kind), dec_hook=dec_hook)


def test_addresses_are_lowered() -> None:
    assert newtypes.Email.parse("MiXed@Example.COM") == "mixed@example.com"


def test_uuids_are_lowered() -> None:
    assert ResourceId.parse("0000000A-0000-0000-0000-00000000000B") == "0000000a-0000-0000-0000-00000000000b"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T02:00:00.999+02:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01t00:00:00z", datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_moments(text: str, moment: datetime) -> None:
    value = msgspec.convert(text, Timestamp, dec_hook=dec_hook)
    assert value == moment
    assert value.utcoffset() is not None
    assert value.microsecond == 0


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "2026-01-01",
        "2026-13-01T00:00:00Z",
        "2026-01-01T00:00:00",
        "0001-01-01T00:00:00+10:00",
        "9999-12-31T23:59:59-01:00",
        "",
    ],
)
def test_no_moments(text: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="RFC 3339"):
        msgspec.convert(text, Timestamp, dec_hook=dec_hook)


class Sample(msgspec.Struct, kw_only=True):
    name: ResourceName
    slug: Slug | None = None
    many: list[NameId] = []
    cleared: Slug | msgspec.UnsetType | None = msgspec.UNSET


@pytest.mark.parametrize(
    ("text", "path", "limit"),
    [
        ('{"name": "' + "x" * 65 + '"}', "$.name", "1 to 64 bytes, got 65"),
        ('{"name": "x", "slug": "A"}', "$.slug", "expected a slug"),
        ('{"name": "x", "many": ["a", ""]}', "$.many[1]", "1 to 1024 bytes, got 0"),
        ('{"name": null}', "$.name", "Expected `str`, got `null`"),
        ('{"name": ["x"]}', "$.name", "got `array`"),
    ],
)
def test_errors_name_path_and_limit(text: str, path: str, limit: str) -> None:
    with pytest.raises(msgspec.ValidationError) as fault:
        msgspec.json.decode(text, type=Sample, dec_hook=dec_hook)
    assert str(fault.value).endswith(f"- at `{path}`")
    assert limit in str(fault.value)


def test_null_and_absent_differ_where_a_field_can_be_cleared() -> None:
    absent, null = (msgspec.json.decode(text, type=Sample, dec_hook=dec_hook) for text in ('{"name":"x"}', '{"name":"x","cleared":null}'))
    assert absent.cleared is msgspec.UNSET
    assert null.cleared is None


def test_schema() -> None:
    (_,), parts = msgspec.json.schema_components((Sample,), schema_hook=schema_hook)
    assert parts["Sample"]["properties"]["name"]["maxLength"] == 64
    assert parts["Sample"]["required"] == ["name"]


def test_unknown_types_are_no_business_of_the_hooks() -> None:
    with pytest.raises(NotImplementedError):
        dec_hook(complex, "1j")
    with pytest.raises(NotImplementedError):
        schema_hook(complex)
