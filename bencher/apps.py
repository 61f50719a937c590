from django.apps import AppConfig


class BencherConfig(AppConfig):
    name = "bencher"
    label = "bencher"
