"""Updates. This runner is a Python package: it does not replace itself, it says how to."""

from importlib.metadata import PackageNotFoundError, version

from runners.protocol import messages

PACKAGE = "bencher-selfhosted"


def own_version() -> str:
    """The installed version, or that of the sources."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return "0.6.12"


def notice(update: messages.Update) -> str:
    """What the operator can do about the server's offer."""
    return (
        f"the server offers runner {update.version} (this is {own_version()}); to upgrade: pip install --upgrade {PACKAGE}, then restart the runner."
        f" The offered file {update.url} is a program of another kind and is not installed."
    )
