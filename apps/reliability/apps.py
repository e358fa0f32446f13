from django.apps import AppConfig


class ReliabilityConfig(AppConfig):
    name = "apps.reliability"
    label = "reliability"
