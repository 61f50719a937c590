"""Routes of runners; the channel is a WebSocket (``runners/consumers.py``)."""

from __future__ import annotations

from django.urls import path

from runners import views

urlpatterns = [
    path("v0/runners", views.Runners.as_view()),
    path("v0/runners/<str:runner>", views.OneRunner.as_view()),
    path("v0/runners/<str:runner>/channel", views.Channel.as_view()),
    path("v0/runners/<str:runner>/key", views.Key.as_view()),
    path("v0/runners/<str:runner>/specs", views.RunnerSpecs.as_view()),
    path("v0/runners/<str:runner>/specs/<str:spec>", views.OneRunnerSpec.as_view()),
]
