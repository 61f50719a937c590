"""Layers, good and hostile: nothing is written, linked or removed outside the root."""

import io
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.agent.errors import BadLayer
from runners.agent.images.unpack import MAX_DEPTH, Budget, LayerWriter
from runners.agent.rooted import Rooted
from tests.unit.runners.agent.kit import Entry, entry, file, folder, hardlink, symlink, tar


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "outside").write_text("untouched")
    path = tmp_path / "root"
    path.mkdir()
    yield path
    assert (tmp_path / "outside").read_text() == "untouched"
    assert {entry.name for entry in tmp_path.iterdir()} == {"outside", "root"}


def unpack(root: Path, *layers: bytes, size: int = 1 << 20, entries: int = 100) -> Budget:
    budget = Budget(size, entries)
    with Rooted.at(root) as opened:
        for layer in layers:
            LayerWriter(opened, budget, lambda: None).apply(io.BytesIO(layer))
    return budget


def tree(root: Path) -> dict[str, str]:
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        else:
            found[name] = "/" if path.is_dir() else path.read_text()
    return found


class TestContent:
    def test_files_folders_and_links(self, root: Path) -> None:
        unpack(root, tar(folder("a"), file("a/b", "text"), symlink("l", "a/b"), symlink("abs", "/a/b"), hardlink("h", "a/b")))
        assert tree(root) == {"a": "/", "a/b": "text", "abs": "-> /a/b", "h": "text", "l": "-> a/b"}
        assert (root / "h").stat().st_ino == (root / "a/b").stat().st_ino

    def test_the_root_itself_and_leading_dots_and_slashes(self, root: Path) -> None:
        unpack(root, tar(folder("./", mode=0o711), file("./x", "1"), file("/y", "2"), file("//z//w", "3")))
        assert tree(root) == {"x": "1", "y": "2", "z": "/", "z/w": "3"}
        assert stat.S_IMODE(root.stat().st_mode) == 0o711

    def test_missing_parents_are_made(self, root: Path) -> None:
        unpack(root, tar(file("a/b/c", "x")))
        assert tree(root)["a/b/c"] == "x"

    def test_modes_times_and_no_set_user_id(self, root: Path) -> None:
        unpack(root, tar(folder("d", mode=0o555), file("d/f", "x", mode=0o4755), folder("t", mode=0o1777)))
        assert stat.S_IMODE((root / "d/f").stat().st_mode) == 0o755
        assert stat.S_IMODE((root / "d").stat().st_mode) == 0o755  # the runner must be able to remove what it unpacked
        assert stat.S_IMODE((root / "t").stat().st_mode) == 0o1777
        assert (root / "d/f").stat().st_mtime == (root / "d").stat().st_mtime == 1_700_000_000

    def test_a_fifo_is_made_and_blocks_nobody(self, root: Path) -> None:
        unpack(root, tar(entry("p", tarfile.FIFOTYPE)))
        assert stat.S_ISFIFO((root / "p").stat().st_mode)

    def test_user_attributes_are_kept_but_not_the_overlays_own(self, root: Path) -> None:
        headers = {"SCHILY.xattr.user.note": "v", "SCHILY.xattr.user.overlay.opaque": "y", "SCHILY.xattr.security.capability": "c"}
        unpack(root, tar(file("f", "x", pax_headers=headers)))
        try:
            os.setxattr(root, "user.probe", b"1")
        except OSError:
            pytest.skip("no extended attributes here")
        assert os.listxattr(root / "f") == ["user.note"]

    def test_holes_stay_holes(self, root: Path) -> None:
        unpack(root, tar(file("sparse", b"\0" * (4 << 20) + b"end")), size=8 << 20)
        status = (root / "sparse").stat()
        assert status.st_size == (4 << 20) + 3
        assert status.st_blocks * 512 < 1 << 20
        assert (root / "sparse").read_bytes().endswith(b"\0end")

    def test_later_layers_win(self, root: Path) -> None:
        first = tar(file("f", "old"), folder("d"), file("d/x", "1"), symlink("l", "d"))
        unpack(root, first, tar(file("f", "new"), file("d", "now a file"), folder("l"), file("l/y", "2")))
        assert tree(root) == {"d": "now a file", "f": "new", "l": "/", "l/y": "2"}

    def test_a_file_through_a_link_of_a_lower_layer_lands_inside(self, root: Path) -> None:
        unpack(
            root,
            tar(folder("usr"), folder("usr/lib"), symlink("lib", "usr/lib"), symlink("abs", "/usr/lib")),
            tar(file("lib/a", "1"), file("abs/b", "2")),
        )
        assert tree(root)["usr/lib/a"] == "1"
        assert tree(root)["usr/lib/b"] == "2"

    def test_a_replaced_folder_is_not_remembered(self, root: Path) -> None:
        unpack(root, tar(folder("d"), file("d/one", "1"), file("d", "gone"), folder("d"), file("d/two", "2")))
        assert tree(root) == {"d": "/", "d/two": "2"}


