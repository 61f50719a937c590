"""Routes of specs."""

from __future__ import annotations

from django.urls import path

from bencher.specs import views

urlpatterns = [path("v0/specs", views.Specs.as_view()), path("v0/specs/<str:spec>", views.OneSpec.as_view())]
