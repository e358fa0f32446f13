"""The agreement of a study, beneath `/studies/`."""

from django.urls import path

from apps.dashboard.views import agreement, agreement_drawings, agreement_rater, agreement_scale

app_name = "agreement"
urlpatterns = [
    path("<slug:slug>/agreement/", agreement.overview, name="overview"),
    path("<slug:slug>/agreement/compute/", agreement.compute, name="compute"),
    path("<slug:slug>/agreement/agreement.csv", agreement.csv_file, name="csv"),
    path("<slug:slug>/agreement/figures/<str:file>", agreement.figure, name="figure"),
    path("<slug:slug>/agreement/raters/", agreement_rater.raters, name="raters"),
    path("<slug:slug>/agreement/raters/<path:name>/", agreement_rater.rater, name="rater"),
    # Before the pictures of scales: a rater's name may have slashes, and no block is called "profiles".
    path(
        "<slug:slug>/agreement/profiles/<path:name>.svg",
        agreement_drawings.rater_figure,
        {"form": "svg"},
        name="rater-svg",
    ),
    path(
        "<slug:slug>/agreement/profiles/<path:name>.png",
        agreement_drawings.rater_figure,
        {"form": "png"},
        name="rater-png",
    ),
    path(
        "<slug:slug>/agreement/<slug:block_slug>/<slug:framework_slug>/<slug:dimension_slug>/",
        agreement_scale.scale,
        name="scale",
    ),
    path(
        "<slug:slug>/agreement/<slug:block_slug>/<slug:framework_slug>/<slug:dimension_slug>/<str:file>",
        agreement_drawings.scale_figure,
        name="scale-figure",
    ),
]
