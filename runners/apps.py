from django.apps import AppConfig


class RunnersConfig(AppConfig):
    name = "runners"

    def ready(self) -> None:
        from bencher.core import hooks
        from runners import selectors

        hooks.spec_has_runners.fill(selectors.spec_has_runners)
