"""Language models of a study, beneath `/studies/`."""

from django.urls import URLPattern

app_name = "llm"
urlpatterns: list[URLPattern] = []
