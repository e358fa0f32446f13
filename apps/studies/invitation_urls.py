"""Addresses of whoever was invited: outside /studies/, since they may know of no study yet."""

from django.urls import path

from apps.studies.views import invited

app_name = "invitations"
urlpatterns = [
    path("", invited.opened, name="opened"),
    path("<str:token>/", invited.link, name="link"),
]
