"""The endpoints that models answer at, beneath `/endpoints/`."""

from django.urls import URLPattern

app_name = "endpoints"
urlpatterns: list[URLPattern] = []
