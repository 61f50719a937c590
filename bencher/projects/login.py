"""The login form of the pages: attempts are counted as those of the API."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.forms import AuthenticationForm

from bencher.core import clock
from bencher.core.errors import TooMany
from bencher.projects.limiting import attempt


class LoginForm(AuthenticationForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = "E-mail address"
        self.fields["password"].label = "Password or user key"

    def clean(self) -> Any:
        try:
            attempt(self.request.META if self.request is not None else {}, str(self.cleaned_data.get("username", "")), now=clock.now())
        except TooMany as fault:
            raise forms.ValidationError(fault.message) from None
        return super().clean()
