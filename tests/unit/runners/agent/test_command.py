"""Which command, environment and user an image and a job make together."""

from pathlib import Path
from typing import Any

import pytest

from runners.agent import programs, users
from runners.agent.command import benchmark_name, resolve
from runners.agent.errors import InvalidJob
from runners.agent.images.manifests import RunConfig
from runners.agent.rooted import Rooted

IMAGE = RunConfig(entrypoint=["ie"], cmd=["ic"])


@pytest.mark.parametrize(
    ("image", "entrypoint", "cmd", "expected"),
    [
        (IMAGE, None, None, ("ie", "ic")),
        (IMAGE, ["je"], None, ("je",)),  # an entrypoint of the job's voids the image's cmd
        (IMAGE, ["je"], ["jc"], ("je", "jc")),
        (IMAGE, None, ["jc", "x"], ("ie", "jc", "x")),
        (IMAGE, [], ["jc"], ("jc",)),
        (IMAGE, None, [], ("ie",)),
        (RunConfig(cmd=["ic"]), None, None, ("ic",)),
    ],
)
def test_the_argv(image: RunConfig, entrypoint: list[str] | None, cmd: list[str] | None, expected: tuple[str, ...]) -> None:
    assert resolve(image, entrypoint, cmd, None).argv == expected


def test_the_environment() -> None:
    image = RunConfig(cmd=["x"], env=["A=1", "B=2=3", "NOEQUALS", "=odd", "C="])
    assert resolve(image, None, None, {"A": "9", "D": ""}).env == {"A": "9", "B": "2=3", "C": "", "D": ""}


@pytest.mark.parametrize(
    ("image", "job", "message"),
    [
        (RunConfig(), {}, "no command"),
        (IMAGE, {"entrypoint": []}, "no command"),
        (IMAGE, {"entrypoint": [""]}, "empty text"),
        (IMAGE, {"cmd": ["a\0--bind"]}, "command contains a NUL"),
        (IMAGE, {"env": {"A": "x\0--bind\0/\0/host"}}, "env contains a NUL"),
        (IMAGE, {"env": {"A\0B": "x"}}, "env contains a NUL"),
        (IMAGE, {"env": {"A=B": "x"}}, "impossible name"),
        (IMAGE, {"env": {"": "x"}}, "impossible name"),
        (RunConfig(cmd=["x"], working_dir="/a\0b"), {}, "workdir contains a NUL"),
        (RunConfig(cmd=["x"], user="a\0b"), {}, "user contains a NUL"),
    ],
)
def test_refused(image: RunConfig, job: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidJob, match=message):
        resolve(image, job.get("entrypoint"), job.get("cmd"), job.get("env"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [((["a"], ["b", "c"], "i"), "a b c"), ((None, ["b"], None), "b"), ((None, None, "img"), "img"), ((None, None, None), "p@d")],
)
def test_the_name_of_build_time(arguments: tuple[Any, ...], expected: str) -> None:
    assert benchmark_name(*arguments, "p", "d") == expected


class TestUsers:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Rooted:
        (tmp_path / "etc").mkdir()
        (tmp_path / "etc/passwd").write_text(
            "root:x:0:0::/root:/bin/sh\nbench:x:1234:5678::/home/b:/bin/sh\nbad\nbig:x:99999999999:1::/:\n1234:x:7:7::/:\n"
        )
        (tmp_path / "etc/group").write_text("root:x:0:\nstaff:x:50:\n")
        return Rooted.at(tmp_path)

    @pytest.mark.parametrize(
        ("text", "uid", "gid"),
        [("", 0, 0), ("bench", 1234, 5678), ("1234", 7, 7), ("42", 42, 0), ("bench:staff", 1234, 50), ("5:6", 5, 6), (":staff", 0, 50)],
    )
    def test_known(self, root: Rooted, text: str, uid: int, gid: int) -> None:
        with root:
            found = users.resolve(text, root)
        assert (found.uid, found.gid) == (uid, gid)

    @pytest.mark.parametrize("text", ["nobody", "bench:nogroup", "99999999999", "big", "-1", "1:99999999999", "٣"])
    def test_unknown(self, root: Rooted, text: str) -> None:
        with root, pytest.raises(InvalidJob):
            users.resolve(text, root)

    def test_an_image_without_passwd(self, tmp_path: Path) -> None:
        with Rooted.at(tmp_path) as root:
            assert users.resolve("", root) == users.Identity(0, 0, "/root")

    def test_a_passwd_that_points_out_of_the_image_is_not_read(self, tmp_path: Path) -> None:
        (tmp_path / "etc").mkdir()
        (tmp_path / "etc/passwd").symlink_to("/etc/passwd")
        with Rooted.at(tmp_path) as root, pytest.raises(InvalidJob):
            users.resolve("daemon", root)


class TestPrograms:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        for name, mode in (("bin/tool", 0o755), ("opt/tool", 0o755), ("bin/data", 0o644), ("app/run", 0o700)):
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("x")
            path.chmod(mode)
        (tmp_path / "bin/sh").symlink_to("tool")
        (tmp_path / "bin/abs").symlink_to("/opt/tool")
        return tmp_path

    @pytest.mark.parametrize(
        ("program", "path", "workdir", "expected"),
        [
            ("tool", "/bin:/opt", "/", "/bin/tool"),
            ("tool", "/none:/opt", "/", "/opt/tool"),
            ("/app/run", "/bin", "/", "/app/run"),
            ("./run", "/bin", "/app", "/app/./run"),
            ("run", ":/bin", "/app", "/app/run"),
            ("abs", "/bin", "/", "/bin/abs"),
            ("/proc/self/exe", "/bin", "/", "/proc/self/exe"),
        ],
    )
    def test_found(self, root: Path, program: str, path: str, workdir: str, expected: str) -> None:
        with Rooted.at(root) as opened:
            assert programs.find(opened, program, {"PATH": path}, workdir) == expected

    @pytest.mark.parametrize(("program", "code"), [("absent", 127), ("/bin/absent", 127), ("data", 126), ("/bin", 126), ("./bin", 126)])
    def test_not_found(self, root: Path, program: str, code: int) -> None:
        with Rooted.at(root) as opened, pytest.raises(programs.NoProgram) as caught:
            programs.find(opened, program, {"PATH": "/bin"}, "/")
        assert caught.value.exit_code == code

    def test_on_the_host_a_program_keeps_its_name_unless_the_link_leads_elsewhere(self, root: Path) -> None:
        with Rooted.at(root) as opened:
            assert programs.host_program(opened, "/bin/sh") == f"{root}/bin/sh"
            assert programs.host_program(opened, "/bin/abs") == f"{root}/opt/tool"
