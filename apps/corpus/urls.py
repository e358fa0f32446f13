"""Addresses of the dataset pages, under /datasets/."""

from django.urls import path

from apps.corpus.views import datasets, editing, saved_mappings, uploads, writing

app_name = "corpus"
urlpatterns = [
    path("", datasets.dataset_list, name="datasets"),
    path("new/", editing.dataset_new, name="dataset-new"),
    path("upload/", uploads.upload_new, name="upload"),
    path("uploads/", uploads.upload_list, name="uploads"),
    path("uploads/<int:pk>/", uploads.upload_check, name="upload-check"),
    path("uploads/<int:pk>/reading/", uploads.upload_reading, name="upload-reading"),
    path("uploads/<int:pk>/replace/", uploads.upload_replace, name="upload-replace"),
    path("uploads/<int:pk>/import/", uploads.upload_import, name="upload-import"),
    path("uploads/<int:pk>/discard/", uploads.upload_discard, name="upload-discard"),
    path("uploads/<int:pk>/mappings/", saved_mappings.mapping_keep, name="mapping-keep"),
    path("uploads/<int:pk>/mappings/<int:mapping_pk>/use/", saved_mappings.mapping_use, name="mapping-use"),
    path("uploads/<int:pk>/mappings/<int:mapping_pk>/delete/", saved_mappings.mapping_delete, name="mapping-delete"),
    path("<slug:slug>/", datasets.dataset_detail, name="dataset"),
    path("<slug:slug>/upload/", uploads.upload_new, name="dataset-upload"),
    path("<slug:slug>/edit/", editing.dataset_edit, name="dataset-edit"),
    path("<slug:slug>/copy/", editing.dataset_copy, name="dataset-copy"),
    path("<slug:slug>/delete/", editing.dataset_delete, name="dataset-delete"),
    path("<slug:slug>/conversations/new/", writing.conversation_new, name="conversation-new"),
    path("<slug:slug>/conversations/<int:pk>/", datasets.conversation_detail, name="conversation"),
    path("<slug:slug>/conversations/<int:pk>/edit/", writing.conversation_edit, name="conversation-edit"),
    path("<slug:slug>/conversations/<int:pk>/delete/", writing.conversation_delete, name="conversation-delete"),
]
