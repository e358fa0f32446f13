"""Every address of the site; each app keeps its own list."""

from django.urls import include, path

urlpatterns = [
    path("", include("apps.dashboard.urls")),
    path("", include("apps.common.urls")),
    path("accounts/", include("apps.accounts.urls")),
    path("frameworks/", include("apps.frameworks.urls")),
    path("datasets/", include("apps.corpus.urls")),
    path("studies/", include("apps.dashboard.agreement_urls")),
    path("studies/", include("apps.reports.urls")),
    path("studies/", include("apps.annotation.urls")),
    path("studies/", include("apps.llm.urls")),
    path("studies/", include("apps.studies.urls")),
    path("endpoints/", include("apps.llm.endpoint_urls")),
    path("invite/", include("apps.studies.invitation_urls")),
    path("api/v1/", include("config.api")),
]
