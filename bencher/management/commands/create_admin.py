"""``manage.py create_admin``: the first administrator, or one more."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from bencher.core import clock
from bencher.core.errors import ServiceError
from bencher.core.newtypes import Email, UserName
from bencher.projects.services.users import create_admin


class Command(BaseCommand):
    help = (
        "Makes the user of this address, or promotes it, and prints a new user key. Every call makes one more key; earlier ones stay valid."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--email", required=True)
        parser.add_argument("--name", help="default: the part of the address before the @")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            email = Email.parse(options["email"])  # type: ignore[attr-defined]
            name = UserName.parse(options["name"] or email.split("@")[0])  # type: ignore[attr-defined]
            _, key = create_admin(email=email, name=name, now=clock.now())
        except (ServiceError, ValueError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(key)
