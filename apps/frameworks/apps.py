from django.apps import AppConfig


class FrameworksConfig(AppConfig):
    name = "apps.frameworks"
    label = "frameworks"
