"""`runner up` as a process beside a server that hands out jobs."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.acceptance.runners.agent.kit import KEY, TOKEN, FakeServer, Runner
from tests.unit.runners.agent.kit import Blobs, busybox

pytestmark = pytest.mark.acceptance


def shell(text: str) -> tuple[str, str, str]:
    return "/bin/sh", "-c", text


def test_a_job_is_run_and_its_output_delivered(server: FakeServer, digest: str, state: Path) -> None:
    with Runner(server, state) as runner:
        job = server.submit(digest, *shell("cat hello.txt; echo note >&2; echo '{}' > out.json"), file_paths=["out.json"])
        assert server.result(job) == {
            "event": "completed",
            "job": job,
            "results": [{"exit_code": 0, "stdout": "hello\n", "stderr": "note\n", "output": {"out.json": "{}\n"}}],
        }
        server.wait(lambda: server.events().count("ready") == 2)
        assert server.events() == ["ready", "running", "completed", "ready"]
        assert runner.stop() == 0
        pulls = [headers for path, headers in server.requests if path.startswith("/v2/")]
        assert all(headers["Authorization"] == f"Bearer {TOKEN}" for headers in pulls)
        assert KEY not in runner.text()
        assert TOKEN not in runner.text()
        assert not list((state / "bench-1/runs").iterdir())
        assert not list((state / "bench-1/spool/pending").iterdir())


def test_one_pull_serves_all_iterations_and_later_jobs(server: FakeServer, digest: str, state: Path) -> None:
    """G11."""
    with Runner(server, state):
        first = server.submit(digest, *shell("test ! -e /made && touch /made && echo fresh"), iter=3)
        assert [item["stdout"] for item in server.result(first)["results"]] == ["fresh\n"] * 3
        pulled = sum(path.startswith("/v2/") for path, _ in server.requests)
        second = server.submit(digest, *shell("echo again"))
        assert server.result(second)["results"] == [{"exit_code": 0, "stdout": "again\n"}]
        assert sum(path.startswith("/v2/") for path, _ in server.requests) == pulled == 3


def test_a_failing_iteration_ends_the_job_with_what_there_is(server: FakeServer, digest: str, state: Path) -> None:
    with Runner(server, state):
        result = server.result(server.submit(digest, *shell("echo half; echo broken >&2; exit 3"), iter=2))
        assert result["event"] == "failed"
        assert result["error"] == "Benchmark exited with non-zero exit code: 3"
        assert result["results"] == [{"exit_code": 3, "stdout": "half\n", "stderr": "broken\n"}]
        allowed = server.result(server.submit(digest, *shell("exit 3"), iter=2, allow_failure=True))
        assert allowed["event"] == "completed"
        assert allowed["results"] == [{"exit_code": 3}, {"exit_code": 3}]
        none = server.result(server.submit(digest, *shell("exit 3"), iter=0))
        assert (none["event"], none["results"]) == ("completed", [])


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (("absent",), 127, "not found"),
        (("/hello.txt",), 126, "not executable"),
        (shell("kill -9 $$"), 137, ""),
        (shell("kill -TERM $$"), 143, ""),
    ],
)
def test_exit_codes(server: FakeServer, digest: str, state: Path, command: tuple[str, ...], code: int, message: str) -> None:
    with Runner(server, state):
        (result,) = server.result(server.submit(digest, *command))["results"]
        assert result["exit_code"] == code
        assert message in result.get("stderr", "")


def test_a_timeout_keeps_the_partial_output(server: FakeServer, digest: str, state: Path) -> None:
    with Runner(server, state):
        result = server.result(server.submit(digest, *shell("echo part; trap '' TERM; sleep 60; sleep 60"), timeout=1))
        assert result["event"] == "failed"
        assert result["error"] == "Timeout: the benchmark did not complete within 1 s"
        assert result["results"] == [{"exit_code": 137, "stdout": "part\n"}]


def test_a_grandchild_that_holds_stdout_delays_nothing(server: FakeServer, digest: str, state: Path) -> None:
    """G16, G17."""
    with Runner(server, state):
        server.result(server.submit(digest, *shell("true")))
        began = time.monotonic()
        result = server.result(server.submit(digest, *shell("setsid sleep 50 & (sleep 50 &) ; echo done")))
        assert result["results"] == [{"exit_code": 0, "stdout": "done\n"}]
        assert time.monotonic() - began < 15
        assert not _processes("sleep 50")


def test_cancel_is_answered_with_canceled(server: FakeServer, digest: str, state: Path) -> None:
    """G6: whatever the benchmark makes of it."""
    with Runner(server, state):
        job = server.submit(digest, *shell("sleep 40 & sleep 40"))
        server.wait(lambda: "heartbeat" in server.events())
        server.canceled.add(job)
        assert server.result(job) == {"event": "canceled", "job": job}
        server.wait(lambda: server.events()[-1] == "ready")
        assert not _processes("sleep 40")


def test_heartbeats_come_every_second(server: FakeServer, digest: str, state: Path) -> None:
    with Runner(server, state):
        server.result(server.submit(digest, *shell("sleep 3.5")))
        assert 3 <= server.events().count("heartbeat") <= 4


def test_sigterm_during_a_job_delivers_what_it_has(server: FakeServer, digest: str, state: Path) -> None:
    """G8."""
    with Runner(server, state) as runner:
        job = server.submit(digest, *shell("echo begun; sleep 41; sleep 41"))
        server.wait(lambda: _processes("sleep 41"))
        assert runner.stop(signal.SIGTERM) == 0
        result = server.result(job)
        assert result["event"] == "failed"
        assert result["error"].startswith("RunnerShutdown: ")
        assert result["results"][0]["stdout"] == "begun\n"
        assert server.events()[-1] == "failed"


def test_sigterm_with_no_server_keeps_the_result_for_the_next_start(server: FakeServer, digest: str, state: Path) -> None:
    with Runner(server, state) as runner:
        job = server.submit(digest, *shell("sleep 40"))
        server.wait(lambda: "heartbeat" in server.events())
        server.stop_listening()
        assert runner.stop(signal.SIGINT) == 0
    server.listen_again()
    with Runner(server, state):
        assert server.result(job)["error"].startswith("RunnerShutdown: ")


def test_the_job_goes_on_over_a_new_channel(server: FakeServer, digest: str, state: Path) -> None:
    """G1, G2: our server resumes; a cancel still gets through."""
    with Runner(server, state):
        job = server.submit(digest, *shell("sleep 60"))
        server.wait(lambda: "heartbeat" in server.events())
        server.cut()
        server.wait(lambda: "heartbeat" in server.events(2))
        assert server.events(2)[0] == "running"
        server.canceled.add(job)
        assert server.result(job)["event"] == "canceled"


def test_a_result_is_delivered_after_the_channel_was_lost(stock: FakeServer, digest: str, state: Path) -> None:
    with Runner(stock, state):
        job = stock.submit(digest, *shell("sleep 2; echo late"))
        stock.wait(lambda: "heartbeat" in stock.events())
        stock.stop_listening()
        time.sleep(2)
        stock.listen_again()
        assert stock.result(job)["results"] == [{"exit_code": 0, "stdout": "late\n"}]
        stock.wait(lambda: stock.events()[-1] == "ready")
        assert len(stock.results[job]) == 1


def test_a_stock_server_is_not_believed_too_early(stock: FakeServer, digest: str, state: Path) -> None:
    """G4: acks of heartbeats carry the job's UUID there; the server dies instead of acknowledging the result."""
    refusals = iter(["drop"])
    stock.on_terminal = lambda _: next(refusals, "ack")
    with Runner(stock, state):
        job = stock.submit(digest, *shell("sleep 1.5; echo kept"))
        assert stock.result(job)["results"] == [{"exit_code": 0, "stdout": "kept\n"}]
        first = [event for number, event in enumerate(stock.events(1))]
        assert first[-1] == "completed"
        assert "ready" not in first[1:]


