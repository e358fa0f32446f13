"""Addresses of the dataset pages, under /datasets/."""

from django.urls import path

from apps.corpus.views import datasets

app_name = "corpus"
urlpatterns = [
    path("", datasets.dataset_list, name="datasets"),
    path("<slug:slug>/", datasets.dataset_detail, name="dataset"),
    path("<slug:slug>/conversations/<int:pk>/", datasets.conversation_detail, name="conversation"),
]
