from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "bencher.projects"
    label = "projects"
