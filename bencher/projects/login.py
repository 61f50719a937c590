"""The login form of the pages: attempts are counted as those of the API."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.forms import AuthenticationForm

from bencher.core import clock
from bencher.core.client_ip import client_ip
from bencher.core.errors import TooMany
from bencher.core.ratelimits import count


class LoginForm(AuthenticationForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = "E-mail address"
        self.fields["password"].label = "Password or user key"

    def clean(self) -> Any:
        now = clock.now()
        try:
            if self.request is not None:
                count("anonymous", "attempts", client_ip(self.request.META), now=now)
            count("user", "attempts", str(self.cleaned_data.get("username", "")).strip().lower(), now=now)
        except TooMany as fault:
            raise forms.ValidationError(fault.message) from None
        return super().clean()