class TestWhiteouts:
    LOWER = tar(folder("d"), file("d/a", "1"), file("d/b", "2"), folder("d/sub"), file("d/sub/c", "3"), symlink("dangling", "nowhere"))

    @pytest.mark.parametrize(
        ("upper", "gone"),
        [
            ([file("d/.wh.a")], {"d/a"}),
            ([file("d/.wh.sub")], {"d/sub", "d/sub/c"}),
            ([file(".wh.d")], {"d", "d/a", "d/b", "d/sub", "d/sub/c"}),
            ([file("d/.wh.absent")], set()),
            ([file("absent/.wh.x")], set()),
            ([file(".wh.dangling")], {"dangling"}),
            ([file("d/.wh..wh..opq")], {"d/a", "d/b", "d/sub", "d/sub/c"}),
        ],
    )
    def test_what_they_remove(self, root: Path, upper: list[Entry], gone: set[str]) -> None:
        unpack(root, self.LOWER)
        before = set(tree(root))
        unpack(root, tar(*upper))
        assert set(tree(root)) == before - gone

    @pytest.mark.parametrize("marker_last", [True, False])
    def test_an_opaque_marker_hides_lower_layers_only(self, root: Path, marker_last: bool) -> None:
        own = [file("d/new", "4"), file("d/sub/mine", "5")]
        marker = [file("d/.wh..wh..opq")]
        unpack(root, self.LOWER, tar(folder("d"), *(own + marker if marker_last else marker + own)))
        assert {name: text for name, text in tree(root).items() if name.startswith("d")} == {
            "d": "/", "d/new": "4", "d/sub": "/", "d/sub/mine": "5", "dangling": "-> nowhere",
        }  # fmt: skip

    @pytest.mark.parametrize("marker_last", [True, False])
    def test_a_whiteout_of_what_the_layer_itself_brings(self, root: Path, marker_last: bool) -> None:
        own, marker = [folder("d"), file("d/new", "4")], [file(".wh.d")]
        unpack(root, self.LOWER, tar(*(own + marker if marker_last else marker + own)))
        assert tree(root) == {"d": "/", "d/new": "4", "dangling": "-> nowhere"}

    def test_a_whiteout_does_not_follow_links_out(self, root: Path) -> None:
        unpack(root, tar(symlink("out", "/")), tar(file("out/.wh.outside"), file("out/.wh..wh..opq")))

    @pytest.mark.parametrize("name", [".wh.", ".wh..", ".wh..."])
    def test_a_whiteout_of_nothing_is_refused(self, root: Path, name: str) -> None:
        with pytest.raises(BadLayer, match="names no file"):
            unpack(root, tar(file(name)))


