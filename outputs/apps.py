from django.apps import AppConfig


class OutputsConfig(AppConfig):
    name = "outputs"