def test_a_server_that_never_takes_a_result_does_not_stop_the_runner(server: FakeServer, digest: str, state: Path) -> None:
    """G9: put aside, loudly, and on with the next job."""
    with Runner(server, state) as runner:
        server.on_terminal = lambda frame: "drop" if frame["job"] == bad else "ack"
        bad = "none yet"
        bad = server.submit(digest, *shell("echo precious"))
        server.wait(lambda: (state / f"bench-1/spool/dead-letter/{bad}.json").exists(), 120)
        kept = json.loads((state / f"bench-1/spool/dead-letter/{bad}.json").read_text())
        assert kept["message"]["results"] == [{"exit_code": 0, "stdout": "precious\n"}]
        assert server.result(server.submit(digest, *shell("echo next")))["event"] == "completed"
        assert "RESULT NOT DELIVERED" in runner.text()


@pytest.mark.parametrize("close", ["drop", "1009"])
def test_an_oversize_result_arrives_shortened(blobs: Blobs, digest: str, state: Path, close: str) -> None:
    """G10: 24 MiB for a server that takes 128 KiB and does not say so."""
    with FakeServer(blobs) as server:
        server.on_terminal = lambda frame: "ack" if len(json.dumps(frame)) <= 128 * 1024 else close
        with Runner(server, state):
            result = server.result(server.submit(digest, *shell("yes 012345678901234567890123456789 | head -n 800000; echo LAST")), 120)
            (item,) = result["results"]
            assert item["stdout"].startswith("…[truncated ")
            assert item["stdout"].endswith("LAST\n")


