"""`runner run`: one image, here and now; and what a benchmark sees of the machine, in each sandbox."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.runners.agent.kit import ROOT, marked
from tests.unit.runners.agent.kit import Blobs, busybox, entry, file, hardlink, on, symlink, tagged, tar

pytestmark = pytest.mark.acceptance
SANDBOXES = ["bubblewrap", *(["runc"] if shutil.which("runc", path=f"{os.environ['PATH']}:/usr/sbin:/sbin") else [])]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> str:
    blobs = Blobs()
    image = blobs.image(busybox(file("hello.txt", "hello\n")))
    return str(blobs.layout(tmp_path_factory.mktemp("image") / "layout", tagged(image, "v1")))


def command(image: str, state: Path, *flags: str) -> list[str]:
    return [sys.executable, "-m", "runners.agent.cli", "run", "--no-tuning", "--state-dir", str(state), "--image", image, *flags]


def run(image: str, state: Path, *flags: str, script: str | None = None) -> subprocess.CompletedProcess[str]:
    words = ("--cmd", "/bin/sh", "--cmd=-c", script) if script is not None else ()
    return subprocess.run(
        command(image, state, *flags, *words), cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60
    )


def result(image: str, state: Path, *flags: str, script: str) -> dict[str, Any]:
    done = run(image, state, "--json", *flags, script=script)
    assert done.returncode in {0, 1, 3, 4}, done.stderr
    last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert last["event"] == "result"
    return last


@pytest.mark.parametrize(
    ("flags", "script", "code", "stdout", "error"),
    [
        ((), "cat hello.txt", 0, "hello\n", ""),
        ((), "echo out; echo err >&2; exit 7", 3, "out\n", "err\nError: Benchmark exited with non-zero exit code: 7\n"),
        (("--allow-failure", "--iter", "2"), "echo x; exit 7", 0, "x\nx\n", ""),
        (("--iter", "0"), "echo x", 0, "", ""),
        (("--timeout", "1"), "echo part; sleep 30", 4, "part\n", "Timeout: "),
        (("--env", "A=b c", "--env", "A=d"), "echo $A", 0, "d\n", ""),
        (("--sandbox", "firecracker"), "true", 1, "", "firecracker"),
    ],
)
def test_exit_status(layout: str, state: Path, flags: tuple[str, ...], script: str, code: int, stdout: str, error: str) -> None:
    done = run(layout, state, *flags, script=script)
    assert (done.returncode, done.stdout) == (code, stdout)
    assert error in done.stderr


def test_tags_and_what_is_not_there(layout: str, state: Path, tmp_path: Path) -> None:
    assert run(f"{layout}:v1", state, script="true").returncode == 0
    assert "no image tagged 'v2'" in run(f"{layout}:v2", state, script="true").stderr
    done = run(str(tmp_path), state, script="true")
    assert done.returncode == 1
    assert "Error: " in done.stderr
    assert "oci-layout" in done.stderr


def test_files_are_shown_and_saved(layout: str, state: Path, tmp_path: Path) -> None:
    done = run(layout, state, "--output", "/a/b", "--iter", "2", "--save", str(tmp_path), script="mkdir a; echo text > a/b")
    assert done.returncode == 0
    assert "/a/b: 5 bytes" in done.stderr
    assert [(tmp_path / f"iteration-{number}/a/b").read_text() for number in (1, 2)] == ["text\n", "text\n"]


def test_json_has_phases_and_nothing_else_on_stdout(layout: str, state: Path) -> None:
    done = run(layout, state, "--json", script="echo x")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["event"] for event in events][-2:] == ["iterated", "result"]
    (item,) = events[-1]["results"]
    assert item["stdout"] == "x\n"
    assert set(item["ext"]["phases"]) == {"pull", "unpack", "prepare", "run", "collect"}


def test_interrupted(layout: str, state: Path) -> None:
    mark = f"interrupt-{os.getpid()}"
    words = command(layout, state, "--cmd", "/bin/sh", "--cmd=-c", f": {mark}; sleep 60 & sleep 60")
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 20
        while len(marked(mark)) < 3 and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert not marked(mark)


def test_two_at_once(layout: str, state: Path) -> None:
    words = command(layout, state, "--cmd", "/bin/sh", "--cmd=-c", "sleep 3")
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        time.sleep(1.5)
        second = run(layout, state, script="echo second")
        assert second.stdout == "second\n"
        assert first.wait(20) == 0


class TestHostileImages:
    @pytest.mark.parametrize(
        ("entries", "message"),
        [
            ([file("../../../../tmp/escaped", "x")], "leads out"),
            ([symlink("l", "../../../../tmp")], "leads out"),
            ([hardlink("h", "../../../../etc/passwd")], "leads out"),
            ([entry("sda", b"4", devmajor=8)], "device node"),
            ([file("/abs/olute", "x")], ""),
            ([symlink("l", "/"), file("l/etc/inside", "x")], ""),
        ],
    )
    def test_layers(self, state: Path, tmp_path: Path, entries: list[Any], message: str) -> None:
        blobs = Blobs()
        image = blobs.layout(tmp_path / "layout", blobs.image(busybox(), tar(*entries)))
        done = run(str(image), state, script="true")
        assert done.returncode == (1 if message else 0), done.stderr
        assert message in done.stderr
        assert not Path("/tmp/escaped").exists()
        assert not Path("/etc/inside").exists()
        assert not Path("/abs").exists()

    def test_a_million_files(self, state: Path, tmp_path: Path) -> None:
        blobs = Blobs()
        image = blobs.layout(tmp_path / "layout", blobs.image(busybox(), tar(*(file(f"d/{number}") for number in range(3000)))))
        done = run(str(image), state, "--max-image-entries", "2000", script="true")
        assert done.returncode == 1
        assert "--max-image-entries" in done.stderr

    def test_a_corrupt_blob(self, state: Path, tmp_path: Path) -> None:
        blobs = Blobs()
        image = blobs.layout(tmp_path / "layout", blobs.image(busybox(file("unique", os.urandom(9)))))
        largest = max((image / "blobs/sha256").iterdir(), key=lambda path: path.stat().st_size)
        content = largest.read_bytes()
        largest.write_bytes(content[:-20] + bytes(20))
        done = run(str(image), state, script="true")
        assert done.returncode == 1
        assert "corrupt" in done.stderr

    def test_an_index_of_several_machines(self, state: Path, tmp_path: Path) -> None:
        blobs = Blobs()
        own = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
        index = blobs.index([on(blobs.image(tar(file("nothing"))), "s390x"), on(blobs.image(busybox()), own)])
        done = run(str(blobs.layout(tmp_path / "layout", index)), state, script="echo right")
        assert done.stdout == "right\n"


@pytest.mark.parametrize("sandbox", SANDBOXES)
class TestSandbox:
    def test_what_is_seen(self, layout: str, state: Path, sandbox: str) -> None:
        script = "echo $$; ls /proc | grep -c '^[0-9]'; id -u; cat /proc/net/dev | grep -c :; cat /proc/sys/kernel/hostname; ls /; cat; pwd"
        stdout = result(layout, state, "--sandbox", sandbox, script=script)["results"][0]["stdout"].splitlines()
        assert int(stdout[0]) < 10
        assert int(stdout[1]) < 10
        assert stdout[2] == "0"
        assert int(stdout[3]) <= 2  # lo, and what the kernel puts into every namespace
        assert stdout[4] == "bench"
        assert "home" not in stdout
        assert stdout[-1] == "/"

    def test_the_network_is_there_when_asked_for(self, layout: str, state: Path, sandbox: str) -> None:
        devices = len(re.findall(":", Path("/proc/net/dev").read_text()))
        (item,) = result(layout, state, "--sandbox", sandbox, "--network", script="cat /proc/net/dev | grep -c :; cat /etc/resolv.conf")[
            "results"
        ]
        count, _, resolver = item["stdout"].partition("\n")
        assert int(count) == devices
        assert resolver == Path("/etc/resolv.conf").read_text()

    def test_the_host_cannot_be_changed(self, layout: str, state: Path, sandbox: str) -> None:
        before = Path("/proc/sys/vm/swappiness").read_text().strip()
        script = (
            f"cat /proc/self/uid_map; echo {before} > /proc/sys/vm/swappiness && echo CHANGED; echo {before} > /proc/sys/kernel/sysrq && echo CHANGED;"
            "true > /proc/sysrq-trigger && echo CHANGED; mount -t tmpfs x /tmp && echo CHANGED; kill -9 -1; echo alive"
        )
        (item,) = result(layout, state, "--sandbox", sandbox, "--allow-failure", script=script)["results"]
        assert "CHANGED" not in item["stdout"]
        if os.geteuid() == 0:  # root inside is nobody outside
            assert int(item["stdout"].split()[1]) > 100_000

    def test_each_iteration_is_fresh(self, layout: str, state: Path, sandbox: str) -> None:
        done = result(layout, state, "--sandbox", sandbox, "--iter", "3", script="test ! -e /x && rm /hello.txt && touch /x && echo fresh")
        assert [item["stdout"] for item in done["results"]] == ["fresh\n"] * 3

    @pytest.mark.skipif(os.geteuid() != 0, reason="control groups need root or a delegated group")
    def test_memory(self, layout: str, state: Path, sandbox: str) -> None:
        done = result(layout, state, "--sandbox", sandbox, "--memory", "32", script="x=xxxxxxxx; while true; do x=$x$x; done")
        assert done["results"][0]["exit_code"] == 137
        assert "out of memory" in done["error"]

    @pytest.mark.skipif(os.geteuid() != 0, reason="control groups need root or a delegated group")
    def test_a_fork_bomb(self, layout: str, state: Path, sandbox: str) -> None:
        done = result(layout, state, "--sandbox", sandbox, "--max-processes", "40", "--timeout", "3", script="f() { f | f & }; f; sleep 20")
        assert done["error"]

    def test_a_sparse_file_of_ten_gigabytes(self, layout: str, state: Path, sandbox: str) -> None:
        done = result(
            layout, state, "--sandbox", sandbox, "--disk", "64", script="dd if=/dev/zero of=/f bs=1M count=1 seek=10000; ls -l /f"
        )
        assert re.search("large|exceeded", str(done["results"]))
        assert "10486808576" not in str(done["results"])

    def test_the_disk(self, layout: str, state: Path, sandbox: str) -> None:
        script = "for i in 1 2 3 4 5 6 7 8 9; do dd if=/dev/zero of=/f$i bs=1M count=15 2>/dev/null; sleep 1; done"
        done = result(layout, state, "--sandbox", sandbox, "--disk", "16", "--memory", "256", script=script)
        assert done["error"].startswith("DiskLimit: ")

    def test_cores(self, layout: str, state: Path, sandbox: str) -> None:
        (item,) = result(layout, state, "--sandbox", sandbox, script="grep Cpus_allowed_list /proc/self/status")["results"]
        assert item["stdout"].split()[1] != "0" or os.cpu_count() == 1

    def test_nothing_is_left(self, layout: str, state: Path, sandbox: str) -> None:
        result(layout, state, "--sandbox", sandbox, "--timeout", "1", script="trap '' TERM; (setsid sleep 33 &); sleep 33; sleep 33")
        assert not list((state / "local/runs").iterdir())
        assert not list((state / "local/runc").iterdir()) if (state / "local/runc").exists() else True
        assert not marked("sleep\0" + "33")
