from django.urls import path

from jobs import views
from jobs.run.views import RunView

JOBS = "v0/projects/<str:project>/jobs"

urlpatterns = [
    path("v0/run", RunView.as_view()),
    path(JOBS, views.JobsView.as_view()),
    path(f"{JOBS}/<str:job>", views.OneJobView.as_view()),
    path(f"{JOBS}/<str:job>/resubmit", views.ResubmitView.as_view()),
    path(f"{JOBS}/<str:job>/events", views.JobEventsView.as_view()),
]
