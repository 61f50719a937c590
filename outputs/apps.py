from django.apps import AppConfig


class OutputsConfig(AppConfig):
    name = "outputs"

    def ready(self) -> None:
        from bencher.core import hooks
        from outputs import admin_registry, tasks_registry  # noqa: F401  (they register themselves)
        from outputs.selectors import usage
        from outputs.services import dimensions, erase

        hooks.spec_archived.fill(dimensions.forget_spec)
        hooks.metrics_count.fill(usage.metrics_count)
        hooks.active_series.fill(usage.active_series)
        hooks.erase_results.fill(erase.erase_results)
