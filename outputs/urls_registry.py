"""The registry's part of the API: its token service. Everything below ``/v2/`` is `outputs.registry.asgi`."""

from django.urls import path

from outputs.registry.views.token import TokenView

urlpatterns = [path("v0/auth/oci/token", TokenView.as_view(), name="oci-token")]
