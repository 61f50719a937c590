"""Making and changing users (rest.md 1.5)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, connection, transaction

from bencher.core.errors import Clash, NotAllowed
from bencher.core.saving import change
from bencher.core.slugs import create_with_slug
from bencher.projects.models import ApiToken, User
from bencher.projects.services.keys import create_user_key
from bencher.projects.services.organizations import personal_organization

TAKEN = "this e-mail address is used already"


def create_user(*, name: str, email: str, slug: str | None, now: datetime) -> User:
    """A new user; the first one ever is the server's administrator. Raises Clash for an address in use."""
    with transaction.atomic():
        first = _nobody_yet()
        if User.objects.filter(email=email).exists():
            raise Clash(TAKEN)
        try:
            return create_with_slug(
                User, slug=slug, name=name, email=email, admin=first, password=make_password(None), created=now, modified=now
            )
        except IntegrityError:
            raise Clash(TAKEN) from None


def _nobody_yet() -> bool:
    """Is there no user? While that holds, nobody else makes one before this transaction ends."""
    if User.objects.exists():
        return False
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f'LOCK TABLE "{User._meta.db_table}" IN SHARE ROW EXCLUSIVE MODE')
    return not User.objects.exists()


def create_admin(*, email: str, name: str, now: datetime) -> tuple[User, str]:
    """The user of that address, made if need be, as an unlocked administrator; and a new key, in clear this once."""
    with transaction.atomic():
        user = User.objects.filter(email=email).first()
        if user is None:
            user = create_user(name=name, email=email, slug=None, now=now)
            personal_organization(user=user, now=now)
        change(user, {"admin": True, "locked": False}, now=now, clash=TAKEN)
        _, key = create_user_key(user=user, name="create_admin", ttl=None, now=now)
    return user, key


def change_user(*, user: User, by: User, values: dict[str, Any], now: datetime) -> User:
    """Change ``name``, ``slug``, ``email``, ``admin``, ``locked``. The last two are for administrators; a new address revokes all API tokens."""
    if not by.admin and {"admin", "locked"} & set(values):
        raise NotAllowed("admin and locked are changed by administrators only")
    moved = "email" in values and values["email"] != user.email
    with transaction.atomic():
        change(user, values, now=now, clash="this slug or e-mail address is used already")
        if moved:
            ApiToken.objects.filter(user=user, revoked=None).update(revoked=now)
    return user
