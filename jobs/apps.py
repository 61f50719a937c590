from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "jobs"

    def ready(self) -> None:
        from bencher.core import hooks
        from jobs import selectors
        from jobs.services.erase import erase_jobs
        from jobs.services.priority import follow_priority

        hooks.priority_changed.fill(follow_priority)
        hooks.runner_minutes.fill(selectors.runner_minutes)
        hooks.spec_has_jobs.fill(selectors.spec_has_jobs)
        hooks.busy_runners.fill(selectors.busy_runners)
        hooks.erase_jobs.fill(erase_jobs)
