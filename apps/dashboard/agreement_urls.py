"""The agreement of a study, beneath `/studies/`."""

from django.urls import path

from apps.dashboard.views import agreement

app_name = "agreement"
urlpatterns = [
    path("<slug:slug>/agreement/", agreement.overview, name="overview"),
    path("<slug:slug>/agreement/compute/", agreement.compute, name="compute"),
]
