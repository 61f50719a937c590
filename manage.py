#!/usr/bin/env python
"""The server's command line: ``manage.py up`` runs everything, ``manage.py help`` lists the rest.

Django is imported inside ``main`` only: parsing children import this file again and must stay small.
"""

import os
import sys
from pathlib import Path


def main() -> None:
    root = str(Path(__file__).resolve().parent)
    if root not in sys.path:
        sys.path.insert(0, root)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))  # the fork server gets no sys.path
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bencher.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