class TestHostile:
    @pytest.mark.parametrize(
        ("entries", "message"),
        [
            ([file("../outside", "x")], "leads out"),
            ([file("a/../../outside", "x")], "leads out"),
            ([folder("..")], "leads out"),
            ([file("/../outside", "x")], "leads out"),
            ([symlink("l", "../outside")], "leads out"),
            ([symlink("a/l", "b/../../../outside")], "leads out"),
            ([hardlink("h", "../outside")], "leads out"),
            ([hardlink("h", "/absent")], "which is not there|which is no file"),
            ([folder("d"), hardlink("h", "d")], "which is no file"),
            ([hardlink("h", ".")], "points at the root"),
            ([entry("null", tarfile.CHRTYPE, devmajor=1, devminor=3)], "device node"),
            ([entry("sda", tarfile.BLKTYPE, devmajor=8, devminor=0)], "device node"),
            ([file("/".join("d" * (MAX_DEPTH + 1)), "x")], "nested deeper"),
            ([symlink("a", "b"), symlink("b", "a"), file("a/x", "1")], "symbolic links"),
            ([file("f", "x"), file("f/g", "y")], "cannot unpack"),
            ([file("n" * 256, "x")], "cannot unpack"),
            ([entry("odd", b"Z")], "unknown type"),
        ],
    )
    def test_refused(self, root: Path, entries: list[Entry], message: str) -> None:
        with pytest.raises(BadLayer, match=message):
            unpack(root, tar(*entries))

    @pytest.mark.parametrize("target", ["/outside", "/../outside", "/../../../../etc"])
    def test_an_absolute_link_is_kept_and_never_followed_out(self, root: Path, target: str) -> None:
        unpack(root, tar(symlink("l", target)), tar(file("l", "x")))
        assert tree(root) == {"l": "x"}

    def test_a_file_through_a_link_to_the_root_of_the_host(self, root: Path, tmp_path: Path) -> None:
        unpack(root, tar(symlink("l", str(tmp_path)), file("l/outside", "x")))
        assert (root / str(tmp_path).lstrip("/") / "outside").read_text() == "x"

    def test_a_hard_link_through_a_link_does_not_lead_out(self, root: Path, tmp_path: Path) -> None:
        with pytest.raises(BadLayer, match="not there"):
            unpack(root, tar(symlink("l", str(tmp_path)), hardlink("h", "l/outside")))

    def test_too_many_files(self, root: Path) -> None:
        with pytest.raises(BadLayer, match="--max-image-entries"):
            unpack(root, tar(*(file(f"f{n}") for n in range(101))))

    def test_too_many_bytes_over_all_layers(self, root: Path) -> None:
        layer = tar(file("f", b"x" * 600_000))
        with pytest.raises(BadLayer, match="--max-image-size"):
            unpack(root, layer, layer)

    def test_a_sparse_bomb_is_counted_by_its_apparent_size(self, root: Path) -> None:
        info = tarfile.TarInfo("bomb")
        info.pax_headers = {
            "GNU.sparse.major": "1",
            "GNU.sparse.minor": "0",
            "GNU.sparse.name": "bomb",
            "GNU.sparse.realsize": str(10 << 30),
        }
        content = b"1\n0\n0\n".ljust(512, b"\0")
        info.size = len(content)
        with pytest.raises(BadLayer, match="--max-image-size"):
            unpack(root, tar((info, content)))

    @pytest.mark.parametrize("data", [b"no tar at all" * 100, tar(file("f", b"x" * 5000))[:1500]], ids=["garbage", "truncated"])
    def test_broken_archives(self, root: Path, data: bytes) -> None:
        with pytest.raises(BadLayer):
            unpack(root, data)

    def test_a_stop_request_is_heard_between_entries(self, root: Path) -> None:
        def check() -> None:
            raise InterruptedError

        with Rooted.at(root) as opened, pytest.raises(BadLayer):
            LayerWriter(opened, Budget(1 << 20, 10), check).apply(io.BytesIO(tar(file("f"))))
