"""The program `runner`: `runner up` serves a bench machine, `runner run` runs one image here and now."""

import click

from runners.agent import local, up
from runners.agent.update import own_version


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(own_version(), prog_name="runner")
def main() -> None:
    """Runs benchmarks on this machine."""


main.add_command(up.up)
main.add_command(local.run)

if __name__ == "__main__":
    main()