def test_100_mb_of_output(server: FakeServer, digest: str, state: Path) -> None:
    with Runner(server, state) as runner:
        (item,) = server.result(
            server.submit(digest, *shell("echo FIRST; yes 012345678901234567890123456789 | head -n 3300000; echo LAST")), 60
        )["results"]
        assert item["stdout"].startswith("…[truncated ")
        assert item["stdout"].endswith("LAST\n")
        assert len(item["stdout"]) > 3_000_000
        peak = int(Path(f"/proc/{runner.process.pid}/status").read_text().partition("VmHWM:")[2].split()[0])
        assert peak < 400_000


def test_output_that_is_no_text(server: FakeServer, digest: str, state: Path) -> None:
    with Runner(server, state):
        (item,) = server.result(server.submit(digest, *shell(r"printf 'a\000b\377\355\240\200c'")))["results"]
        assert item["stdout"] == "a\0b" + "\N{REPLACEMENT CHARACTER}" * 4 + "c"


@pytest.mark.parametrize("status", [401, 403])
def test_a_bad_key_is_called_so(server: FakeServer, state: Path, status: int) -> None:
    server.status = status
    with Runner(server, state) as runner:
        server.wait(lambda: "check --key and --runner" in runner.text())
        assert runner.process.poll() is None
        assert KEY not in runner.text()


def test_a_stock_server_refuses_a_key_without_a_word(stock: FakeServer, state: Path) -> None:
    stock.mute = True
    with Runner(stock, state) as runner:
        stock.wait(lambda: "is the key of this runner right?" in runner.text())


@pytest.mark.parametrize("missing", [("unshare",), ("setpriv",), ("unshare", "setpriv"), ("mount",)], ids=" ".join)
def test_a_machine_that_lacks_tools(server: FakeServer, digest: str, state: Path, tmp_path: Path, missing: tuple[str, ...]) -> None:
    """Fewer namespaces, copies instead of overlays; never a hole."""
    before = Path("/proc/sys/vm/swappiness").read_text().strip()
    stray, long = (f"sleep {base + sum(map(ord, ''.join(missing)))}" for base in (4700, 4800))  # of this test alone: others run beside it
    script = f"(echo {before} > /proc/sys/vm/swappiness && echo CHANGED); ({stray} &); cat /hello.txt; touch /x"
    with Runner(server, state, env={"PATH": path_without(tmp_path / "bin", *missing)}):
        result = server.result(server.submit(digest, *shell(script), iter=2, file_paths=["/x"]))
        assert result["results"] == [
            {"exit_code": 0, "stdout": "hello\n", "stderr": item["stderr"], "output": {"/x": ""}} for item in result["results"]
        ]
        assert not _processes(stray)
        job = server.submit(digest, *shell(f"{long} & {long}"))
        server.wait(lambda: _processes(long))
        server.canceled.add(job)
        assert server.result(job)["event"] == "canceled"
        assert not _processes(long)


