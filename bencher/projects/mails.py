"""The mails that the server writes, as plain text (rest.md 1.5)."""

from __future__ import annotations

import logging

from django.conf import settings
from django.core.mail import EmailMessage

from bencher.core.errors import Busy

logger = logging.getLogger("bencher.mail")


def confirmation(email: str, name: str, token: str) -> EmailMessage:
    """The mail that confirms an address: link and token, good for half an hour."""
    link = f"{settings.BENCHER_CONSOLE_URL}/auth/confirm?token={token}"
    text = (
        f"Hello {name},\n\nplease confirm that this is you, within half an hour:\n\n{link}\n\n"
        f"Or use the token itself:\n\n{token}\n\nIf you did not ask for this mail, ignore it.\n"
    )
    return EmailMessage("Confirm your address", text, to=[email])


def invitation(email: str, name: str | None, by: str, organization: str, token: str) -> EmailMessage:
    """The mail that invites into an organization: link and token, good for two weeks."""
    link = f"{settings.BENCHER_CONSOLE_URL}/auth/signup?invite={token}"
    text = (
        f"Hello{f' {name}' if name else ''},\n\n{by} invites you to the organization {organization}. Sign up, or log in, to accept:\n\n{link}\n\n"
        f"The invitation itself:\n\n{token}\n"
    )
    return EmailMessage(f"Invitation to {organization}"[:200], text, to=[email])


def send(message: EmailMessage) -> None:
    """Hand the mail over; Busy when the mail server does not take it. Never inside a transaction."""
    try:
        message.send()
    except OSError as fault:  # smtplib's errors are OSErrors
        logger.warning("a mail could not be sent: %s", type(fault).__name__)
        raise Busy("the mail could not be sent: try to log in later, that sends another one") from None
