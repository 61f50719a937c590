#!/usr/bin/env python
"""The server's command line: ``manage.py up`` runs everything, ``manage.py help`` lists the rest.

Django is imported inside ``main`` only: parsing children import this file again and must stay small.
"""

import os
import signal
import sys
from pathlib import Path


def option(arguments: list[str], name: str) -> str | None:
    """The value of an option that the settings need before Django reads the command line."""
    for position, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument.startswith(f"{name}="):
            return argument.removeprefix(f"{name}=")
        if argument == name and position + 1 < len(arguments):
            return arguments[position + 1]
    return None


def main() -> None:
    if sys.argv[1:2] in (["up"], ["serve"]):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # until the server's own handler is in place
        if folder := option(sys.argv[2:], "--data"):
            os.environ["BENCHER_DATA_DIR"] = folder
        if bind := option(sys.argv[2:], "--bind"):
            os.environ["BENCHER_BOUND_PORT"] = bind.rpartition(":")[2]  # where clients find us unless BENCHER_PUBLIC_URL says otherwise
    if sys.argv[1:2] == ["demo"]:
        os.environ["SECRET_KEY"] = os.urandom(32).hex()  # signs nothing, its server makes its own; else one is left in the working folder
    root = str(Path(__file__).resolve().parent)
    if root not in sys.path:
        sys.path.insert(0, root)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))  # the fork server gets no sys.path
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bencher.settings")
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except Exception as error:
        from bencher.management.faults import sentence

        if "--traceback" in sys.argv or (said := sentence(error)) is None:
            raise
        sys.exit(f"CommandError: {said}")


if __name__ == "__main__":
    main()