def path_without(folder: Path, *missing: str) -> str:
    """A PATH with everything but some tools."""
    folder.mkdir()
    for place in ("/bin", "/usr/bin", "/sbin", "/usr/sbin"):
        for tool in Path(place).iterdir():
            if tool.name not in missing and not (folder / tool.name).is_symlink():
                (folder / tool.name).symlink_to(tool)
    return str(folder)


def test_the_key_is_nowhere_to_be_seen(server: FakeServer, digest: str, state: Path) -> None:
    key = "bencher_runner_" + "z" * 30  # of this test alone: others run beside it, and a host process sees them all
    with Runner(server, state, "--key", key, "--danger-allow-no-sandbox", env={"BENCHER_RUNNER_KEY": key}) as runner:
        result = server.result(server.submit(digest, *shell("env; cat /proc/*/cmdline /proc/*/environ 2>/dev/null | cat; true")))
        assert key not in json.dumps(result)
        for name in ("cmdline", "environ"):
            assert key.encode() not in Path(f"/proc/{runner.process.pid}/{name}").read_bytes()


def test_a_job_that_cannot_be_read_is_failed_not_dropped(server: FakeServer, digest: str, state: Path) -> None:
    with Runner(server, state):
        result = server.result(server.submit(digest, *["x"] * 65))
        assert result["event"] == "failed"
        assert "cmd" in result["error"]
        assert server.result(server.submit(digest, *shell("echo next")))["event"] == "completed"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"digest": "sha256:" + "1" * 64}, "status 404"),
        ({"env": {"A": "x\0--bind\0/\0/host"}}, "NUL"),
        ({"spec": {"sandbox": "firecracker"}}, "firecracker"),
        ({"spec": {"memory": 0}}, "spec.memory"),
        ({"registry": "gopher://x"}, "config.registry"),
    ],
)
def test_jobs_that_fail_before_the_benchmark(server: FakeServer, digest: str, state: Path, change: dict[str, object], message: str) -> None:
    with Runner(server, state):
        result = server.result(server.submit(**({"digest": digest} | change)))  # type: ignore[arg-type]
        assert (result["event"], result["results"]) == ("failed", [])
        assert message in result["error"]


def test_no_sandbox_and_no_permission(server: FakeServer, digest: str, state: Path, tmp_path: Path) -> None:
    with Runner(server, state, env={"PATH": path_without(tmp_path / "bin", "bwrap")}):
        result = server.result(server.submit(digest, *shell("true")))
        assert result["event"] == "failed"
        assert "--danger-allow-no-sandbox" in result["error"]


def test_build_time_and_file_size(server: FakeServer, digest: str, state: Path) -> None:
    with Runner(server, state):
        job = server.submit(
            digest, *shell("printf 12345 > artifact; sleep 0.3"), file_paths=["artifact", "none"], build_time=True, file_size=True
        )
        (item,) = server.result(job)["results"]
        assert list(item["output"]) == ["\0bencher"]
        measured = json.loads(item["output"]["\0bencher"])
        assert measured["artifact"]["file-size"]["value"] == 5
        assert measured["/bin/sh -c printf 12345 > artifact; sleep 0.3"]["build-time"]["value"] >= 0.3


def test_two_runners_do_not_share_a_state_folder(server: FakeServer, digest: str, state: Path) -> None:
    with Runner(server, state):
        server.wait(lambda: "ready" in server.events())
        with Runner(server, state) as second:
            assert second.process.wait(20) == 1
            assert "another runner uses the state folder" in second.text()


def test_an_image_for_another_user(server: FakeServer, blobs: Blobs, state: Path) -> None:
    """The image's USER and WORKDIR; the working directory is made when it is missing."""
    image = blobs.image(
        busybox(),
        config={
            "User": "bench",
            "WorkingDir": "/made/here",
            "Env": ["PATH=/bin", "FROM=image"],
            "Cmd": ["sh", "-c", "id -u; id -g; pwd; echo $FROM $HOME; touch x"],
        },
    )
    with Runner(server, state):
        (item,) = server.result(server.submit(image["digest"], file_paths=["x"], env={"FROM": "job"}))["results"]
        assert item["stdout"] == "1234\n5678\n/made/here\njob /home/bench\n"
        assert item["output"] == {"x": ""}


def _processes(text: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
            if line == text:
                found.append(line)
    return found
