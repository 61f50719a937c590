from django.apps import AppConfig


class BencherConfig(AppConfig):
    name = "bencher"
    label = "bencher"

    def ready(self) -> None:
        from bencher import celery, checks  # noqa: F401  (tasks of the apps bind to this Celery application in every process; checks register)
