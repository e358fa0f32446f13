from django.urls import path

from apps.studies import views

app_name = "studies"
urlpatterns = [
    path("", views.study_list, name="list"),
    path("<slug:slug>/", views.overview, name="overview"),
    path("<slug:slug>/exclusions/", views.exclusions, name="exclusions"),
]
