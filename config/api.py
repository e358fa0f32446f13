"""The REST API, version 1: every app's endpoints under one roof, with the schema and its page."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

urlpatterns = [
    path("", include("apps.frameworks.api")),
    path("", include("apps.corpus.api")),
    path("", include("apps.studies.api")),
    path("", include("apps.llm.api")),
    path("", include("apps.reliability.api")),
    path("", include("apps.reports.api")),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path(
        "docs/", SpectacularSwaggerSplitView.as_view(url_name="schema", template_name="api_docs.html"), name="api-docs"
    ),
]
