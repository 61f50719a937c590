"""The way of an image from a source into the cache, and what is refused on it."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runners.agent.control import Control
from runners.agent.errors import BadLayer, Canceled, ImageError
from runners.agent.images.layout import Layout
from runners.agent.images.store import Image, ImageStore, Limits
from tests.unit.runners.agent.kit import Blobs, file, folder, on, sha256, symlink, tagged, tar

LAYER = tar(folder("d"), file("d/f", "text"))


@pytest.fixture
def blobs() -> Blobs:
    return Blobs()


@pytest.fixture
def control() -> Iterator[Control]:
    control = Control()
    yield control
    control.close()


class Source:
    """Blobs as a source, and a log of what was asked."""

    def __init__(self, blobs: Blobs) -> None:
        self.blobs = blobs
        self.asked: list[str] = []

    def manifest(self, target: str) -> tuple[bytes, str]:
        self.asked.append(target)
        return self.blobs.content[target], self.blobs.types[target]

    def small_blob(self, digest: str) -> bytes:
        return self.manifest(digest)[0]

    def blob(self, digest: str) -> Iterator[bytes]:
        content = self.manifest(digest)[0]
        yield from (content[at : at + 1000] for at in range(0, len(content), 1000))


def obtain(store: ImageStore, source: Any, digest: str, control: Control) -> Image:
    return store.obtain(source, digest, control, lambda _: None, time.monotonic)


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "cache", Limits(reserve_bytes=0))


@pytest.mark.parametrize("compress", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize("docker", [False, True])
def test_every_kind_of_layer(store: ImageStore, blobs: Blobs, control: Control, compress: str, docker: bool) -> None:
    image = blobs.image(
        LAYER, tar(file("d/.wh.f"), file("d/g", "2")), compress=compress, docker=docker, config={"Entrypoint": None, "User": "1"}
    )
    found = obtain(store, Source(blobs), image["digest"], control)
    assert [path.name for path in (found.root / "d").iterdir()] == ["g"]
    assert found.config.user == "1"
    assert found.config.entrypoint is None


def test_a_second_time_nobody_is_asked(store: ImageStore, blobs: Blobs, control: Control) -> None:
    source = Source(blobs)
    digest = blobs.image(LAYER)["digest"]
    assert not obtain(store, source, digest, control).cached
    source.asked.clear()
    assert obtain(store, source, digest, control).cached
    assert source.asked == []


def test_an_index_leads_to_this_machine_and_is_remembered(store: ImageStore, blobs: Blobs, control: Control) -> None:
    own = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    other, mine = blobs.image(tar(file("other"))), blobs.image(tar(file("mine")))
    nested = blobs.index([on(other, "s390x"), on(mine, own)], docker=True)
    index = blobs.index([nested])
    source = Source(blobs)
    assert (obtain(store, source, index["digest"], control).root / "mine").exists()
    source.asked.clear()
    assert obtain(store, source, index["digest"], control).cached
    assert source.asked == []


def test_shared_layers_are_fetched_once(store: ImageStore, blobs: Blobs, control: Control) -> None:
    source = Source(blobs)
    for number in range(2):
        obtain(store, source, blobs.image(LAYER, tar(file(f"f{number}")))["digest"], control)
    assert (
        source.asked.count(
            next(digest for digest in source.asked if source.asked.count(digest) == 1 and blobs.types[digest].endswith("+gzip"))
        )
        == 1
    )


class TestCorrupt:
    @pytest.mark.parametrize("which", ["manifest", "config", "layer"])
    def test_a_wrong_digest_is_found(self, store: ImageStore, blobs: Blobs, control: Control, which: str) -> None:
        digest = blobs.image(LAYER)["digest"]
        manifest = json.loads(blobs.content[digest])
        victim = {"manifest": digest, "config": manifest["config"]["digest"], "layer": manifest["layers"][0]["digest"]}[which]
        content = blobs.content[victim]
        blobs.content[victim] = content[:-1] + bytes([content[-1] ^ 1])
        with pytest.raises(ImageError, match="corrupt"):
            obtain(store, Source(blobs), digest, control)
        assert store.cached(digest) is None

    @pytest.mark.parametrize(("change", "message"), [(b"more", "longer than"), (None, "has [0-9]+ bytes; the manifest states")])
    def test_a_wrong_size_is_found(self, store: ImageStore, blobs: Blobs, control: Control, change: bytes | None, message: str) -> None:
        digest = blobs.image(LAYER)["digest"]
        layer = json.loads(blobs.content[digest])["layers"][0]["digest"]
        blobs.content[layer] = blobs.content[layer] + change if change else blobs.content[layer][:-5]
        with pytest.raises(ImageError, match=message):
            obtain(store, Source(blobs), digest, control)
        assert not [path for path in (store._folder / "blobs").rglob("*") if path.is_file() and layer[7:] in path.name]

    def test_a_wrong_diff_id_is_found(self, store: ImageStore, blobs: Blobs, control: Control) -> None:
        image = blobs.image(LAYER, rootfs={"type": "layers", "diff_ids": [sha256(b"something else")]})
        with pytest.raises(ImageError, match="diff id"):
            obtain(store, Source(blobs), image["digest"], control)

    def test_layers_and_diff_ids_must_match(self, store: ImageStore, blobs: Blobs, control: Control) -> None:
        image = blobs.image(LAYER, rootfs={"type": "layers", "diff_ids": [sha256(LAYER), sha256(LAYER)]})
        with pytest.raises(ImageError, match="lists 2 layers"):
            obtain(store, Source(blobs), image["digest"], control)

    @pytest.mark.parametrize("compress", ["gzip", "zstd"])
    def test_data_that_cannot_be_decompressed(self, store: ImageStore, blobs: Blobs, control: Control, compress: str) -> None:
        manifest = json.loads(blobs.content[blobs.image(LAYER, compress=compress)["digest"]])
        manifest["layers"][0] |= blobs.add(b"neither gzip nor zstd", manifest["layers"][0]["mediaType"])
        image = blobs.add(json.dumps(manifest).encode(), manifest["mediaType"])
        with pytest.raises(BadLayer, match="decompressed"):
            obtain(store, Source(blobs), image["digest"], control)

    def test_a_decompression_bomb_stops_early(self, tmp_path: Path, blobs: Blobs, control: Control) -> None:
        store = ImageStore(tmp_path / "cache", Limits(image_bytes=1 << 20, reserve_bytes=0))
        image = blobs.image(tar(file("zeros", b"\0" * (64 << 20))))
        with pytest.raises(BadLayer, match="--max-image-size"):
            obtain(store, Source(blobs), image["digest"], control)
        assert not list((tmp_path / "cache").glob("unpack-*"))

    def test_indexes_without_end(self, store: ImageStore, blobs: Blobs, control: Control) -> None:
        image = blobs.image(LAYER)
        for _ in range(5):
            image = blobs.index([image])
        with pytest.raises(ImageError, match="nested deeper"):
            obtain(store, Source(blobs), image["digest"], control)


def test_a_hostile_layer_leaves_nothing(store: ImageStore, blobs: Blobs, control: Control, tmp_path: Path) -> None:
    image = blobs.image(tar(symlink("l", "../../../../etc/passwd")))
    with pytest.raises(BadLayer):
        obtain(store, Source(blobs), image["digest"], control)
    assert not list((tmp_path / "cache/images").iterdir())
    assert not list((tmp_path / "cache").glob("unpack-*"))


def test_a_stop_ends_the_unpacking(store: ImageStore, blobs: Blobs, control: Control) -> None:
    control.stop(Canceled("x"))
    with pytest.raises(Canceled):
        obtain(store, Source(blobs), blobs.image(LAYER)["digest"], control)


class TestEviction:
    def test_the_least_recently_used_goes_first_but_never_the_one_in_use(self, tmp_path: Path, blobs: Blobs, control: Control) -> None:
        store = ImageStore(tmp_path / "cache", Limits(cache_bytes=250_000, reserve_bytes=0))
        source = Source(blobs)
        digests = [blobs.image(tar(file("f", os.urandom(100_000))))["digest"] for _ in range(3)]
        for age, digest in enumerate(digests):
            found = obtain(store, source, digest, control)
            os.utime(found.root.parent, (age, age))
            for blob in (tmp_path / "cache/blobs").glob("*/*"):
                os.utime(blob, (0, 0))
        assert store.cached(digests[0]) is None
        assert store.cached(digests[2]) is not None

    def test_a_cache_of_nothing_still_serves(self, tmp_path: Path, blobs: Blobs, control: Control) -> None:
        store = ImageStore(tmp_path / "cache", Limits(cache_bytes=0, reserve_bytes=0))
        assert (obtain(store, Source(blobs), blobs.image(LAYER)["digest"], control).root / "d/f").read_text() == "text"

    def test_what_a_killed_runner_left_is_cleaned(self, store: ImageStore, tmp_path: Path) -> None:
        left = [tmp_path / "cache/unpack-abc/root", tmp_path / "cache/blobs/sha256"]
        for path in left:
            path.mkdir(parents=True)
        (left[1] / ".half").write_text("x")
        store.clean()
        assert not left[0].exists()
        assert not list(left[1].iterdir())


def test_no_room_is_said_before_the_download(tmp_path: Path, blobs: Blobs, control: Control) -> None:
    store = ImageStore(tmp_path / "cache", Limits(reserve_bytes=1 << 60))
    source = Source(blobs)
    with pytest.raises(ImageError, match="room for 0"):
        obtain(store, source, blobs.image(LAYER)["digest"], control)
    assert not any(blobs.types[digest].endswith("gzip") for digest in source.asked)


class TestLayouts:
    def find(self, text: str, control: Control) -> Layout:
        layout = Layout.find(text, control)
        assert layout is not None
        return layout

    def test_a_folder_with_and_without_a_tag(self, tmp_path: Path, blobs: Blobs, control: Control) -> None:
        one, two = blobs.image(tar(file("one"))), blobs.image(tar(file("two")))
        path = blobs.layout(tmp_path / "layout", tagged(one, "v1"), tagged(two, "v2"))
        assert self.find(str(path), control).entry().digest == one["digest"]
        assert self.find(f"{path}:v2", control).entry().digest == two["digest"]
        with pytest.raises(ImageError, match=r"no image tagged 'v3' \(tags: v1, v2\)"):
            self.find(f"{path}:v3", control).entry()

    def test_a_nested_index_is_followed(self, tmp_path: Path, blobs: Blobs, control: Control, store: ImageStore) -> None:
        index = blobs.index([blobs.image(LAYER)])
        layout = self.find(str(blobs.layout(tmp_path / "layout", index)), control)
        assert (obtain(store, layout, layout.entry().digest, control).root / "d/f").read_text() == "text"

    def test_blobs_are_verified(self, tmp_path: Path, blobs: Blobs, control: Control, store: ImageStore) -> None:
        layout = self.find(str(blobs.layout(tmp_path / "layout", blobs.image(LAYER))), control)
        for path in (tmp_path / "layout/blobs/sha256").iterdir():
            path.write_bytes(path.read_bytes()[::-1])
        with pytest.raises(ImageError, match="corrupt"):
            obtain(store, layout, layout.entry().digest, control)

    def test_what_is_no_layout(self, tmp_path: Path, control: Control) -> None:
        assert Layout.find("alpine:3", control) is None
        (tmp_path / "archive.tar").write_bytes(b"x")
        with pytest.raises(ImageError, match="not an OCI layout folder"):
            self.find(str(tmp_path / "archive.tar"), control).entry()
        (tmp_path / "old").mkdir()
        with pytest.raises(ImageError, match="oci-layout"):
            self.find(str(tmp_path / "old"), control).entry()
        (tmp_path / "old/oci-layout").write_text('{"imageLayoutVersion":"0.9"}')
        with pytest.raises(ImageError, match=r"only 1\.0\.0"):
            self.find(str(tmp_path / "old"), control).entry()
