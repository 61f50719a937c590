from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "bencher.core"
    label = "core"
