from django.apps import AppConfig


class SpecsConfig(AppConfig):
    name = "bencher.specs"
    label = "specs"
