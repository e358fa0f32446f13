"""Language models of a study, beneath `/studies/`."""

from django.urls import path

from apps.llm.views import baselines, home

app_name = "llm"
urlpatterns = [
    path("<slug:slug>/llm/", home.home, name="home"),
    path("<slug:slug>/llm/baselines/", baselines.baselines, name="baselines"),
]
