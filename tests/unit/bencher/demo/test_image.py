"""bencher/demo/image.py: an image that a registry and a runner take."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from bencher.demo import image as module
from bencher.demo.image import CONFIG_TYPE, LAYER_TYPE, MANIFEST_TYPE, demo_image, host_files, image, layer, libraries, write_layout
from outputs.adapters.parse import parse_results


def test_libraries_of_a_listing() -> None:
    listing = "\tlinux-vdso.so.1 (0x00007ff)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x0)\n\t/lib64/ld-linux-x86-64.so.2 (0x0)\n"
    assert libraries(listing) == {"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"}
    assert libraries("\tnot a dynamic executable\n") == set()


def test_a_layer_has_folders_before_files_and_is_reproducible() -> None:
    tar = layer({"bin/sh": b"#!", "bench/a/b": b"x"})
    assert tar == layer({"bench/a/b": b"x", "bin/sh": b"#!"})
    with tarfile.open(fileobj=io.BytesIO(tar)) as opened:
        entries = {entry.name: entry for entry in opened}
    assert list(entries) == ["bench", "bench/a", "bin", "tmp", "bench/a/b", "bin/sh"]
    assert entries["bin/sh"].mode == 0o755
    assert entries["tmp"].mode == 0o1777


def test_every_digest_names_its_bytes() -> None:
    tar = layer({"a": b"1"})
    made = image(tar, command=["/a"], working_dir="/")
    manifest, config = json.loads(made.manifest), json.loads(made.config)
    assert manifest["mediaType"] == MANIFEST_TYPE
    for entry, blob, kind in ((manifest["config"], made.config, CONFIG_TYPE), (manifest["layers"][0], made.layer, LAYER_TYPE)):
        assert entry == {"mediaType": kind, "digest": "sha256:" + hashlib.sha256(blob).hexdigest(), "size": len(blob)}
    assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(gzip.decompress(made.layer)).hexdigest()]


def test_a_layout_on_disk(tmp_path: Path) -> None:
    made = image(layer({"a": b"1"}), command=["/a"], working_dir="/")
    write_layout(made, tmp_path / "layout", "v1")
    index = json.loads((tmp_path / "layout/index.json").read_bytes())
    assert index["manifests"][0]["annotations"] == {"org.opencontainers.image.ref.name": "v1"}
    stored = tmp_path / "layout/blobs/sha256" / index["manifests"][0]["digest"].removeprefix("sha256:")
    assert stored.read_bytes() == made.manifest


def test_a_program_that_this_host_lacks_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        host_files(["no-such-program"])


@pytest.mark.parametrize("adapter", ["go_bench", "shell_hyperfine"])
def test_the_benchmark_prints_what_its_tool_prints(tmp_path: Path, adapter: str) -> None:
    """Unpacked and run as a runner without sandbox does it: program of the image, words relative to its folder."""
    if adapter == "shell_hyperfine" and not shutil.which("hyperfine"):
        pytest.skip("this host has no hyperfine")
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(demo_image().layer))) as tar:
        tar.extractall(tmp_path / "root", filter="data")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in (*module.PROGRAMS, *([module.HARNESS] if adapter == "shell_hyperfine" else [])):
        (tools / name).symlink_to(shutil.which(name) or "")
    done = subprocess.run(
        ["/bin/sh", "bench.sh"], cwd=tmp_path / "root/bench", env={"PATH": str(tools)}, capture_output=True, text=True, check=True
    )
    ((_, parsed),) = parse_results([done.stdout], adapter=adapter, average=None, fold=None)
    assert len(parsed.benchmarks) == 3
    assert all(measures["latency"].value > 0 for measures in parsed.benchmarks.values())
    assert parse_results([done.stdout], adapter="magic", average=None, fold=None) == [(0, parsed)]
