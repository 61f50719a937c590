"""Digests."""

import hashlib

import pytest

from outputs.registry.digest import Digest, InvalidDigest, digest_of, digest_of_pieces, new_hash, parse_digest

A256, A512 = "a" * 64, "0" * 128


@pytest.mark.parametrize("text", [f"sha256:{A256}", f"sha512:{A512}"])
def test_reads_both_algorithms(text: str) -> None:
    assert str(parse_digest(text)) == text


def test_lowers_upper_case() -> None:
    assert parse_digest("sha256:" + "ABCDEF" * 10 + "ABCD") == Digest("sha256", "abcdef" * 10 + "abcd")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "latest",
        "sha256:",
        f"sha256:{A256[:-1]}",
        f"sha256:{A256}0",
        f"sha512:{A256}",
        f"SHA256:{A256}",
        f"md5:{'0' * 32}",
        f"sha256:{'g' * 64}",
        f" sha256:{A256}",
        f"sha256:{A256}\n",
        f"sha256:../{A256[3:]}",
        f"sha256:{'٣' * 64}",
    ],
)
def test_refuses(text: str) -> None:
    with pytest.raises(InvalidDigest):
        parse_digest(text)


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_names_content(algorithm: str) -> None:
    expected = Digest(algorithm, hashlib.new(algorithm, b"hello").hexdigest())
    assert digest_of(b"hello", algorithm) == digest_of_pieces([b"he", b"", b"llo"], algorithm) == expected
    running = new_hash(algorithm)
    running.update(b"he")
    other = running.copy()
    running.update(b"y")
    other.update(b"llo")
    assert other.hexdigest() == expected.hex
