from django.urls import path

from apps.annotation.views import rating

app_name = "rating"
urlpatterns = [
    path("<slug:slug>/rate/", rating.start, name="start"),
    path("<slug:slug>/rate/<int:pk>/", rating.item, name="item"),
    path("<slug:slug>/preview/", rating.preview, name="preview"),
]
