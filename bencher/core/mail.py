"""Mail without a mail server: the message, as plain text, goes to the log (rest.md 1.5)."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

logger = logging.getLogger("bencher.mail")


class ConsoleBackend(BaseEmailBackend):
    """Logs each message whole, not quoted-printable: the confirmation token must be readable."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for message in email_messages:
            logger.info("mail to %s: %s\n%s", ", ".join(message.recipients()), message.subject, message.body)
        return len(email_messages)
