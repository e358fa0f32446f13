"""Addresses of the dataset pages, under /datasets/."""

from django.urls import path

from apps.corpus import views

app_name = "corpus"
urlpatterns = [
    path("", views.dataset_list, name="datasets"),
    path("<slug:slug>/", views.dataset_detail, name="dataset"),
    path("<slug:slug>/conversations/<int:pk>/", views.conversation_detail, name="conversation"),
]
