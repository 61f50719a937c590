"""Inviting, admitting and removing members of an organization (rest.md 1.5)."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction

from bencher.core.errors import Clash, Missing, NotAuthenticated
from bencher.core.ids import as_uuid
from bencher.projects import mails
from bencher.projects.models import Invitation, Membership, Organization, User
from bencher.projects.services.organizations import abandon_if_empty
from bencher.projects.tokens import INVITE_LIFETIME, Audience, BadToken, mint, read

WORTHLESS = "the invitation is expired, or for somebody else"


def invite(*, organization: Organization, email: str, name: str | None, role: str, by: User, now: datetime) -> None:
    """Mail an invitation that makes whoever accepts it with that address a member."""
    invitation = Invitation.objects.create(organization=organization, email=email, role=role, created=now)
    org = {"uuid": str(organization.pk), "role": role}
    token = mint(Audience.INVITE, email, now=now, lifetime=INVITE_LIFETIME, org=org, state=str(invitation.pk))
    mails.send(mails.invitation(email, name, by.name, organization.name, token))


def accept(*, token: str, user: User, now: datetime) -> Organization:
    """The user joins the organization of the invitation, once; 401 for another user's, 409 the second time."""
    try:
        claims = read(token, Audience.INVITE, now=now)
    except BadToken:
        raise NotAuthenticated(WORTHLESS) from None
    pk: UUID | None = as_uuid(str(claims.extra.get("state", "")))
    if claims.subject != user.email or pk is None:
        raise NotAuthenticated(WORTHLESS)
    with transaction.atomic():
        invitation = Invitation.objects.select_related("organization").filter(pk=pk, email=user.email, organization__deleted=None).first()
        if invitation is None:
            raise NotAuthenticated(WORTHLESS)
        if Invitation.objects.filter(pk=pk, accepted=None).update(accepted=now) == 0:
            raise Clash("the invitation was accepted already")
        admit(organization=invitation.organization, user=user, role=invitation.role, now=now)
    return invitation.organization


def admit(*, organization: Organization, user: User, role: str, now: datetime) -> Membership:
    """Make the user a member; Clash when they are one. The first member of an organization claims it."""
    try:
        with transaction.atomic():
            member = Membership.objects.create(organization=organization, user=user, role=role, created=now, modified=now)
    except IntegrityError:
        raise Clash("already a member") from None
    Organization.objects.filter(pk=organization.pk, claimed=None).update(claimed=now)
    return member


def get_member(*, organization: Organization, user: User | None) -> Membership:
    found = Membership.objects.select_related("user").filter(organization=organization, user=user).first() if user else None
    if found is None:
        raise Missing("no such member")
    return found


def change_role(*, member: Membership, role: str, now: datetime) -> Membership:
    member.role, member.modified = role, now
    member.save(update_fields=["role", "modified"])
    return member


def remove(*, member: Membership, now: datetime) -> None:
    """Take a member out; after the last one the organization is unclaimed again."""
    with transaction.atomic():
        organization = Organization.objects.select_for_update().get(pk=member.organization_id)
        if Membership.objects.filter(pk=member.pk).delete()[0] == 0:
            raise Missing("no such member")
        abandon_if_empty(organization=organization, now=now)
