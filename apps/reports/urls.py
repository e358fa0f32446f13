"""Reports and exports of a study, beneath `/studies/`."""

from django.urls import path

from apps.reports.services.exports import CONTENT_TYPES
from apps.reports.views import exports, files, reports

app_name = "reports"
urlpatterns = [
    path("<slug:slug>/reports/", reports.report_list, name="list"),
    path("<slug:slug>/reports/new/", reports.report_new, name="new"),
    path("<slug:slug>/reports/ratings/", exports.exports, name="exports"),
    *(
        path(
            f"<slug:slug>/reports/ratings/ratings.{suffix}", exports.export_file, {"suffix": suffix}, f"export-{suffix}"
        )
        for suffix in CONTENT_TYPES
    ),
    path("<slug:slug>/reports/<int:pk>/", reports.report, name="report"),
    path("<slug:slug>/reports/<int:pk>/files/<str:name>", files.report_file, name="file"),
    path("<slug:slug>/reports/<int:pk>/cancel/", reports.report_cancel, name="cancel"),
    path("<slug:slug>/reports/<int:pk>/delete/", reports.report_delete, name="delete"),
]
