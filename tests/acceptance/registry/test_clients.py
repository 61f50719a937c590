"""Real clients: skopeo, umoci, buildah and oras against a live server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.registry.conftest import EMAIL, Registry, blobs_in, digest_of, write_layout

pytestmark = [pytest.mark.acceptance, pytest.mark.enable_socket]
Run = Callable[..., str]


def digest_in(layout: Path) -> str:
    return str(json.loads((layout / "index.json").read_text())["manifests"][0]["digest"])


def source(registry: Registry) -> list[str]:
    return ["--src-tls-verify=false", "--src-creds", registry.credentials]


def target(registry: Registry) -> list[str]:
    return ["--dest-tls-verify=false", "--dest-creds", registry.credentials]


def both(registry: Registry) -> list[str]:
    return ["--tls-verify=false", "--creds", registry.credentials]


@pytest.fixture
def layout(tmp_path: Path, name: str) -> Path:
    return write_layout(tmp_path / "layout", name.encode())


def test_skopeo(registry: Registry, skopeo: Run, layout: Path, name: str, tmp_path: Path) -> None:
    """Push, inspect, list, pull by tag and by digest, delete."""
    address = f"docker://{registry.host}/{name}"
    skopeo("copy", *target(registry), f"oci:{layout}:v1", f"{address}:v1")
    assert json.loads(skopeo("inspect", *both(registry), f"{address}:v1"))["Digest"] == digest_in(layout)
    assert json.loads(skopeo("list-tags", *both(registry), address))["Tags"] == ["v1"]
    for number, reference in enumerate((":v1", f"@{digest_in(layout)}")):
        back = tmp_path / f"back{number}"
        skopeo("copy", *source(registry), f"{address}{reference}", f"oci:{back}:v1")
        assert blobs_in(back) == blobs_in(layout)
    skopeo("delete", *both(registry), f"{address}:v1")
    skopeo("inspect", *both(registry), f"{address}:v1", fails=True)


def test_skopeo_mounts(registry: Registry, skopeo: Run, layout: Path, name: str, tmp_path: Path) -> None:
    """It remembers where it pushed a layer, and asks for a mount from there: the blob is not sent again."""
    for repository in (name, f"{name}-2"):
        skopeo("copy", *target(registry), f"oci:{layout}:v1", f"docker://{registry.host}/{repository}:v1")
    shutil.rmtree(layout)
    skopeo("copy", *source(registry), f"docker://{registry.host}/{name}-2:v1", f"oci:{tmp_path / 'back'}:v1")


def test_skopeo_docker_format(registry: Registry, skopeo: Run, layout: Path, name: str, tmp_path: Path) -> None:
    address = f"docker://{registry.host}/{name}:v1"
    skopeo("copy", *target(registry), "--format", "v2s2", f"oci:{layout}:v1", address)
    raw = json.loads(skopeo("inspect", "--raw", *both(registry), address))
    assert raw["mediaType"] == "application/vnd.docker.distribution.manifest.v2+json"
    skopeo("copy", *source(registry), address, f"oci:{tmp_path / 'back'}:v1")


def test_skopeo_compresses_while_it_sends(registry: Registry, skopeo: Run, name: str, tmp_path: Path) -> None:
    """A layer of unknown length, in chunks of the transfer encoding."""
    plain = write_layout(tmp_path / "plain", name.encode(), packed=False)
    address = f"docker://{registry.host}/{name}:v1"
    skopeo("copy", *target(registry), "--dest-compress", f"oci:{plain}:v1", address)
    skopeo("copy", *source(registry), address, f"oci:{tmp_path / 'back'}:v1")


def test_skopeo_login(registry: Registry, skopeo: Run, layout: Path, name: str, tmp_path: Path) -> None:
    authfile = tmp_path / "auth.json"
    skopeo("login", "--tls-verify=false", "--authfile", authfile, "-u", EMAIL, "-p", registry.key, registry.host)
    skopeo("copy", "--dest-tls-verify=false", "--dest-authfile", authfile, f"oci:{layout}:v1", f"docker://{registry.host}/{name}:v1")


def test_skopeo_with_wrong_credentials(registry: Registry, skopeo: Run, layout: Path, name: str) -> None:
    complaint = skopeo(
        "copy",
        "--dest-tls-verify=false",
        "--dest-creds",
        f"{EMAIL}:wrong",
        f"oci:{layout}:v1",
        f"docker://{registry.host}/{name}:v1",
        fails=True,
    )
    assert "invalid username/password" in complaint


def test_skopeo_without_an_account(registry: Registry, skopeo: Run, layout: Path, name: str, tmp_path: Path) -> None:
    address = f"docker://{registry.host}/{name}:v1"
    skopeo("copy", "--dest-tls-verify=false", f"oci:{layout}:v1", address)
    skopeo("copy", "--src-tls-verify=false", address, f"oci:{tmp_path / 'back'}:v1")
    assert blobs_in(tmp_path / "back") == blobs_in(layout)


@pytest.mark.skipif(shutil.which("umoci") is None, reason="umoci is not installed")
def test_umoci(registry: Registry, skopeo: Run, run: Run, name: str, tmp_path: Path) -> None:
    """Its manifests name no media type."""
    image, bundle = f"{tmp_path / 'made'}:v1", tmp_path / "bundle"
    run("umoci", "init", "--layout", tmp_path / "made")
    run("umoci", "new", "--image", image)
    run("umoci", "unpack", "--rootless", "--image", image, bundle)
    (bundle / "rootfs/hello").write_text(name)
    run("umoci", "repack", "--image", image, bundle)
    run("umoci", "config", "--image", image, "--config.cmd", "/hello")
    address = f"docker://{registry.host}/{name}:v1"
    skopeo("copy", *target(registry), f"oci:{image}", address)
    skopeo("copy", *source(registry), address, f"oci:{tmp_path / 'back'}:v1")
    run("umoci", "unpack", "--rootless", "--image", f"{tmp_path / 'back'}:v1", tmp_path / "bundle2")
    assert (tmp_path / "bundle2/rootfs/hello").read_text() == name


@pytest.mark.skipif(shutil.which("buildah") is None, reason="buildah is not installed")
def test_buildah(registry: Registry, run: Run, skopeo: Run, name: str, tmp_path: Path) -> None:
    """An image built from scratch, and an index pushed with its images."""
    (tmp_path / "hello").write_text(name)

    def buildah(*arguments: str | Path) -> str:
        return run("buildah", "--root", tmp_path / "root", "--runroot", tmp_path / "run", *arguments).strip()

    container = buildah("from", "scratch")
    buildah("copy", container, tmp_path / "hello", "/hello")
    buildah("config", "--cmd", "/hello", container)
    buildah("commit", container, f"localhost/{name}:v1")
    address, options = f"docker://{registry.host}/{name}", ["--tls-verify=false", "--creds", registry.credentials]
    buildah("push", *options, f"localhost/{name}:v1", f"{address}:v1")
    buildah("manifest", "create", "several")
    buildah("manifest", "add", "several", f"localhost/{name}:v1")
    buildah("manifest", "push", "--all", *options, "several", f"{address}:all")
    assert sorted(json.loads(skopeo("list-tags", *both(registry), address))["Tags"]) == ["all", "v1"]
    assert len(json.loads(skopeo("inspect", "--raw", *both(registry), f"{address}:all"))["manifests"]) == 1


def test_oras(registry: Registry, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file as an artifact, there and back."""
    oras = pytest.importorskip("oras.client")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    Path("results.json").write_text(name)
    client = oras.OrasClient(hostname=registry.host, insecure=True)
    client.login(hostname=registry.host, username=EMAIL, password=registry.key, tls_verify=False)
    address = f"{registry.host}/{name}:v1"
    client.push(target=address, files=["results.json:application/json"], disable_path_validation=True)
    [pulled] = client.pull(target=address, outdir=str(tmp_path / "back"))
    assert Path(pulled).read_text() == name
    assert client.get_tags(f"{registry.host}/{name}") == ["v1"]


def test_the_chunked_dance(registry: Registry, name: str) -> None:
    """By hand: a chunk refused, the state asked, the rest sent, everything over one connection."""
    data = b"0123456789" * 1000
    with registry.repository(name) as repository:
        place = repository.post(f"/v2/{name}/blobs/uploads/").headers["location"]
        assert repository.patch(place, content=data[:4000], headers={"Content-Range": "0-3999"}).status_code == 202
        assert repository.patch(place, content=data[5000:], headers={"Content-Range": "5000-9999"}).status_code == 416
        assert repository.get(place).headers["range"] == "0-3999"
        response: httpx.Response = repository.put(f"{place}?digest={digest_of(data)}", content=data[4000:])
        assert response.status_code == 201
        assert repository.get(response.headers["location"]).content == data


def assert_no_leftovers(server: Any) -> None:
    uploads = Path(server.env["BENCHER_DATA_DIR"], "storage/_uploads")
    assert not uploads.exists() or list(uploads.iterdir()) == []


def test_nothing_is_left_behind(registry: Registry) -> None:
    """After all of the above."""
    assert_no_leftovers(registry.server)
