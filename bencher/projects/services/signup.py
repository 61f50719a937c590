"""Signing up, logging in, confirming (rest.md 1.5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db import transaction

from bencher.core.errors import Missing, NotAllowed, NotAuthenticated
from bencher.projects import mails
from bencher.projects.models import Organization, User
from bencher.projects.services.members import accept
from bencher.projects.services.organizations import claim_organization, create_organization
from bencher.projects.services.users import create_user
from bencher.projects.tokens import CLIENT_LIFETIME, CONFIRM_LIFETIME, Audience, BadToken, mint, read

LOCKED = "the account is locked"


@dataclass(frozen=True, slots=True)
class Session:
    """A proven user and the token that says so."""

    user: User
    token: str
    creation: datetime
    expiration: datetime


def sign_up(*, name: str, email: str, slug: str | None, invite: str | None, claim: UUID | None, now: datetime) -> User:
    """A new user, in an organization of their own, the one they were invited to, or the one they claim; a mail to confirm is sent."""
    with transaction.atomic():
        user = create_user(name=name, email=email, slug=slug, now=now)
        if invite is not None:
            accept(token=invite, user=user, now=now)
        elif claim is not None:
            organization = Organization.objects.filter(pk=claim, deleted=None).first()
            if organization is None:
                raise Missing("there is no such organization to claim")
            claim_organization(organization=organization, user=user, now=now)
        else:
            create_organization(name=user.name, slug=user.slug, leader=user, now=now, pk=user.pk)
    _mail_confirmation(user, now)
    return user


def log_in(*, email: str, invite: str | None, now: datetime) -> User:
    """Mail a confirmation to the user of that address; an invitation for them is accepted on the way."""
    user = User.objects.filter(email=email).first()
    if user is None:
        raise Missing("nobody has signed up with this address")
    if user.locked:
        raise NotAllowed(LOCKED)
    if invite is not None:
        accept(token=invite, user=user, now=now)
    _mail_confirmation(user, now)
    return user


def confirm(*, token: str, now: datetime) -> Session:
    """Exchange the mailed token for a session of 30 days."""
    try:
        claims = read(token, Audience.AUTH, now=now)
    except BadToken:
        raise NotAuthenticated("the confirmation is expired or not valid") from None
    user = User.objects.filter(email=claims.subject).first()
    if user is None:
        raise NotAuthenticated("the confirmation is expired or not valid")
    if user.locked:
        raise NotAllowed(LOCKED)
    creation = int(now.timestamp())
    moments = (datetime.fromtimestamp(second, UTC) for second in (creation, creation + CLIENT_LIFETIME))
    return Session(user, mint(Audience.CLIENT, user.email, now=now, lifetime=CLIENT_LIFETIME), *moments)


def _mail_confirmation(user: User, now: datetime) -> None:
    token = mint(Audience.AUTH, user.email, now=now, lifetime=CONFIRM_LIFETIME)
    mails.send(mails.confirmation(user.email, user.name, token))
