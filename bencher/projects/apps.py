from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "bencher.projects"
    label = "projects"

    def ready(self) -> None:
        from django.contrib.auth import signals

        from bencher.projects import backends

        signals.user_logged_in.connect(backends.logged_in)
        signals.user_logged_out.connect(backends.logged_out)
        signals.user_login_failed.connect(backends.login_failed)
