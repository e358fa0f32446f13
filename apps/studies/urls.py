from django.urls import path

from apps.studies.views import studies

app_name = "studies"
urlpatterns = [
    path("", studies.study_list, name="list"),
    path("<slug:slug>/", studies.overview, name="overview"),
    path("<slug:slug>/exclusions/", studies.exclusions, name="exclusions"),
]
